"""Who leads a column of a table: the rule above every other on the seeds that the two share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from experiments.records import Records
from experiments.results.claims import BySeed
from experiments.results.reading import Like
from experiments.results.statistics import mean_std


@dataclass(frozen=True, slots=True)
class Race:
    """A column: what each rule reached by seed, what the paper prints, and which two to compare."""

    column: str
    reached: Mapping[str, BySeed]
    printed: Mapping[str, float] = field(default_factory=dict)
    pair: tuple[str, str] = ("DR-IS", "Random")


def races_of(
    records: Records,
    rules: Mapping[str, str],
    columns: Mapping[str, tuple[Like, Mapping[str, float]]],
    pair: tuple[str, str] = ("DR-IS", "Random"),
) -> list[Race]:
    """The columns in which two rules were run; rules by name, with their titles.

    The paper's numbers of a column are by the rule's name, in per cent.
    """
    result = []
    for column, (like, printed) in columns.items():
        reached = {
            title.partition(",")[0]: by_seed
            for rule, title in rules.items()
            if (by_seed := records.by_seed("accuracy", rule=rule, **like))
        }
        if len(reached) > 1:
            known = {
                rules[rule].partition(",")[0]: mean
                for rule, mean in printed.items()
                if rule in rules
            }
            result.append(Race(column, reached, known, pair))
    return result


def paired(ours: BySeed, theirs: BySeed) -> tuple[float, int]:
    """Mean difference over the seeds that both have, in points, and how many those are.

    >>> paired({0: 0.5, 1: 0.75}, {1: 0.5, 2: 0.9})
    (25.0, 1)
    """
    seeds = sorted(set(ours) & set(theirs))
    return (mean_std([100 * (ours[s] - theirs[s]) for s in seeds])[0] if seeds else 0.0), len(seeds)


def leader_of(reached: Mapping[str, BySeed]) -> str:
    """Who is above every other on shared seeds, above whom it is least, and by how much.

    >>> leader_of({"DR-IS": {0: 0.69, 1: 0.7}, "Random": {0: 0.64, 1: 0.65}})
    'DR-IS, 5.0 above Random (n = 2)'
    >>> leader_of({"DR-IS": {0: 0.69, 1: 0.7}, "Random": {1: 0.65}, "Forgetting": {0: 0.702}})
    'Forgetting, 1.2 above DR-IS (n = 1); not compared with Random'
    >>> leader_of({"a": {0: 0.5}, "b": {0: 0.5}})
    'none'
    """
    for rule, mine in reached.items():
        gaps = {other: paired(mine, reached[other]) for other in reached if other != rule}
        met = {other: gap for other, gap in gaps.items() if gap[1]}
        if not met or min(points for points, _ in met.values()) <= 0:
            continue
        nearest = min(met, key=lambda other: met[other][0])
        points, seeds = met[nearest]
        apart = [other for other in gaps if other not in met]
        note = f"; not compared with {', '.join(apart)}" if apart else ""
        return f"{rule}, {points:.1f} above {nearest} (n = {seeds}){note}"
    return "none"


def lead_row(race: Race) -> list[str]:
    """A column in words: who leads, the paper's leader, and the pair's difference in both."""
    larger, smaller = race.pair
    points, seeds = paired(race.reached.get(larger, {}), race.reached.get(smaller, {}))
    ranked = sorted(race.printed, key=lambda rule: -race.printed[rule])
    first = ranked[0] if len(ranked) > 1 else ""  # of one printed rule nothing is known
    known = larger in race.printed and smaller in race.printed
    gap = race.printed[larger] - race.printed[smaller] if known else None
    return [
        race.column,
        leader_of(race.reached),
        first,
        f"{points:+.1f} (n = {seeds})" if seeds else "",
        "" if gap is None else f"{gap:+.1f}",
    ]


def lead_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of `lead_row` as Markdown."""
    head = ["column", "leads, on shared seeds", "in the paper", "DR-IS less Random", "in the paper"]
    return [
        f"| {' | '.join(head)} |",
        "|---|---|---|---:|---:|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]
