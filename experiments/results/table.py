"""Tables of mean ± std over n, the paper's value beside, as Markdown and as LaTeX."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from experiments.results.statistics import mean_std, percentiles

Key = tuple[str, str]
Printed = tuple[float, float | None]
"""The paper's mean, and its standard deviation where it prints one."""


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers by (row, column); a cell that was not run stays empty.

    Attributes:
        best: Whether the largest mean of a column is best, the smallest, or neither; of the rows
            with the column's most seeds the best is bold and the second underlined.
        percent: Numbers are shares, shown in per cent.
        spread: Whether ± std (n) is shown; without it a cell is a single number, such as a p.
        interval: Whether `percentiles` stand in place of ± std, unless they look alike.

    >>> t = Table("Accuracy", ["Random"], ["clean"], {("Random", "clean"): [0.5, 0.7]})
    >>> print(t.markdown().splitlines()[-1])
    | Random | **60.00 ± 14.14 (2)** |
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Mapping[Key, Sequence[float]]
    paper: Mapping[Key, Printed] = field(default_factory=dict)
    best: str | None = "largest"
    percent: bool = True
    digits: int = 2
    spread: bool = True
    interval: bool = False

    def markdown(self) -> str:
        """A GitHub table; the paper's numbers stand small beside ours."""
        lines = [
            f"| | {' | '.join(self.columns)} |",
            "|---|" + "---:|" * len(self.columns),
        ]
        marks = {"first": "**{}**", "second": "<u>{}</u>", "": "{}"}
        for row in self.rows:
            cells = [self._cell(row, c, marks, " <sub>[{}]</sub>", " ± ") for c in self.columns]
            lines.append(f"| {row} | {' | '.join(cells)} |")
        return "\n".join(lines)

    def latex(self) -> str:
        """A booktabs table; the paper's numbers stand in grey beside ours (needs xcolor)."""
        marks = {"first": r"\textbf{{{}}}", "second": r"\underline{{{}}}", "": "{}"}
        lines = [
            r"\begin{table}[h]",
            r"\centering",
            rf"\caption{{{_escaped(self.title)}}}",
            rf"\begin{{tabular}}{{l{'c' * len(self.columns)}}}",
            r"\toprule",
            " & ".join(["", *map(_escaped, self.columns)]) + r" \\",
            r"\midrule",
        ]
        for row in self.rows:
            cells = [
                self._cell(row, c, marks, r" \textcolor{{gray}}{{\scriptsize {}}}", r"\,$\pm$\,")
                for c in self.columns
            ]
            lines.append(" & ".join([_escaped(row), *cells]) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])

    def _cell(self, row: str, column: str, marks: Mapping[str, str], beside: str, plus: str) -> str:
        values = self.values.get((row, column), ())
        printed = self.paper.get((row, column))
        shown = ""
        if values:
            mean, std = mean_std([(100 if self.percent else 1) * v for v in values])
            text = f"{mean:.{self.digits}f}"
            if self.spread:  # one value has no spread
                text += f"{self._spread(values, std, plus)} ({len(values)})"
            shown = marks[self._place(row, column)].format(text)
        if printed is not None:
            mean, printed_std = printed
            spread = "" if printed_std is None else f"{plus}{printed_std:.{self.digits}f}"
            shown += beside.format(f"{mean:.{self.digits}f}{spread}")
        return shown

    def _spread(self, values: Sequence[float], std: float, plus: str) -> str:
        if self.interval:
            ends = percentiles([(100 if self.percent else 1) * v for v in values])
            low, high = (f"{end:.{self.digits}f}" for end in ends)
            return "" if low == high else f" [{low}, {high}]"
        return f"{plus}{std:.{self.digits}f}" if len(values) > 1 else ""

    def _place(self, row: str, column: str) -> str:
        found = {r: v for r in self.rows if (v := self.values.get((r, column)))}
        most = max(map(len, found.values()), default=0)
        means = {r: mean_std(v)[0] for r, v in found.items() if len(v) == most}
        if self.best is None or row not in means:
            return ""
        order = sorted(set(means.values()), reverse=self.best == "largest")
        return ("first", "second", *[""] * len(order))[order.index(means[row])]


def _escaped(text: str) -> str:
    """Text for LaTeX."""
    for sign, written in (
        ("%", r"\%"),
        ("α", r"$\alpha$"),
        ("ε", r"$\varepsilon$"),
        ("β", r"$\beta$"),
        ("ξ", r"$\xi$"),
        ("τ̂²", r"$\hat\tau^2$"),
        ("τ̂", r"$\hat\tau$"),
        ("γ̂", r"$\hat\gamma$"),
        ("Δ′", r"$\Delta'$"),
        ("·", r"$\cdot$"),
        ("×", r"$\times$"),
        ("≥", r"$\geq$"),
    ):
        text = text.replace(sign, written)
    return text.replace("_", r"\_").replace("−", "$-$")
