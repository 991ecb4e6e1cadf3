"""The tables of the page of clean.py, each from its cells alone."""

from collections.abc import Iterable, Sequence

from experiments.studies.clean_cells import (
    Cell,
    accuracy,
    behind,
    checks,
    dropped,
    gain,
    grouped,
    inside,
    limits,
    sides,
    signs,
    spread,
    table,
)
from experiments.studies.clean_noise import NOISES
from experiments.studies.clean_sets import SETS

WAYS = {
    "everything": "everything",
    "cleanlab": "cleanlab",
    "aum": "AUM",
    "random-clean": "random",
    "clean": "**dris clean**",
    "prune-50": "prune 0.5",
    "prune-25": "prune 0.25",
    "oracle": "oracle",
}


def _of(cells: Iterable[Cell], noise: str) -> list[Cell]:
    return [cell for cell in cells if cell["noise"] == noise]


def by_noise(cells: Sequence[Cell]) -> str:
    """Gains over everything by noise."""
    ways = [way for way in WAYS if way != "everything"]
    named = [*((title, _of(cells, noise)) for noise, title in NOISES.items()), ("all", cells)]
    return table(
        ["noise", *(WAYS[way] for way in ways)],
        (
            [title, *(spread([gain(c, w, "everything") for c in some], sign=True) for w in ways)]
            for title, some in named
        ),
    )


def by_set(cells: Sequence[Cell]) -> str:
    """Gains over everything by set."""
    ways = [way for way in WAYS if way != "everything"]
    rows = []
    for one in SETS.values():
        some = [c for c in cells if c["set"] == one.name]
        gains = (spread([gain(c, w, "everything") for c in some], sign=True) for w in ways)
        mark = " (chose)" if one.chose else ""
        rows.append([f"{one.name}{mark}", one.about, *gains])
    return table(["set", "what", *(WAYS[way] for way in ways)], rows)


def pruned(cells: Sequence[Cell]) -> str:
    """Each share against a random subset of its size, by noise."""
    named = [*((title, _of(cells, noise)) for noise, title in NOISES.items()), ("all", cells)]
    ways = ("prune-50", "prune-25")
    return table(
        ["noise", *(WAYS[way] for way in ways)],
        (
            [title, *(spread([gain(c, w, f"random-{w}") for c in some], sign=True) for w in ways)]
            for title, some in named
        ),
    )


def by_kind(cells: Sequence[Cell]) -> str:
    """What clean and both shares gain by the kind of data, and its lead in detection."""
    rows = []
    for kind in dict.fromkeys(one.kind for one in SETS.values()):
        some = [c for c in cells if SETS[c["set"]].kind == kind]
        names = ", ".join(dict.fromkeys(c["set"] for c in some))
        noisy = [c["detection"] for c in some if c["detection"]["dris"] is not None]
        pairs = [("clean", "everything"), ("clean", "cleanlab")]
        pairs += [(way, f"random-{way}") for way in ("prune-50", "prune-25")]
        rows.append(
            [
                kind,
                names,
                *(spread([gain(c, *pair) for c in some], sign=True) for pair in pairs),
                spread([d["dris"][0] - d["cleanlab"][0] for d in noisy], 3, sign=True),
            ]
        )
    heading = ["kind", "sets", "clean less everything", "clean less cleanlab"]
    heading += ["prune 0.5 less random", "prune 0.25 less random", "AUROC less cleanlab's"]
    return table(heading, rows)


def detection(cells: Sequence[Cell]) -> str:
    """AUROC and average precision by set."""
    rows = []
    for one in SETS.values():
        some = [c for c in cells if c["set"] == one.name and c["detection"]["dris"] is not None]
        row = [one.name]
        for place in (0, 1):
            row += [
                spread([c["detection"][way][place] for c in some], 3)
                for way in ("dris", "cleanlab", "aum")
            ]
        rows.append(row)
    titles = [f"{way}, {name}" for name in ("AUROC", "AP") for way in ("dris", "cleanlab", "AUM")]
    return table(["set", *titles], rows)


