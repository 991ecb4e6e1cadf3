"""What `dris prune` keeps beside gated selection and rules without a gate: who wins when (ours).

    python -m experiments beyond --scale cpu

The recommended rule as it ships, but for its harm check, and two peers on its very proxies and
folds: confident learning and AUM averaged over K. Then seven rules without a gate, eight with one
and four other gates, on proxies without folds; on tables and frozen features, table 1's noises at
three keep fractions, and noise up to a half. Cost: seconds at smoke; at cpu
about 2 minutes of two cores for digits, 4 for each part of Fashion-MNIST, and the features of
CIFAR-10 and Food-101 with their pretrained backbone; at paper also the small CNN on 10,000 images
of CIFAR-10, about 6 hours of two cores. `--data digits --rule random --noise targeted:0.25` runs
a part of it.
Claims tested: none of the paper's; ours are that the recommended rule, and the gated one that was
it before, are above the better of DR-IS and AUM, column by column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.dris_internals import CHOOSERS, RECOMMENDED, Recipe
from experiments.records import Records, counts
from experiments.results.claims import BySeed, Claim, above
from experiments.results.curves import Panel, curve_panels
from experiments.results.figures import PALETTE, save_png_and_svg
from experiments.results.statistics import compare, mean_std
from experiments.results.table import Table
from experiments.rules import PEERS, gate, title_of, titles_of
from experiments.scales import Scale, Setup
from experiments.spec import CLEAN, Cell, Ensemble, Noise, Source, Target

CUTS = {
    "smoke": "400 digits, few epochs: shows that everything runs",
    "cpu": "nothing of the paper's, the study is ours; both defaults, the recommended rule and the "
    "gated one before it, were chosen on digits and Fashion-MNIST, so their lead there is "
    "flattered, and the features of CIFAR-10 and Food-101 are the test (decisions 16 and 25); only "
    "the rows of the same proxies share the folds of dris prune, two networks and a linear model "
    "stopped by the held-out loss, and the others read three networks without folds; for gates, "
    "small data have canaries on a tenth of their labels, the others on 4 %; older targets are "
    "rows from before records had keys, of which the subsets come out again and the accuracies do "
    "not",
    "mid": "as at cpu, the study is ours",
    "paper": "nothing is cut, the study is ours",
}
TABLE = (CLEAN, Noise("uniform", 0.1), Noise("targeted", 0.1), Noise("targeted", 0.25))
KEEPS = (0.25, 0.5, 0.75)
RATES = (0.1, 0.25, 0.4, 0.5)
SWEEP = tuple(Noise(kind, rate) for kind in ("uniform", "targeted") for rate in RATES)
HARD = (Noise("uniform", 0.4), Noise("targeted", 0.4))  # where AUM overtakes DR-IS in the paper
NOISES = tuple(dict.fromkeys((*TABLE, *SWEEP)))

SHIPPED = (RECOMMENDED, *PEERS)
UNGATED = (
    "random",
    "el2n",
    "aum",
    "aum_remove",
    "confident_learning_remove",
    "coverage",
    "rank_variance",
)
GATED = (
    *(gate("margin", 0.9, chooser).name for chooser in CHOOSERS),
    gate("margin", 0.9, "half_el2n", fill=True).name,
    "gated",
    "gated_filled",
)
# Other gates with one chooser, run in fewer cells: which detector, and how strict.
VARIANTS = (
    gate("margin", 0.8, "el2n").name,
    gate("margin", 0.95, "el2n").name,
    gate("mean_rank", 0.9, "el2n").name,
    gate("margin_and_rank", 0.9, "el2n").name,
)
RIVALS = ("rank_variance", "aum")
_BACKBONE = "experiments.networks.backbones:efficientnet_lite0"


def _setup(
    title: str, source: Source, proxies: tuple[int, int], target: tuple[int, int], canaries: float
) -> Setup:
    """Epochs and batch of small networks on a table, and of the targets trained for it."""
    how, last = Recipe(*proxies, 0.02, augment=False), Recipe(*target, 0.05, augment=False)
    attack = replace(how, scored_epoch=how.epochs)
    ensemble = Ensemble(("small_mlp",), 3, how, "small_mlp", attack, canaries)
    return Setup(title, source, ensemble, Target("small_mlp_128", last))


_CPU = (
    _setup("Digits", Source("digits"), (20, 64), (25, 128), 0.1),
    _setup("Fashion-MNIST", Source("fashion-mnist", 6_000, side=14), (10, 128), (10, 128), 0.04),
    _setup(
        "Fashion-MNIST, 1,500", Source("fashion-mnist", 1_500, side=14), (40, 32), (40, 64), 0.1
    ),
    _setup(
        "CIFAR-10 features",
        Source("cifar10", 10_000, 3_000, backbone=_BACKBONE),
        (10, 128),
        (10, 128),
        0.04,
    ),
    _setup(
        "Food-101, in part",
        Source("food101", None, 3_000, 224, _BACKBONE),
        (20, 64),
        (25, 128),
        0.1,
    ),
)
_CNN = Recipe(12, 128, 0.05)
_IMAGES = Setup(
    "CIFAR-10",
    Source("cifar10", 10_000),
    Ensemble(("small_cnn",), 3, _CNN, "small_cnn", replace(_CNN, scored_epoch=12)),
    Target("small_cnn", Recipe(10, 128, 0.05)),
)
SETUPS = {
    "smoke": (_setup("Digits", Source("digits", 400, 300), (4, 64), (1, 128), 0.3),),
    "cpu": _CPU,
    "mid": _CPU,
    "paper": (*_CPU, _IMAGES),
}


@dataclass(frozen=True, slots=True, order=True)
class Column:
    """One noise at one keep fraction: what the rules of a table's column share."""

    noise: Noise
    keep: float

    def __str__(self) -> str:
        return f"{self.noise}, α = {self.keep:g}"


