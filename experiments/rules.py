"""The rules of the experiments, by the names that cells and records hold.

Those of `dris.RULES` under their own names, and the variants that studies compare, whose names
state every parameter: "hybrid(beta=0.25)". Cells hold the name alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris import RULES as NAMED
from dris import SCORES, Dynamics, InputError, Rule, normalized_ranks
from experiments.dris_internals import CHOOSERS, DETECTORS, SMOOTHING

Ensemble = Literal["plain", "planted", "unseen", "product"]
SHARES = (0.25, 0.5, 0.75)


def margin_and_rank(dynamics: Dynamics) -> NDArray[np.float64]:
    """The mean of an example's ranks by AUM and by mean rank, in (0, 1]; larger: looks right."""
    by_margin, by_rank = SCORES["aum_mean"](dynamics), -SCORES["consensus"](dynamics)
    return np.asarray((normalized_ranks(by_margin) + normalized_ranks(by_rank)) / 2)


# Detectors that were tried beside the margin and not taken (docs/decisions/16-gated-default.md).
DETECTORS["mean_rank"] = lambda dynamics: [-SCORES["consensus"](dynamics)]
DETECTORS["margin_and_rank"] = lambda dynamics: [margin_and_rank(dynamics)]


def _variant(title: str, **how: Any) -> Rule:
    base = how.get("score", how.get("method"))
    told = {name: value for name, value in how.items() if value != base}
    words = (f"{n}={v:g}" if isinstance(v, float) else f"{n}={v}" for n, v in told.items())
    return Rule(name=f"{base}({', '.join(words)})", title=title, **how)


def hybrid(beta: float, **how: Any) -> Rule:
    """Rank variance mixed with the gradient norm, in one of three readings of table 8."""
    reading = {"draw": ", drawn", "": ""}[how.get("method", "")]
    reading += ", norms scaled" if how.get("scaled") else ""
    return _variant(f"Hybrid{reading}, β = {beta:g}", score="hybrid", **how, beta=float(beta))


def mixed(share: float) -> Rule:
    """A share of the subset by rank variance, the rest drawn uniformly."""
    title = f"DR-IS and {1 - share:.0%} uniform"
    return _variant(title, score="rank_variance", method="mix", share=share)


def scored_at(epoch: int) -> Rule:
    """DR-IS with the proxies as they were after an epoch."""
    return _variant(f"DR-IS at epoch {epoch}", score="rank_variance", epoch=epoch)


def gate(detector: str, recall: float, chooser: str, *, fill: bool = False) -> Rule:
    """Another gate than the default one, or another chooser behind it."""
    title = f"gate on {detector.replace('_', ' ')} at {recall} + {chooser.replace('_', ' ')}"
    how = {"detector": detector, "recall": recall, "chooser": chooser}
    return _variant(
        title + (", filled up" if fill else ""),
        method="gated",
        **how,
        **({"fill": True} if fill else {}),
    )


_VARIANTS = (
    *(hybrid(beta) for beta in (*SHARES, 1.0)),
    *(hybrid(beta, scaled=True) for beta in SHARES),
    *(hybrid(beta, method="draw") for beta in (0.0, *SHARES, 1.0)),
    *(mixed(share) for share in SHARES),
    *(scored_at(epoch) for epoch in range(1, 41)),
    *(gate("margin", 0.9, chooser) for chooser in CHOOSERS),
    gate("margin", 0.9, "half_el2n", fill=True),
    gate("margin", 0.8, "el2n"),
    gate("margin", 0.95, "el2n"),
    gate("mean_rank", 0.9, "el2n"),
    gate("margin_and_rank", 0.9, "el2n"),
)
_ON_PRODUCT = " on dris prune's proxies"
PEERS = tuple(f"{name}{_ON_PRODUCT}" for name in ("confident_learning_remove", "aum_mean_remove"))
"""Rules of others that read the very proxies and folds of `dris.prune`."""

RULES: dict[str, Rule] = {**NAMED, **{rule.name: rule for rule in _VARIANTS}}


def rule_of(name: str) -> Rule:
    """The rule of a cell.

    >>> rule_of("hybrid(beta=0.25)").beta, rule_of("aum") is NAMED["aum"]
    (0.25, True)
    """
    name = name.removesuffix(_ON_PRODUCT)
    if name not in RULES:
        raise InputError(f"no rule of an experiment is called {name!r}")
    return RULES[name]


def title_of(name: str) -> str:
    """What tables call a rule.

    >>> title_of("aum"), title_of("hybrid(beta=0.25)"), title_of(PEERS[0])
    ('AUM, top', 'Hybrid, β = 0.25', 'Confident learning, same proxies')
    """
    if name == "recommended":
        return "dris prune"
    return rule_of(name).title + (", same proxies" if name in PEERS else "")


def titles_of(names: Iterable[str]) -> dict[str, str]:
    """Rules by name, each with its title.

    >>> titles_of(["aum"])
    {'aum': 'AUM, top'}
    """
    return {name: title_of(name) for name in names}


def ensemble_of(name: str) -> Ensemble:
    """On which proxies a rule runs.

    Trained on the given labels ("plain"), on labels with canaries in them ("planted", whose
    choosing part it may look at), measured where they did not train ("unseen"), or those of
    `dris.prune` ("product").

    >>> ensemble_of("el2n"), ensemble_of("gated"), ensemble_of(PEERS[1])
    ('plain', 'planted', 'product')
    """
    if name in PEERS:
        return "product"
    rule = rule_of(name)
    if rule.method == "remove_negative":
        return "unseen"
    return "planted" if rule.needs_canaries or rule.method.startswith("clean") else "plain"


@dataclass(frozen=True, slots=True)
class Sampler:
    """What an online target draws by, how its draws are weighed, and the smoothing of its plan.

    >>> Sampler("dr_is").name, Sampler("dr_is", 0.0).name, Sampler("dr_is", smoothing=0.5).name
    ('dr_is', 'dr_is(weights=0)', 'dr_is(smoothing=0.5)')
    """

    plan: str
    weight_exponent: float = 1.0
    smoothing: float = SMOOTHING

    @property
    def name(self) -> str:
        """As cells and records hold it."""
        told = [f"weights={self.weight_exponent:g}"] if self.weight_exponent != 1 else []
        told += [f"smoothing={self.smoothing:g}"] if self.smoothing != SMOOTHING else []
        return f"{self.plan}({', '.join(told)})" if told else self.plan


PLANS = {
    "uniform": "Uniform SGD",
    "standard_is": "Standard IS",
    "rho_approximate": "RHO-LOSS (approx.)",
    "rho_faithful": "RHO-LOSS (faithful)",
    "dr_is": "DR-IS-online",
    "loss_is": "Loss IS",
    "uniform_hybrid": "Uniform hybrid",
    "gated": "DR-IS-online by P(wrong)",  # ours: q ∝ (1 − P(wrong)) · (σ̂² + ξ·mean(σ̂²))
}
SAMPLERS = {
    sampler.name: sampler
    for sampler in (
        *(Sampler(plan, exponent) for plan in PLANS for exponent in (1.0, 0.0)),
        *(Sampler("dr_is", smoothing=xi) for xi in (0.05, 0.2, 0.5)),
    )
}
