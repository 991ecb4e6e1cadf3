"""Online importance sampling: draws by a plan, each weighted to undo it (paper, table 3).

    python -m experiments online --scale cpu

Seven plans, and DR-IS-online by P(wrong), which is ours, with the weights 1/(Nq) and with none, on
clean labels and under 10 and 25 % targeted noise; some also under 25 % uniform noise. Unbiased
weights aim at the risk under the given labels, corrupt ones included, so every plan stands here
twice. No run is rescued: one whose plan cannot be built ends there, as one that diverges does, and
is measured after its last whole epoch; one without any supports no claim.
Cost: seconds at smoke; at cpu about an hour of one core (Fashion-MNIST, 10,000 examples drawn anew
for each seed, a fully connected target for 40 epochs, 156 targets); at paper about 25 GPU-minutes
per target (CIFAR-10, VGG-19, 160 epochs).
Claims tested: DR-IS-online above uniform draws under attack and level with them on clean data;
Standard IS falls to chance under attack; both RHO-LOSS samplers collapse onto few examples and
stay below uniform draws everywhere.
"""

from collections.abc import Sequence
from pathlib import Path

from experiments.records import Records
from experiments.results.claims import Claim, above, within
from experiments.results.leads import Race, races_of
from experiments.results.panels import course_panels
from experiments.results.paper_values import CIFAR10_ONLINE
from experiments.results.table import Table
from experiments.rules import PLANS, Sampler
from experiments.scales import Scale
from experiments.setups import ONLINE
from experiments.spec import CLEAN, Cell, Noise

CUTS = {
    "smoke": "200 digits, linear models, 3 epochs: shows that everything runs",
    "cpu": "10,000 of the 60,000 images of Fashion-MNIST, drawn anew for each seed, and 5,000 test "
    "images in place of CIFAR-10; a fully connected target for 40 epochs in place of VGG-19 for "
    "160; proxies a linear model, a fully connected network and a small CNN for 10 epochs, scored "
    "at 5; a small CNN for attacker (5 epochs) and RHO-LOSS reference (30 epochs on a tenth)",
    "mid": "20,000 of the 50,000 images of CIFAR-10, those of static pruning; a small CNN for 16 "
    "epochs without augmentation in place of VGG-19 for 160; proxies small CNNs for 20 epochs, "
    "scored at 10; a small CNN for attacker (10 epochs) and RHO-LOSS reference (30 epochs on a "
    "tenth)",
    "paper": "nothing is cut: CIFAR-10, VGG-19, 160 epochs",
}
NOISES = (CLEAN, Noise("targeted", 0.1), Noise("targeted", 0.25))
OURS = Noise("uniform", 0.25)  # which the paper does not draw online under, for the plans below
OUR_PLANS = ("uniform", "dr_is", "gated", "dr_is(weights=0)", "gated(weights=0)")
# Uniform draws weigh 1 whatever the exponent, so they stand once.
RULES = {"uniform": "Uniform SGD"} | {
    Sampler(plan, exponent).name: name + ("" if exponent else ", no weights")
    for plan, name in PLANS.items()
    if plan != "uniform"
    for exponent in (1.0, 0.0)
}
CHANCE = 0.1
_ENDS = ["alarm", "collapsed", "diverged", "rescued"]


def cells(scale: Scale) -> list[Cell]:
    """Every plan under every noise, seed by seed."""
    return [
        online(scale, noise, rule, seed)
        for seed in range(scale.seeds)
        for noise in (*NOISES, OURS)
        for rule in (OUR_PLANS if noise == OURS else RULES)
    ]


def online(scale: Scale, noise: Noise, rule: str, seed: int) -> Cell:
    """One target of the online setup."""
    setup = ONLINE[scale.name]
    return Cell("online", setup.source, noise, setup.ensemble, rule, 1.0, setup.target, seed)