def keeps_of(noise: Noise) -> tuple[float, ...]:
    """The keep fractions that are run under a noise.

    >>> keeps_of(Noise("targeted", 0.25)), keeps_of(Noise("uniform", 0.5))
    ((0.25, 0.5, 0.75), (0.25,))
    """
    if noise in TABLE:
        return KEEPS
    return KEEPS[:2] if noise in HARD else KEEPS[:1]


COLUMNS = tuple(Column(noise, keep) for noise in NOISES for keep in keeps_of(noise))


def cells(scale: Scale) -> list[Cell]:
    """Every rule in every column, fewer at smoke; other gates only where two fractions are kept."""
    noises = (CLEAN, TABLE[3], *HARD) if scale.name == "smoke" else NOISES
    return [
        Cell("static", setup.source, noise, setup.ensemble, rule, keep, setup.target, seed)
        for setup in SETUPS[scale.name]
        for seed in range(scale.seeds)
        for noise in noises
        for keep in keeps_of(noise)
        for rule in (*SHIPPED, *UNGATED, *GATED, *VARIANTS)
        if rule not in VARIANTS or (keep < KEEPS[2] and len(keeps_of(noise)) > 1)
    ]


@dataclass(frozen=True, slots=True)
class Study:
    """One data set's rows, found by rule and column."""

    title: str
    rows: Mapping[tuple[str, str, float], Mapping[int, Mapping[str, Any]]]

    def by_seed(self, rule: str, column: Column, what: str = "accuracy") -> BySeed:
        """A rule's numbers in a column that support a claim; empty where it was not run."""
        result = self.rows.get((rule, str(column.noise), column.keep), {})
        return {seed: result[seed][what] for seed in sorted(result) if counts(result[seed])}

    def mean(self, rule: str, column: Column) -> float:
        """A rule's mean accuracy in a column, −1 where it was not run."""
        reached = self.by_seed(rule, column)
        return mean_std(list(reached.values()))[0] if reached else -1.0

    def rival(self, column: Column) -> BySeed:
        """The better of DR-IS and AUM in a column."""
        return self.by_seed(max(RIVALS, key=lambda rule: self.mean(rule, column)), column)

    def columns(self, rule: str) -> list[Column]:
        """The columns in which both a rule and its rivals were run."""
        return [c for c in COLUMNS if self.by_seed(rule, c) and self.rival(c)]


def studies(records: Records) -> list[Study]:
    """The data sets that the records hold.

    Rows without a key are of targets that trained longer, before records had keys: they are
    compared with each other alone.
    """
    result = []
    for setup in SETUPS["paper"] if records.scale != "smoke" else SETUPS["smoke"]:
        like = {"data": setup.source.name, "examples": setup.source.examples}
        every = records.where(**like, proxies=str(setup.ensemble))
        keyed = any("key" in row for row in records.rows)
        for older in (False, True) if keyed else (False,):
            rows: dict[tuple[str, str, float], dict[int, Mapping[str, Any]]] = {}
            for row in every:
                if not keyed or ("key" not in row) == older:
                    place = rows.setdefault((row["rule"], row["noise"], row["keep"]), {})
                    place[row["seed"]] = row["result"]
            if rows:
                result.append(Study(setup.title + (", older targets" if older else ""), rows))
    return result


