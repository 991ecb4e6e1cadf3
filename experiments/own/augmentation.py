"""Targets with and without augmentation, also 2 and 4 times as long: what they memorise.

    python -m experiments augmentation --scale cpu

Whether the paper's targets train with augmentation is not stated; its 160 epochs of steps would
memorise wrong labels either way. What a CPU can afford does so fully without it alone, which is how
cpu and mid train. Both settings stand here side by side, and with augmentation longer targets too,
to see where memorising begins. First data set, targeted 25 %, keep fraction 0.25, the paper's six
rules; the targets of static pruning are taken from there. Three rules are also trained 2 and 4
times as long, and asked what they memorised without augmentation, which pruning's records do not
say. At paper targets are long as they are.
Cost beyond pruning: seconds at smoke; at cpu about 8 minutes of one core per seed, at mid about an
hour and a quarter; at paper 9 targets of 25 GPU-minutes per seed.
Claims tested: none of the paper's; ours are that short targets memorise most wrong labels
without augmentation and few with it, that longer ones do with it too, and whether the paper's order
of the rules is there with augmentation.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.paper.pruning import ATTACK, KEEP, data_of, orderings, static
from experiments.records import Records, Row, counts
from experiments.results.claims import Claim, above
from experiments.results.figures import grouped_bars
from experiments.results.leads import Race
from experiments.results.paper_values import PRUNING
from experiments.results.reading import constant
from experiments.results.table import Table
from experiments.rules import title_of
from experiments.scales import SCALES, Scale, Setup
from experiments.spec import Cell

RULES = ("random", "el2n", "forgetting", "consensus", "aum", "rank_variance")
LONGER = ("random", "aum", "rank_variance")
TIMES = (2, 4)
_ASKED = {
    "memorised": "wrong labels of the subset that its target memorised (%)",
    "by_chance": "wrong labels outside of it that its target gives all the same (%)",
    "fits_right": "right labels of the subset that its target learned (%)",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """How a target trains: with augmentation or not, and how many times as long as the scale's.

    >>> str(Setting(False)), str(Setting(True, 4))
    ('without augmentation', 'with augmentation, 4 ×')
    """

    augmented: bool
    times: int = 1

    def __str__(self) -> str:
        long = "" if self.times == 1 else f", {self.times} ×"
        return f"{'with' if self.augmented else 'without'} augmentation{long}"

    def of(self, setup: Setup) -> Setup:
        """A setup whose target trains so."""
        how = setup.target.recipe
        how = replace(how, augment=self.augmented, epochs=self.times * how.epochs)
        return replace(setup, target=replace(setup.target, recipe=how))


def settings(scale: Scale) -> list[Setting]:
    """Both, as long as the scale's targets; where those go without, longer ones with it.

    >>> [str(one) for one in settings(SCALES["paper"])]
    ['without augmentation', 'with augmentation']
    """
    long_enough = scale.setups[0].target.recipe.augment
    longer = () if long_enough else TIMES
    return [Setting(False), Setting(True), *(Setting(True, times) for times in longer)]


def cells(scale: Scale) -> list[Cell]:
    """Static pruning's targets, then the others, the short ones of a seed first."""
    setup = scale.setups[0]
    result = []
    for seed in range(scale.seeds):
        result += [static(setup, ATTACK, rule, seed) for rule in RULES]
        for setting in settings(scale):
            place = setting.of(setup)
            rules = LONGER if setting.times > 1 or place == setup else RULES
            result += [replace(static(place, ATTACK, rule, seed), kind="memory") for rule in rules]
    return result


def reached(records: Records, what: str, rule: str, setting: Setting) -> dict[int, float]:
    """One number of a rule's targets that trained so, by seed, where there is one."""
    rows = [
        row
        for kind in ("memory", "static")  # of two that trained alike the table shows pruning's
        for row in records.where(kind=kind, rule=rule, keep=KEEP)
        if _setting(records, row) == setting and counts(row["result"])
    ]
    result = {row["seed"]: row["result"].get(what) for row in rows if what in row["result"]}
    return {seed: value for seed, value in sorted(result.items()) if value is not None}