def tables(records: Records) -> Sequence[Table]:
    """Accuracy, how the draws concentrated, and what became of the samplers."""
    noises = (*NOISES, *([OURS] if records.where(noise=OURS) else ()))
    columns = [str(noise) for noise in noises]
    rules = {rule: name for rule, name in RULES.items() if records.where(rule=rule)}
    shown = {
        what: {
            (name, str(noise)): records.values(what, rule=rule, noise=noise)
            for rule, name in rules.items()
            for noise in noises
        }
        for what in ("accuracy", "smallest_concentration", "corrupt_draws")
    }
    # The paper's weights are the unbiased ones of its Algorithm 2.
    printed = {
        (PLANS[plan], str(noise)): rates[noise.rate]
        for plan, rates in CIFAR10_ONLINE.items()
        for noise in NOISES
    }
    rows = list(rules.values())
    return [
        Table(
            "Online: test accuracy (%); the paper's is CIFAR-10 with VGG-19",
            rows,
            columns,
            shown["accuracy"],
            printed,
        ),
        Table(
            "Online: smallest concentration size, the examples that carry an epoch's draws",
            rows,
            columns,
            shown["smallest_concentration"],
            best=None,
            percent=False,
            digits=0,
        ),
        Table(
            "Online: share of the draws that fall on corrupted examples (%)",
            rows,
            columns[1:],
            shown["corrupt_draws"],
            best="smallest",
        ),
        Table(
            "Online: share of the runs (%) with an alarm, whose plan could not be built, that "
            "diverged, that uniform draws rescued (which no claim reads)",
            rows,
            _ENDS,
            {
                (name, what): [row["result"].get(what, False) for row in records.where(rule=rule)]
                for rule, name in rules.items()
                for what in _ENDS
            },
            best=None,
            digits=0,
        ),
    ]


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Accuracy and concentration over the epochs, a row of panels per noise."""
    return [course_panels(records, NOISES, PLANS, folder / "online.png")]


def races(records: Records) -> Sequence[Race]:
    """The paper's plans, noise by noise."""
    columns = {
        f"online, {noise}": (
            {"noise": noise},
            {plan: rates[noise.rate][0] for plan, rates in CIFAR10_ONLINE.items()},
        )
        for noise in NOISES
    }
    plans = {plan: PLANS[plan] for plan in CIFAR10_ONLINE}
    return races_of(records, plans, columns, ("DR-IS-online", "Uniform SGD"))


def claims(records: Records) -> Sequence[Claim]:
    """The paper's reading of table 3, its plans with their weights."""

    def at(rule: str, noise: Noise, what: str = "accuracy") -> dict[int, float]:
        return records.by_seed(what, rule=rule, noise=noise)

    result = [
        within(
            "clean: DR-IS-online within 1.5 points of Uniform SGD (the paper: 1.15 below)",
            at("dr_is", CLEAN),
            at("uniform", CLEAN),
            0.015,
        )
    ]
    for noise in NOISES[1:]:
        dris, uniform = at("dr_is", noise), at("uniform", noise)
        standard = at("standard_is", noise)
        chance = dict.fromkeys(standard, CHANCE)
        result += [
            above(f"{noise}: DR-IS-online above Uniform SGD", dris, uniform),
            above(f"{noise}: DR-IS-online above Standard IS", dris, standard),
            within(f"{noise}: Standard IS at chance, within 2 points", standard, chance, 0.02),
        ]
    for noise in NOISES:
        for rho in ("rho_approximate", "rho_faithful"):
            result += [
                above(
                    f"{noise}: Uniform SGD above {PLANS[rho]}",
                    at("uniform", noise),
                    at(rho, noise),
                ),
                above(
                    f"{noise}: {PLANS[rho]} is drawn from fewer examples than DR-IS-online",
                    at("dr_is", noise, "smallest_concentration"),
                    at(rho, noise, "smallest_concentration"),
                    unit="examples",
                ),
            ]
    result += [
        above(
            f"ours: {noise}: DR-IS-online above Uniform SGD without its weights",
            at("dr_is(weights=0)", noise),
            at("uniform", noise),
        )
        for noise in NOISES[1:]
    ]
    for noise in (*NOISES, OURS):
        for rule, other in (("gated", "dr_is"), ("gated(weights=0)", "dr_is(weights=0)")):
            text = f"ours: {noise}: {RULES[rule]} above {RULES[other]}"
            result.append(above(text, at(rule, noise), at(other, noise)))
    return result