def tables(records: Records) -> Sequence[Table]:
    """Who leads over all columns, then every data set: by keep fraction, by noise, what is kept."""
    rules = titles_of((*SHIPPED, *UNGATED, *GATED))
    variants = titles_of((gate("margin", 0.9, "el2n").name, *VARIANTS))
    by_keep = {f"keep fraction {k:g}": [Column(n, k) for n in TABLE] for k in KEEPS}
    by_rate = {
        f"{kind} noise, keep fraction {keep:g}": [
            Column(n, keep) for n in noises if n.kind == kind and keep in keeps_of(n)
        ]
        for kind in ("uniform", "targeted")
        for keep, noises in ((0.25, SWEEP), (0.5, HARD))
    }
    dirt = [Column(noise, 0.25) for noise in (*TABLE[1:], *HARD)]
    held = studies(records)
    result = [_behind(held, rules)]
    result += [
        _against(held, rule, list(rules))
        for rule in titles_of((RECOMMENDED, "gated", "gated_filled"))
    ]
    for s in held:
        for title, columns in {**by_keep, **by_rate}.items():
            result.append(_table(s, f"{s.title}, {title}: test accuracy (%)", columns, rules))
        title = f"{s.title}: corrupt in the subset (%), keep fraction 0.25"
        result.append(replace(_table(s, title, dirt, rules, "contamination"), best="smallest"))
        for keep in KEEPS[:2]:
            columns = [Column(noise, keep) for noise in (*TABLE, *HARD)]
            title = f"{s.title}, keep fraction {keep:g}: other gates with one chooser (%)"
            result.append(_table(s, title, columns, variants))
    return [table for table in result if table.rows]


def _table(
    s: Study,
    title: str,
    columns: Sequence[Column],
    rules: Mapping[str, str],
    what: str = "accuracy",
) -> Table:
    values = {
        (name, str(column.noise)): list(s.by_seed(rule, column, what).values())
        for rule, name in rules.items()
        for column in columns
    }
    held = [pair for pair, result in values.items() if result]
    rows, heads = (list(dict.fromkeys(pair[at] for pair in held)) for at in (0, 1))
    return Table(title, rows, heads, values, digits=1)


def _behind(result: Sequence[Study], rules: Mapping[str, str]) -> Table:
    """Each rule that ran everywhere: how far behind the best of a column, and how often ahead."""
    places = [(s, c) for s in result for c in COLUMNS if s.rival(c)]
    means = {rule: [s.mean(rule, c) for s, c in places] for rule in rules}
    means = {rule: values for rule, values in means.items() if places and min(values) >= 0}
    best = [max(values) for values in zip(*means.values(), strict=True)]
    rival = [max(s.mean(rule, c) for rule in RIVALS) for s, c in places]
    rows = {}
    for rule, reached in means.items():
        behind = [100 * (top - value) for top, value in zip(best, reached, strict=True)]
        over = sum(value > other for value, other in zip(reached, rival, strict=True))
        rows[rules[rule]] = (mean_std(behind)[0], max(behind), float(over))
    title = f"Points of accuracy behind the best rule of each of {len(places)} columns"
    return _numbers(title, ("mean", "worst", "columns above DR-IS and AUM"), rows, 1)


def _against(result: Sequence[Study], rule: str, rules: Sequence[str]) -> Table:
    """In how many columns a rule is above the better of DR-IS and AUM; in how many any leads it."""
    heads = (
        *("columns", "higher", "decided above", "undecided", "decided below"),
        *("behind any rule", "behind one without a gate", "runs, of 100, in which too few pass"),
    )
    rows = {s.title: _counted(s, rule, rules) for s in result if s.columns(rule)}
    title = f"{title_of(rule)} against the better of DR-IS and AUM, in how many columns"
    return _numbers(title, heads, rows, 0)


def _numbers(
    title: str, heads: Sequence[str], rows: Mapping[str, Sequence[float]], digits: int
) -> Table:
    values = {(name, h): [n] for name, row in rows.items() for h, n in zip(heads, row, strict=True)}
    return Table(
        title, list(rows), heads, values, best=None, percent=False, digits=digits, spread=False
    )