def _setting(records: Records, row: Row) -> Setting:
    own = SCALES[records.scale].setups[0].target.recipe
    if row["kind"] == "static":
        return Setting(own.augment)
    return Setting(row["result"]["augmented"], row["result"]["epochs"] // own.epochs)


def tables(records: Records) -> Sequence[Table]:
    """Accuracy, then what the targets repeat of wrong and right labels, by rule and setting."""
    return [
        _table(records, what, f"{data}, {ATTACK}: {title}")
        for data in data_of(records)
        for what, title in {"accuracy": "test accuracy (%)", **_ASKED}.items()
    ]


def _table(records: Records, what: str, title: str) -> Table:
    columns = [
        setting
        for setting in settings(SCALES[records.scale])
        if any(reached(records, "accuracy", rule, setting) for rule in RULES)
    ]
    printed = PRUNING.get(title.partition(",")[0], {}) if what == "accuracy" else {}
    return Table(
        title,
        [title_of(rule) for rule in RULES],
        [str(setting) for setting in columns],
        {
            (title_of(rule), str(setting)): list(reached(records, what, rule, setting).values())
            for rule in RULES
            for setting in columns
        },
        {
            (title_of(rule), str(setting)): values[-1]
            for rule, values in printed.items()
            for setting in columns
            if setting.times == 1
        },
        best="largest" if what == "accuracy" else None,
    )


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Accuracy, and what was memorised."""
    shown = [table for table in tables(records) if "accuracy" in table.title]
    shown += [table for table in tables(records) if "memorised" in table.title]
    panels = [(table.title, table) for table in shown]
    return [grouped_bars(panels, "%", folder / "augmentation.png")]


def races(records: Records) -> Sequence[Race]:
    """The paper's rules under every setting."""
    result = []
    for data in data_of(records):
        names = {rule: title_of(rule).partition(",")[0] for rule in RULES}
        printed = {names[r]: values[-1][0] for r, values in PRUNING.get(data, {}).items()}
        for setting in settings(SCALES[records.scale]):
            found = {name: reached(records, "accuracy", r, setting) for r, name in names.items()}
            met = {title: by_seed for title, by_seed in found.items() if by_seed}
            if len(met) > 1:
                result.append(Race(f"{data}, {ATTACK}, {setting}", met, printed))
    return result


def claims(records: Records) -> Sequence[Claim]:
    """Where memorising begins, what it costs Random, and the order of the rules beside it."""
    result = []
    without, short, *longer = settings(SCALES[records.scale])
    for data in data_of(records):

        def of(what: str, rule: str, setting: Setting) -> dict[int, float]:
            return reached(records, what, rule, setting)

        text = f"ours: {data}: Random's target memorises more wrong labels"
        for more, less in ((without, short), *((setting, short) for setting in longer)):
            pair = [of("memorised", "random", setting) for setting in (more, less)]
            result.append(above(f"{text} {more} than {less}", *pair))
        for setting in (without, short, *longer):
            learned = of("memorised", "random", setting)
            text = f"ours: {data}, {setting}: Random's target memorises most wrong labels"
            result.append(above(text, learned, constant(0.5, learned)))
        pair = [of("accuracy", "random", setting) for setting in (short, without)]
        result.append(above(f"ours: {data}: Random reaches more with augmentation", *pair))
        column = {rule: v[-1][0] for rule, v in PRUNING.get(data, PRUNING["cifar10"]).items()}
        for setting in (without, short, *longer):
            rules = RULES if setting in (without, short) else LONGER
            mine = {rule: value for rule, value in column.items() if rule in rules}
            for order, *rules_of in orderings(mine):
                claim = above(
                    f"ours: {data}, {setting}: {order}",
                    *(_on_shared(of, rule, setting, (without, short)) for rule in rules_of),
                )
                again = "pruning" if setting == without else ""
                part = f"{ATTACK}, targets {setting}, shared seeds"
                result.append(replace(claim, repeats=again, part=part))
    return result


def _on_shared(
    of: Callable[[str, str, Setting], dict[int, float]],
    rule: str,
    setting: Setting,
    settings: Sequence[Setting],
) -> dict[int, float]:
    """A rule's accuracies on the seeds that it has under both short settings, side by side."""
    mine = of("accuracy", rule, setting)
    if setting not in settings:
        return mine
    shared = set.intersection(*(set(of("accuracy", rule, one)) for one in settings))
    return {seed: value for seed, value in mine.items() if seed in shared}
