"""What everything costs: seconds per target and per ensemble (paper, table 9; item 12).

    python -m experiments times --scale cpu

Read off the clocks of static pruning's targets, so it costs nothing more; the processor's seconds,
or a GPU's, beside the wall clock, which other work on the machine stretches. The first rule that
asks for an ensemble waits for its training: the longest wait of a (data set, noise, seed) is what
the proxies cost. Beside it single steps of the paper's networks are timed, two minutes of a core a
seed, so that what its proxies cost beside its targets is told in seconds and in multiply-adds:

    python -m experiments times --scale cpu --rule step

Claims tested: a target takes the same time whatever chose its data; the proxies take less than a
tenth of what a target takes, by single steps; of the targets here, whose proxies are as large, that
claim says nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.dris_internals import Recipe
from experiments.paper import pruning
from experiments.paper.pruning import PRINTED
from experiments.records import Records
from experiments.results.claims import Claim, above, untestable, within
from experiments.results.figures import grouped_bars
from experiments.results.paper_values import MINUTES
from experiments.results.reading import constant
from experiments.results.statistics import mean_std
from experiments.results.table import Table
from experiments.rules import title_of, titles_of
from experiments.scales import Scale
from experiments.spec import CLEAN, Cell, Ensemble, Source, short_name

# Multiply-adds of one forward pass over 3 × 32 × 32, ten classes for all but the last.
MULTIPLY_ADDS: Mapping[str, int] = {
    "resnet20": 40_813_184,
    "experiments.networks.mobilenet:mobilenet_v2_x0_5": 27_969_024,
    "experiments.networks.shufflenet:shufflenet_v2_x0_5": 10_902_016,
    "experiments.networks.vgg:vgg19_bn": 398_136_320,
    "experiments.networks.resnet18:resnet18": 555_468_800,
}
*PROXIES, _VGG, _RESNET18 = MULTIPLY_ADDS
LIMIT = 0.1
# A step counts three passes, forward and twice that backward; recording a proxy counts one more.
_STEP, _RECORDED = 3, 4


def cells(scale: Scale) -> list[Cell]:
    """The targets of static pruning, all noises together as in the paper, and single steps."""
    models = PROXIES[:1] if scale.name == "smoke" else (*MULTIPLY_ADDS, _SMALL)
    how = Recipe(1, 4 if scale.name == "smoke" else 128, 0.01)
    steps = [
        Cell("steps", Source("cifar10"), CLEAN, Ensemble((m,), 1, how, m, how), "step", 1, None, s)
        for s in range(scale.seeds)
        for m in models
    ]
    return [*pruning.cells(scale), *steps]


@dataclass(frozen=True, slots=True)
class Bill:
    """Proxies over so many epochs beside a target over so many; both see all the data."""

    title: str
    proxies: tuple[str, ...]
    proxy_epochs: int
    target: str
    epochs: int

    def share(self, cost: Mapping[str, float]) -> float:
        """The proxies' cost as a part of the target's, by what a step of each network costs.

        Recording costs a forward pass more, a third of a step.

        >>> counted = {name: float(adds) for name, adds in MULTIPLY_ADDS.items()}
        >>> [round(bill.share(counted), 3) for bill in BILLS[:2]]
        [0.067, 0.038]
        """
        proxies = self.proxy_epochs * _RECORDED / _STEP * sum(cost[name] for name in self.proxies)
        return proxies / (self.epochs * cost[self.target])


_SMALL = "small_cnn"
BILLS = (
    Bill("the paper's three proxies × 40 beside VGG-19 × 160", tuple(PROXIES), 40, _VGG, 160),
    Bill(
        "the paper's three proxies × 40 beside ResNet-18 × 200", tuple(PROXIES), 40, _RESNET18, 200
    ),
    Bill("three small CNNs × 20 beside VGG-19 × 160", (_SMALL,) * 3, 20, _VGG, 160),
)


def step_costs(records: Records, what: str) -> dict[int, dict[str, float]]:
    """What a step of each network took, or counts, by seed; of seeds that have all of them."""
    result: dict[int, dict[str, float]] = {}
    for row in records.where(kind="steps"):
        costs = {"multiply-adds": float(row["result"]["multiply_adds"]), **row["seconds"]}
        names = {short_name(name): name for name in (*MULTIPLY_ADDS, _SMALL)}
        result.setdefault(row["seed"], {})[names[row["proxies"]]] = costs[what]
    return {seed: one for seed, one in result.items() if len(one) == len(MULTIPLY_ADDS) + 1}


def _bills(records: Records) -> Table | None:
    columns = {"multiply-adds": "multiply-adds", "seconds of a core": "steps cpu"}
    values = {
        (bill.title, title): [bill.share(c) for c in step_costs(records, what).values()]
        for bill in BILLS
        for title, what in columns.items()
    }
    if not any(values.values()):
        return None
    title = "What proxies cost as a part of what the target costs (%), by single steps"
    return Table(title, [bill.title for bill in BILLS], list(columns), values, best=None)


def data_of(records: Records) -> list[str]:
    """The data sets of the targets."""
    return list(dict.fromkeys(row["data"] for row in records.where(kind="static")))


Group = tuple[str, int]
"""Noise and seed: what shares its proxies on one data set."""


def clocked(records: Records, data: str, rule: str, what: str) -> dict[Group, float]:
    """One clock of a rule on a data set."""
    return {
        (row["noise"], row["seed"]): row["seconds"][what]
        for row in records.where(data=data, rule=rule)
        if what in row["seconds"]
    }


def waited(records: Records, data: str) -> dict[Group, float]:
    """CPU seconds that the proxies took: the longest that any of the paper's rules waited.

    Where that is less than half of the longest of all, they came from the store: left out.
    """
    result: dict[Group, float] = {}
    for rule in PRINTED:
        for group, wait in clocked(records, data, rule, "scoring cpu").items():
            result[group] = max(result.get(group, 0.0), wait)
    return trained(result)


def trained(waits: Mapping[Group, float]) -> dict[Group, float]:
    """The waits during which an ensemble was trained, not read back.

    >>> trained({("clean", 0): 0.4, ("clean", 1): 85.0})
    {('clean', 1): 85.0}
    """
    longest = max(waits.values(), default=0.0)
    return {group: wait for group, wait in waits.items() if wait >= longest / 2}


def share(records: Records, data: str) -> dict[Group, float]:
    """The proxies' part of the CPU seconds of proxies and DR-IS's target."""
    target = clocked(records, data, "rank_variance", "target cpu")
    both = {g: (wait, target[g]) for g, wait in waited(records, data).items() if g in target}
    return {g: mine / (mine + other) for g, (mine, other) in both.items() if mine + other}


def tables(records: Records) -> Sequence[Table]:
    """Minutes per target, what comes before it, and the proxies' part of all of it."""
    names = data_of(records)
    before: Mapping[str, Callable[[Records, str], dict[Group, float]]] = {
        "3 proxies": waited,
        "rank variance of them": _scoring,
        "3 proxies with canaries, gated": lambda r, d: trained(
            clocked(r, d, "gated", "scoring cpu")
        ),
    }
    return [
        *(minutes(records, data) for data in names),
        Table(
            "Before the target: seconds of computing",
            list(before),
            names,
            {(row, d): list(of(records, d).values()) for row, of in before.items() for d in names},
            best=None,
            percent=False,
        ),
        Table(
            "The proxies' part of the computing of proxies and one target (%)",
            ["here"],
            names,
            {("here", data): list(share(records, data).values()) for data in names},
            best=None,
        ),
        *([bills] if (bills := _bills(records)) else []),
    ]