def _counted(s: Study, rule: str, rules: Sequence[str]) -> list[float]:
    columns = s.columns(rule)
    gaps = [_gap(s, rule, column) for column in columns]
    outcomes = [outcome for _, outcome in gaps]
    decided = [outcomes.count(outcome) for outcome in ("above", "undecided", "below")]
    # Half a tenth of a point: what a table would show as a lead.
    led = [
        sum(max(s.mean(other, c) for other in others) >= s.mean(rule, c) + 0.0005 for c in columns)
        for others in (rules, UNGATED)
    ]
    runs = [result for (r, _, _), seeds in s.rows.items() if r == rule for result in seeds.values()]
    short = 100 * sum(bool(result.get("short")) for result in runs) / len(runs)
    return [float(n) for n in (len(gaps), sum(g > 0 for g, _ in gaps), *decided, *led, short)]


def _gap(s: Study, rule: str, column: Column) -> tuple[float, str]:
    """Points above the better rival over the seeds of both, and how sure that is."""
    ours, theirs = s.by_seed(rule, column), s.rival(column)
    seeds = [seed for seed in ours if seed in theirs]
    result = compare([ours[seed] for seed in seeds], [theirs[seed] for seed in seeds])
    return 100 * result.difference, result.outcome


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """The default less its rivals in every column; accuracy over noise, and over what is kept."""
    defaults = (RECOMMENDED, "gated")
    result = [s for s in studies(records) if any(s.columns(rule) for rule in defaults)]
    if not result:
        return []
    named = titles_of(("random", "el2n", "aum", "rank_variance", "gated", RECOMMENDED))
    calm = {rule: title for rule, title in named.items() if rule != "el2n"}

    def panel(
        s: Study, title: str, x: str, rules: Mapping[str, str], at: Mapping[float, Column]
    ) -> Panel:
        curves = {
            name: {
                value: [100 * v for v in s.by_seed(rule, column).values()]
                for value, column in at.items()
            }
            for rule, name in rules.items()
        }
        return Panel(f"{s.title}\n{title}", x, "test accuracy, %", curves)

    rates = [
        panel(
            s,
            f"{kind} noise",
            "labels flipped, %",
            named,
            {100 * n.rate: Column(n, 0.25) for n in (CLEAN, *(n for n in SWEEP if n.kind == kind))},
        )
        for s in result
        for kind in ("uniform", "targeted")
    ]
    # EL2N collapses under noise and would flatten the others.
    kept = [
        panel(s, str(n), "keep fraction α", calm, {keep: Column(n, keep) for keep in KEEPS})
        for s in result
        for n in TABLE
    ]
    return [
        _differences(
            [s for s in result if s.columns(_default(records))],
            _default(records),
            folder / "beyond-difference.png",
        ),
        curve_panels(rates, folder / "beyond-rates.png", wide=4),
        curve_panels(kept, folder / "beyond-keeps.png", wide=4),
    ]


def _differences(result: Sequence[Study], rule: str, path: Path) -> Path:
    """A bar per column and data set: the rule's points above the better of DR-IS and AUM."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    looks = {"above": PALETTE[0], "undecided": "#999999", "below": PALETTE[1]}
    place = {column: len(COLUMNS) - 1 - i for i, column in enumerate(COLUMNS)}
    size = (3.4 * len(result), 0.27 * len(place) + 1.2)
    figure = Figure(figsize=size, layout="constrained", dpi=90)
    panels = figure.subplots(1, len(result), squeeze=False, sharey=True)[0]
    for axes, s in zip(panels, result, strict=True):
        for column in s.columns(rule):
            gap, outcome = _gap(s, rule, column)
            axes.barh(place[column], gap, color=looks[outcome])
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_yticks(list(place.values()), [str(column) for column in place])
        axes.set(title=s.title, xlabel="points above the better one")
    handles = [Patch(color=colour, label=name) for name, colour in looks.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return save_png_and_svg(figure, path)


def _default(records: Records) -> str:
    """What is recommended, or was when the records were made."""
    return RECOMMENDED if records.where(rule=RECOMMENDED) else "gated"


def claims(records: Records) -> Sequence[Claim]:
    """Both defaults against the better of DR-IS and AUM in each column."""
    return [
        above(
            f"ours: {s.title}, {column}: {title_of(rule)} above the better of DR-IS and AUM",
            s.by_seed(rule, column),
            s.rival(column),
        )
        for rule in (RECOMMENDED, "gated")
        for s in studies(records)
        for column in s.columns(rule)
    ]
