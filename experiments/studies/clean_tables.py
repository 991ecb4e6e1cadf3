"""The tables of results/clean.md and results/natural.md, in Markdown."""

from collections.abc import Iterable, Sequence
from statistics import fmean, stdev

from experiments.studies.clean_noise import NOISES
from experiments.studies.clean_runs import (
    CLEANLAB,
    NAN,
    Arms,
    Runs,
    ahead,
    best,
    checks,
    dropped,
    f1,
    inside,
    mean_of,
)
from experiments.studies.clean_sets import SETS

SHOWN = (*CLEANLAB, "AUM", "random", "clean", "fix", "weights", "oracle")
_FOUND = "case, by, AUROC, AP, dropped, precision, recall, F1, rate said, rate true"
FOUND = (*_FOUND.split(", "), "expected / wrong")


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Mean ± standard deviation (n), signed.

    >>> spread([1.0, 2.0, 3.0]), spread([])
    ('+2.0 ± 1.0 (3)', '–')
    """
    values = [v for v in values if v == v]
    if not values:
        return "–"
    more = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{fmean(values):+.{digits}f}{more} ({len(values)})"


def accuracy_table(runs: Runs, by: str) -> str:
    """Points ahead of everything, by noise or by set."""
    rows = []
    names = list(NOISES) if by == "noise" else runs.sets()
    for name in names:
        part = runs.where(lambda s, n, name=name: name in (s, n))  # type: ignore[misc]
        if part.by:
            first = NOISES[name][0] if by == "noise" else _called(name)
            values = [ahead(part, arm, "everything") for arm in SHOWN]
            rows.append([first, *(spread(v) for v in values)])
    rows.append(["all", *(spread(ahead(runs, arm, "everything")) for arm in SHOWN)])
    return table([by, *(f"**{a}**" if a == "clean" else a for a in SHOWN)], rows)


def _called(name: str) -> str:
    about = SETS[name].about if name in SETS else ""
    return f"{name}{' (chose)' if name in SETS and SETS[name].chose else ''}: {about}"


def found_by(case: str, seeds: Sequence[Arms]) -> list[list[str]]:
    """A row for dris and one for each peer that finds wrong labels; counts over all seeds."""
    rows = []
    for arm in ("clean", "cleanlab", *CLEANLAB, "AUM"):
        cells = [arms[arm] for arms in seeds if arm in arms]
        if not cells:
            continue
        size, wrong = (sum(c["suspects"][k] for c in cells) for k in (0, 1))
        total = sum(round(c["wrong"] * c["rows"]) for c in cells)
        expected = sum(c.get("expected", 0) for c in cells)
        rows.append(
            [
                case if arm == "clean" else "",
                "**dris**" if arm == "clean" else arm,
                *(_number(mean_of(seeds, arm, field)) for field in ("auroc", "ap")),
                f"{fmean(map(dropped, cells)):.1f} %",
                _number(wrong / size if size else NAN),
                _number(wrong / total if total else NAN),
                _number(f1(seeds, arm)),
                _rates([c["rate"] for c in cells if "rate" in c]),
                _number(fmean(c["wrong"] for c in cells)),
                f"{expected:,.0f} / {wrong:,}" if arm == "clean" else "",
            ]
        )
    return rows


def _number(value: float) -> str:
    return f"{value:.3f}" if value == value else "–"


def suspects_table(runs: Runs) -> str:
    """What was said and what was true, by set and noise."""
    rows = []
    for (name, noise), seeds in runs.groups().items():
        cells = [arms["clean"] for arms in seeds]
        size, wrong = (sum(c["suspects"][k] for c in cells) for k in (0, 1))
        total = sum(round(c["wrong"] * c["rows"]) for c in cells)
        rates = [c["rate"] for c in cells if "rate" in c]
        held = [one for one in map(inside, cells) if one is not None]
        rows.append(
            [
                name,
                noise,
                f"{fmean(map(dropped, cells)):.1f} %",
                f"{wrong / size:.2f}" if size else "–",
                f"{wrong / total:.2f}" if total else "–",
                f"{sum(c['expected'] for c in cells):.0f} / {wrong} / {size}",
                " → ".join((_rates(rates), f"{fmean(c['wrong'] for c in cells):.3f}")),
                f"{sum(held)} of {len(held)}",
                _two(seeds, "auroc"),
                _two(seeds, "ap"),
                _harms(seeds),
            ]
        )
    heading = (
        "set, noise, dropped, precision, recall, expected / wrong / suspects, rate said → true"
    )
    heading += ", covered, AUROC (cleanlab's best), AP (cleanlab's best), harm check said → true"
    return table(heading.split(", "), rows)


def _rates(rates: Sequence[Sequence[float]]) -> str:
    """The mean of a rate and of its two ends, where it has them."""
    said = [f"{fmean(column):.3f}" for column in zip(*rates, strict=True)]
    return f"{said[0]} [{said[1]}, {said[2]}]" if len(said) == 3 else said[0] if said else "–"


def _two(seeds: Sequence[Arms], field: str) -> str:
    ours = mean_of(seeds, "clean", field)
    return "–" if ours != ours else f"{ours:.3f} ({best(seeds, field):.3f})"


def _harms(seeds: Sequence[Arms]) -> str:
    said = checks(Runs(c | {"seed": k} for k, arms in enumerate(seeds) for c in arms.values()))
    if not said:
        return "–"
    return "{:+.1f} ± {:.1f} → {:+.1f}".format(
        *(fmean(column) for column in zip(*said, strict=True))
    )


def fixes_table(runs: Runs) -> str:
    """What `fix` rewrote: right before, right after."""
    rows = []
    for noise in NOISES:
        part = runs.where(lambda _, n, noise=noise: n == noise)  # type: ignore[misc]
        fixed = [arms["fix"]["fixed"] for arms in part.by.values() if "fix" in arms]
        if fixed:
            rows.append([NOISES[noise][0], *(f"{sum(c):,}" for c in zip(*fixed, strict=True))])
    return table(("noise", "rewritten", "right before", "right after"), rows)
