"""Do the paper's assumptions hold on this data? Four checks on the ranks of planted labels.

Everywhere `planted` marks canaries, examples whose labels were flipped on purpose before the
proxies trained. The numbers behind the thresholds are in docs/decisions/17-verdict.md.
"""

import numpy as np
from numpy.typing import NDArray

from dris.core.chances import chance_of_at_most
from dris.core.checks.diagnostics import Check, Outcome

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

FEWEST_CANARIES = 20  # fewer say nothing about a share of one in ten
UPPER_HALF = 0.9  # 1 − γ at τ = 1/2, which leaves room for any ε below Huber's 1/2
MOVES = 0.05  # a rank that moves by five hundredths between proxies
MOVING = 0.1  # at least one example in ten does
CONTESTED = 0.005  # one example in two hundred
TRIM = 0.1  # α_trim: the tail of the corrupted that may be as unstable as it likes


def rank_concentration(ranks: Floats, planted: Mask) -> Check:
    """Assumption 2: planted labels sit at high ranks, whichever proxy is asked.

    The number is the share of (proxy, canary) ranks in the upper half; larger is better. Ranks
    that swing between high and low miss it as low ones do.
    """
    name = "planted labels rank high (assumption 2)"
    if (few := too_few(name, planted)) is not None:
        return few
    number = float((ranks[:, planted] >= 0.5).mean())
    outcome: Outcome = "holds" if number >= UPPER_HALF else "fails"
    reason = (
        f"{number:.0%} of the canaries' ranks are in the upper half; threshold: the paper's "
        "1 - γ at τ = 1/2, γ = 0.1"
    )
    return Check(name, outcome, number, UPPER_HALF, reason)


def rank_spread(variance: Floats, planted: Mask) -> Check:
    """Assumption 3: the histogram of rank variance is spread, not a spike at zero.

    The number is the share of other examples whose rank moves by 0.05 or more between proxies
    (standard deviation); larger is better. It cannot see *why* ranks move: on data so easy that
    all losses are tiny they shuffle, see `disagreement_matters`.
    """
    name = "proxies disagree somewhere (assumption 3)"
    number = float((np.sqrt(variance[~planted]) >= MOVES).mean())
    outcome: Outcome = "holds" if number >= MOVING else "fails"
    reason = (
        f"the rank of {number:.0%} of the examples moves by {MOVES} or more; threshold: ours, "
        "copies are at 0, converged linear models up to 0.17, networks from 0.3"
    )
    return Check(name, outcome, number, MOVING, reason)


def enough_boundary(variance: Floats, planted: Mask, keep: float) -> Check:
    """Whether ⌊αN⌋ examples vary more than the planted bulk (paper, Theorem 1, part iii).

    The number is the share of other examples whose rank variance exceeds that of the 90 % most
    stable canaries; larger is better. Where it falls short of α, the subset reaches down to
    where the corrupted bulk is.
    """
    name = "enough boundary examples for this α"
    if (few := too_few(name, planted)) is not None:
        return few
    bulk = np.quantile(variance[planted], 1 - TRIM, method="lower")
    number = float((variance[~planted] > bulk).mean())
    outcome: Outcome = "holds" if number >= keep else "fails"
    reason = (
        f"{number:.0%} of the examples vary more than the stablest {1 - TRIM:.0%} of the canaries; "
        "threshold: α, as Theorem 1 (iii) asks"
    )
    return Check(name, outcome, number, keep, reason)


def not_inverted(chosen: Mask, planted: Mask, level: float) -> Check:
    """Whether rank variance rejects planted labels; "fails" when it collects them.

    The number is the share of canaries in the subset over the share of all examples in it:
    below 1 it rejects, above 1 it collects. Fails or holds when a one-sided exact test
    (hypergeometric, were the subset blind to wrong labels) says so at `level`.
    """
    name = "rank variance rejects planted labels"
    n, m, size, x = planted.size, int(planted.sum()), int(chosen.sum()), int(chosen[planted].sum())
    number = (x / m) / (size / n)
    rejects = chance_of_at_most(x, total=n, marked=m, drawn=size)
    # At least x canaries inside is at most m − x of them outside.
    collects = chance_of_at_most(m - x, total=n, marked=m, drawn=n - size)
    outcome: Outcome = (
        "fails" if collects <= level else "holds" if rejects <= level else "cannot tell"
    )
    reason = (
        f"{x} of {m} canaries are in its subset, {m * size / n:.0f} would be by chance; exact "
        f"one-sided test at {level:.2g}, p = {min(collects, rejects):.2g}"
    )
    return Check(name, outcome, number, 1.0, reason)


def disagreement_matters(correct: NDArray[np.bool_], planted: Mask) -> Check:
    """Whether the data are hard enough to choose from: some examples are contested.

    `correct` is (proxy, epoch, example). The number is the share of other examples that some
    proxy got right and some got wrong, in whatever epoch; larger is better. On easy data it is
    zero while ranks of tiny losses still shuffle, so that rank variance is spread over nothing.
    """
    name = "some examples are contested"
    right = correct[:, :, ~planted]
    number = float((right.any(axis=(0, 1)) & ~right.all(axis=(0, 1))).mean())
    outcome: Outcome = "holds" if number >= CONTESTED else "fails"
    reason = (
        f"{number:.1%} of the examples were right for one proxy or epoch and wrong for another; "
        "threshold: ours, between separable clusters (0) and one epoch of clean digits (0.009)"
    )
    return Check(name, outcome, number, CONTESTED, reason)


def too_few(name: str, planted: Mask) -> Check | None:
    """The verdict "cannot tell" when there are too few canaries to say anything."""
    m = int(planted.sum())
    if m >= FEWEST_CANARIES:
        return None
    reason = f"{m} canaries are too few, plant at least {FEWEST_CANARIES} for choosing"
    return Check(name, "cannot tell", m, FEWEST_CANARIES, reason)