def minutes(records: Records, data: str) -> Table:
    """Minutes per target by rule, over seeds and noises; the paper's are of one A100."""
    rules = titles_of((*PRINTED, "gated"))
    clocks = {"computing": "target cpu", "clock": "target"}
    return Table(
        f"{data}: minutes per target, proxies not counted (the paper's: clock, one A100)",
        list(rules.values()),
        list(clocks),
        {
            (title, name): [s / 60 for s in clocked(records, data, rule, clock).values()]
            for rule, title in rules.items()
            for name, clock in clocks.items()
        },
        {(title_of(rule), "clock"): printed for rule, printed in MINUTES.get(data, {}).items()},
        best=None,
        percent=False,
    )


def _scoring(records: Records, data: str) -> dict[Group, float]:
    """Rank variance alone, where another rule had waited for the proxies."""
    own = clocked(records, data, "rank_variance", "scoring cpu")
    longest = waited(records, data)
    return {group: seconds for group, seconds in own.items() if seconds < longest.get(group, 0.0)}


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Minutes per target; the paper's, of another machine, are in the table only."""
    panels = [(data, replace(minutes(records, data), paper={})) for data in data_of(records)]
    return [grouped_bars(panels, "minutes per target", folder / "times.png")]


def claims(records: Records) -> Sequence[Claim]:
    """Equal targets, cheap proxies."""
    result = []
    for data in data_of(records):
        ours, random = (
            by_seed(clocked(records, data, rule, "target cpu"))
            for rule in ("rank_variance", "random")
        )
        ratio = {seed: ours[seed] / random[seed] for seed in ours if random.get(seed)}
        text = f"{data}: DR-IS's target takes as long as Random's, within 10 %"
        result.append(within(text, ratio, constant(1.0, ratio), LIMIT))
        here = by_seed(share(records, data))
        text = f"{data}: the proxies are under 10 % of all compute"
        if records.scale == "paper":
            result.append(above(text, constant(LIMIT, here), here))
        elif here:
            mean, std = mean_std([100 * value for value in here.values()])
            told = f"{mean:.0f} ± {std:.0f} % here, where proxies are as large as targets"
            result.append(untestable(text, told))
    clocks, counts = (step_costs(records, what) for what in ("steps cpu", "multiply-adds"))
    for bill in BILLS:
        seconds = {seed: bill.share(cost) for seed, cost in clocks.items()}
        whose = "" if bill.proxies == tuple(PROXIES) else "ours: "
        text = f"{whose}{bill.title}: proxies below 10 % of the target's training"
        claim = above(text, constant(LIMIT, seconds), seconds)
        counted = "".join(
            f"; by multiply-adds {100 * bill.share(cost):.1f} %" for cost in [*counts.values()][:1]
        )
        result.append(replace(claim, evidence=claim.evidence + counted))
    return result


def by_seed(clock: Mapping[Group, float]) -> dict[int, float]:
    """Means over the noises.

    >>> by_seed({("clean", 0): 1.0, ("uniform 10 %", 0): 3.0})
    {0: 2.0}
    """
    seeds = sorted({seed for _, seed in clock})
    return {s: mean_std([v for (_, seed), v in clock.items() if seed == s])[0] for s in seeds}