def harm(cells: Sequence[Cell]) -> str:
    """Said and wrong signs by noise, for both kinds of agreement."""
    rows = []
    for noise, title in [*NOISES.items(), ("", "all")]:
        some = _of(cells, noise) if noise else cells
        row = [title]
        for which in ("plain", "chance"):
            result = checks(some, which)
            wrong, told = signs(result)
            worst = max((abs(f[2]) for f in result if sides(f[0], f[1]) * f[2] < 0), default=0.0)
            row += [
                f"{told} of {len(result)}",
                f"{wrong}{f' (up to {worst:.1f} points)' if wrong else ''}",
            ]
            row.append(spread([said - true for said, _, true, _, _ in result], sign=True))
        rows.append(row)
    names = ("said", "wrong sign", "said less true")
    return table(
        ["noise", *(f"{n}, plain" for n in names), *(f"{n}, beyond chance" for n in names)], rows
    )


def ranges(cells: Sequence[Cell]) -> str:
    """The range against the truth by noise."""
    rows = []
    for noise, title in NOISES.items():
        some = [c for c in _of(cells, noise) if c["range"]]
        held = sum(inside(c) for c in some)
        rows.append(
            [
                title,
                spread([100 * c["wrong"] for c in some]),
                spread([100 * c["range"][0] for c in some]),
                spread([100 * c["range"][1] for c in some]),
                f"{held} of {len(some)}",
                f"{sum(abs(c['range'][0] - c['wrong']) <= 0.05 for c in some)} of {len(some)}",
            ]
        )
    heading = ["noise", "true", "lower end", "upper end", "inside", "lower end within 5 points"]
    return table(heading, rows)


def limits_table(cells: Sequence[Cell]) -> str:
    """Printed, withdrawn and violated by noise."""
    rows = []
    for noise, title in [*NOISES.items(), ("", "all")]:
        runs = limits(_of(cells, noise) if noise else cells)
        shown = [(limit, true) for what, limit, true in runs if what == "something"]
        distrusted = [(limit, true) for what, limit, true in runs if what == "not to be trusted"]
        rows.append(
            [
                title,
                str(len(runs)),
                str(len(shown)),
                str(len(distrusted)),
                str(len(runs) - len(shown) - len(distrusted)),
                str(sum(true > limit for limit, true in shown)),
                str(sum(true > limit for limit, true in distrusted)),
                spread([100 * limit for limit, _ in shown]),
                spread([100 * true for _, true in shown]),
            ]
        )
    heading = ["noise", "decisions", "printed", "not to be trusted", "says nothing"]
    heading += ["printed and violated", "withdrawn that would have been", "printed limit, %"]
    return table([*heading, "true there, %"], rows)


def clean_data(cells: Sequence[Cell]) -> str:
    """Cells without noise by set."""
    rows = []
    for one in SETS.values():
        some = [c for c in _of(cells, "none") if c["set"] == one.name]
        result = checks(some, "chance")
        said = [(said, error) for said, error, _, _, way in result if way == "clean"]
        rows.append(
            [
                one.name,
                spread([dropped(c) for c in some]),
                spread([dropped(c, "cleanlab") for c in some]),
                spread([gain(c, "clean", "everything") for c in some], sign=True),
                spread([gain(c, "cleanlab", "everything") for c in some], sign=True),
                spread([points for points, _ in said], sign=True),
                ", ".join(c["said"]["clean"]["rule"] for c in some),
            ]
        )
    heading = ["set", "dropped by clean", "by cleanlab", "change by clean", "by cleanlab"]
    return table([*heading, "harm check said", "rule by seed"], rows)


def cost(cells: Sequence[Cell]) -> str:
    """Processor seconds by set."""
    rows = []
    for one in SETS.values():
        some = [c for c in cells if c["set"] == one.name]
        took = (spread([c["seconds"][way] for c in some], 2) for way in ("dris", "cleanlab", "aum"))
        rows.append([one.name, f"{some[0]['rows']:,}" if some else "–", *took])
    return table(["set", "rows", "dris clean", "cleanlab", "AUM"], rows)


def everything(cells: Sequence[Cell]) -> str:
    """Every way's accuracy and clean's distance to the better of the two."""
    rows = []
    for (name, noise), group in grouped(cells).items():
        row = [name, NOISES[noise]]
        row += [spread([accuracy(c, way) for c in group]) for way in WAYS]
        row += [f"{behind(group):+.1f}", spread([dropped(c) for c in group])]
        row.append(spread([100 * c["left"]["clean"] for c in group]))
        rows.append(row)
    heading = ["set", "noise", *WAYS.values(), "clean less the better of two"]
    return table([*heading, "dropped, %", "wrong left, %"], rows)
