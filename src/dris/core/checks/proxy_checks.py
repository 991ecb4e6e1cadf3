"""Can these proxies be used at all? Whether they are all there, differ, work and agree."""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.chances import at_least, at_most
from dris.core.checks.assumption_checks import Floats, Mask, too_few
from dris.core.checks.diagnostics import Check, Outcome
from dris.core.scores.ranks import normalized_ranks

COPIES = 0.01  # ranks of two proxies that differ less on average are those of one proxy
AGREEMENT = 0.05  # rank correlation; that of shuffled ranks is 1/√N, give or take
ABOVE_CHANCE = 0.05  # of the way from chance to perfect


def proxies_complete(provenance: Mapping[str, Any], proxies: int) -> Check:
    """Whether every proxy that was asked for finished; the number is how many did."""
    missing = [str(m) for m in provenance.get("missing", ())]
    asked = proxies + len(missing)
    reason = "; ".join(missing) or f"all {proxies} finished"
    return Check("proxies finished", "fails" if missing else "holds", proxies, asked, reason)


def proxies_differ(loss: NDArray[np.floating]) -> Check:
    """Whether no two proxies are copies: same seed, or a model without randomness.

    The number is the mean difference of ranks between the two most alike; larger is better.
    """
    ranks = normalized_ranks(loss)
    pairs = {
        (j, k): float(np.abs(ranks[j] - ranks[k]).mean())
        for j, k in itertools.combinations(range(len(ranks)), 2)
    }
    (j, k), number = min(pairs.items(), key=lambda pair: pair[1])
    outcome: Outcome = "fails" if number < COPIES else "holds"
    reason = (
        f"proxies {j} and {k} are the most alike; threshold: that of train_proxies, networks "
        "differ by five times as much"
    )
    return Check("proxies differ", outcome, number, COPIES, reason)


def proxies_above_chance(
    right: NDArray[np.bool_], labels: NDArray[np.int64], *, one_is_enough: bool = False
) -> Check:
    """Whether each proxy learned something: the worst one's accuracy, classes weighing alike.

    `right` is (proxy, example). A proxy that says the same of everything is at 1/C exactly. Out of
    fold, where proxies that predict labels better count for more, one is enough: the best one's.
    """
    classes = np.unique(labels)
    by_class = np.array([right[:, labels == c].mean(axis=1) for c in classes])
    accuracy = by_class.mean(axis=0)
    worst = int(accuracy.argmax() if one_is_enough else accuracy.argmin())
    chance = 1 / len(classes)
    threshold = chance + ABOVE_CHANCE * (1 - chance)
    outcome: Outcome = "holds" if accuracy[worst] > threshold else "fails"
    which = "best" if one_is_enough else "worst"
    reason = (
        f"proxy {worst} is the {which} on the given labels; threshold: ours, a little above the "
        f"{chance:.3g} of a constant answer"
    )
    return Check("proxies above chance", outcome, float(accuracy[worst]), threshold, reason)


def proxies_agree(ranks: Floats) -> Check:
    """Whether each proxy finds hard what the others find hard: the odd one's rank correlation.

    The number is the lowest correlation of one proxy's ranks with the mean of the others'.
    """
    others = (ranks.sum(axis=0) - ranks) / (len(ranks) - 1)
    values = [_correlation(mine, rest) for mine, rest in zip(ranks, others, strict=True)]
    odd = int(np.argmin(values))
    outcome: Outcome = "holds" if values[odd] >= AGREEMENT else "fails"
    reason = (
        f"proxy {odd} agrees the least with the others; threshold: ours, between a proxy of "
        "shuffled ranks (0) and the loosest real ensembles we saw (0.1)"
    )
    return Check("proxies agree on what is hard", outcome, values[odd], AGREEMENT, reason)


def not_memorised(right: NDArray[np.bool_], planted: Mask, classes: int, level: float) -> Check:
    """Whether proxies still contradict planted labels at the scored epoch.

    `right` is (proxy, example). The number is the share of canaries whose planted label most
    proxies give; larger is worse. Fails (holds) when a one-sided exact binomial test puts it
    above (below) the larger of 1/C and half of what the other examples reach.
    """
    name = "planted labels are not memorised"
    if (few := too_few(name, planted)) is not None:
        return few
    given = right.mean(axis=0) > 0.5
    threshold = max(1 / classes, float(given[~planted].mean()) / 2)
    m, x = int(planted.sum()), int(given[planted].sum())
    above, below = _tails(x, m, threshold)
    outcome: Outcome = "fails" if above <= level else "holds" if below <= level else "cannot tell"
    reason = (
        f"most proxies give {x} of {m} canaries their planted label; threshold: the larger of 1/C "
        f"and half of what the others reach, exact one-sided test at {level:.2g}"
    )
    return Check(name, outcome, x / m, threshold, reason)


def _tails(x: int, m: int, p: float) -> tuple[float, float]:
    """P(X ≥ x) and P(X ≤ x) of m trials at chance p, which may be 1."""
    if p >= 1:
        return 1.0, float(x >= m)
    return float(at_least(m, p)[x]), float(at_most(m, p)[x])


def _correlation(a: Floats, b: Floats) -> float:
    """Pearson's, zero where one of the two is constant."""
    u, v = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((u * u).sum() * (v * v).sum()))
    return float((u * v).sum()) / scale if scale > 0 else 0.0
