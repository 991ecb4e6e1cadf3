"""One function a check: do the paper's assumptions hold, can these proxies be used, which noise?

Everywhere `planted` marks canaries, examples whose labels were flipped on purpose before the
proxies trained, and suspects are labels that most proxies contradict. The numbers behind the
thresholds are in docs/decisions/17-verdict.md.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.chances import chance_of_at_most
from dris.core.dynamics.dynamics import Dynamics
from dris.core.noise.assessment import Assessment, contradicted_by_most
from dris.core.scores.formulas import aum_mean
from dris.core.scores.ranks import doubled_ranks, normalized_ranks, rank_variance
from dris.core.subset import top_mask
from dris.core.validate import check_mask, check_score, count_of

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

FEWEST_CANARIES = 20  # fewer say nothing about a share of one in ten
UPPER_HALF = 0.9  # 1 − γ at τ = 1/2, which leaves room for any ε below Huber's 1/2
MOVES = 0.05  # a rank that moves by five hundredths between proxies
MOVING = 0.1  # at least one example in ten does
CONTESTED = 0.005  # one example in two hundred
TRIM = 0.1  # α_trim: the tail of the corrupted that may be as unstable as it likes
COPIES = 0.01  # ranks of two proxies that differ less on average are those of one proxy
AGREEMENT = 0.05  # rank correlation; that of shuffled ranks is 1/√N, give or take
ABOVE_CHANCE = 0.05  # of the way from chance to perfect
FEW_SUSPECTS = 0.05  # fewer are put down to hard examples: clean digits have up to 0.04
MORE_PLAUSIBLE = 0.6  # AUROC of suspects over planted ones; 0.5 is "alike"
FAR_MORE_PLAUSIBLE = 0.75  # from here on no limit is given; uniform noise on digits 0.5 to 0.6
FEWEST_OF_A_CLASS = 5
HIDING = "labels are wrong both ways between classes"
MILDER = "wrong labels hide no better than canaries"
KINDS_ALIKE = "kinds of canaries pass alike"
ONE_WAY = 0.0001  # p below which they are not
SURER, FEW_SURE = 0.3, 20  # of the examples taken for a class, those looked at
NARROW = frozenset({"differ", "spread"})  # too few of the proxies have a view of their own
BROKEN = frozenset({"above chance", "agree"})  # one proxy at least is
HEAVY_SHARE = 0.3  # of suspects; at a true ε of 0.25 we saw 0.2 to 0.27, at 0.4 0.34 to 0.42
Outcome = Literal["holds", "fails", "cannot tell"]
_Spoilt = Literal["proxies unusable", "memorised", "inverted", "too easy"]
_Noisy = Literal["natural noise", "heavy noise", "moderate noise"]
Regime = Literal[_Spoilt, _Noisy, "small class", "clean"]
# What a failed check makes of the data; the first that applies counts. Copies make every other
# check meaningless. A broken proxy shows as inversion as well, which says more: how it hurts.
_REGIMES: tuple[tuple[frozenset[str], Regime], ...] = (
    (NARROW, "proxies unusable"),
    (frozenset({"memorised"}), "memorised"),
    (frozenset({"inversion"}), "inverted"),
    (BROKEN, "proxies unusable"),
    (frozenset({"contested"}), "too easy"),
    (frozenset({"natural"}), "natural noise"),
)


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what was asked, the answer of three, the number behind it and why."""

    name: str
    outcome: Outcome
    number: float
    threshold: float
    reason: str

    def __str__(self) -> str:
        known = not math.isnan(self.number)
        many = ",.0f" if abs(self.number) >= 1000 else ".3g"
        numbers = f" ({self.number:{many}}, threshold {self.threshold:.3g})" if known else ""
        return f"{self.name}: {self.outcome}{numbers}: {self.reason}"


def auroc(score: ArrayLike, marked: ArrayLike) -> float:
    """The chance that a marked example has a larger score than an unmarked one, ties half."""
    s = check_score(score)
    mark = check_mask(marked, len(s), "marked")
    inside = int(mark.sum())
    doubled = int(doubled_ranks(s)[mark].sum(dtype=np.uint64))
    return (doubled / 2 - inside * (inside + 1) / 2) / (inside * (len(s) - inside))


def _at_least(name: str, number: float, threshold: float, reason: str) -> Check:
    return Check(name, "holds" if number >= threshold else "fails", number, threshold, reason)


def _three_ways(*, fails: bool, holds: bool) -> Outcome:
    return "fails" if fails else "holds" if holds else "cannot tell"


def _too_few(name: str, planted: Mask) -> Check | None:
    """The answer "cannot tell" when there are too few canaries to say anything."""
    m = int(planted.sum())
    if m >= FEWEST_CANARIES:
        return None
    reason = f"{m} canaries are too few; at least {FEWEST_CANARIES} are needed"
    return Check(name, "cannot tell", m, FEWEST_CANARIES, reason)


def rank_concentration(ranks: Floats, planted: Mask) -> Check:
    """Assumption 2: the share of (proxy, canary) ranks in the upper half; larger is better."""
    name = "canaries rank high (assumption 2)"
    if (few := _too_few(name, planted)) is not None:
        return few
    number = float((ranks[:, planted] >= 0.5).mean())
    reason = (
        f"{100 * number:.0f} % of the canaries' ranks are in the upper half, where errors belong"
    )
    return _at_least(name, number, UPPER_HALF, reason)


def rank_spread(variance: Floats, planted: Mask) -> Check:
    """Assumption 3: the share of examples whose rank moves between proxies; larger is better."""
    number = float((np.sqrt(variance[~planted]) >= MOVES).mean())
    reason = (
        f"the rank of {100 * number:.0f} % of examples moves by {MOVES} or more between proxies; "
        "with copies of one proxy none would"
    )
    return _at_least("proxies disagree somewhere (assumption 3)", number, MOVING, reason)


def enough_boundary(variance: Floats, planted: Mask, keep: float) -> Check:
    """The share whose rank varies more than nine in ten canaries' (Theorem 1, part iii)."""
    name = "enough boundary examples for this α"
    if (few := _too_few(name, planted)) is not None:
        return few
    bulk = np.quantile(variance[planted], 1 - TRIM, method="lower")
    number = float((variance[~planted] > bulk).mean())
    reason = (
        f"the ranks of {100 * number:.0f} % of examples vary more than nine in ten canaries; "
        "Theorem 1 (iii) asks for the keep fraction α"
    )
    return _at_least(name, number, keep, reason)


def not_inverted(chosen: Mask, planted: Mask, level: float) -> Check:
    """Whether rank variance rejects planted labels; "fails" when it collects them.

    The number is the share of canaries in the subset over that of all examples: 1 if it were blind.
    """
    n, m, size, x = planted.size, int(planted.sum()), int(chosen.sum()), int(chosen[planted].sum())
    rejects = chance_of_at_most(x, total=n, marked=m, drawn=size)
    # At least x canaries inside is at most m − x of them outside.
    collects = chance_of_at_most(m - x, total=n, marked=m, drawn=n - size)
    outcome = _three_ways(fails=collects <= level, holds=rejects <= level)
    reason = (
        f"its subset holds {x} of {m} canaries, a random one would hold {m * size / n:.0f} "
        f"(exact one-sided test at {level:.2g}, p = {min(collects, rejects):.2g})"
    )
    return Check("rank variance rejects canaries", outcome, (x / m) / (size / n), 1.0, reason)


def disagreement_matters(correct: NDArray[np.bool_], planted: Mask) -> Check:
    """The share of examples that some proxy, in some epoch, got right and some got wrong."""
    right = correct[:, :, ~planted]
    number = float((right.any(axis=(0, 1)) & ~right.all(axis=(0, 1))).mean())
    reason = (
        f"{100 * number:.1f} % of examples were right for one proxy or epoch, wrong for another; "
        "on data that is too easy none is"
    )
    return _at_least("proxies disagree on some labels", number, CONTESTED, reason)


def proxies_complete(provenance: Mapping[str, Any], proxies: int) -> Check:
    """Whether every proxy that was asked for finished; the number is how many did."""
    missing = [str(m) for m in provenance.get("missing", ())]
    reason = "; ".join(missing) or f"all {proxies} finished"
    return _at_least("proxies finished", proxies, proxies + len(missing), reason)


def proxies_differ(loss: NDArray[np.floating]) -> Check:
    """Whether no two proxies are copies: the mean difference of ranks of the two most alike."""
    ranks = normalized_ranks(loss)
    pairs = {
        (j, k): float(np.abs(ranks[j] - ranks[k]).mean())
        for j, k in itertools.combinations(range(len(ranks)), 2)
    }
    (j, k), number = min(pairs.items(), key=lambda pair: pair[1])
    reason = (
        f"proxies {j} and {k} are the most alike; the number is how far their ranks differ on "
        "average, and copies do not differ"
    )
    return _at_least("proxies differ", number, COPIES, reason)


def proxies_above_chance(
    right: NDArray[np.bool_], labels: Labels, *, one_is_enough: bool = False
) -> Check:
    """Whether each proxy learned something: accuracy of the worst, classes weighing alike."""
    classes = np.unique(labels)
    accuracy = np.mean([right[:, labels == c].mean(axis=1) for c in classes], axis=0)
    worst = int(accuracy.argmax() if one_is_enough else accuracy.argmin())
    chance = 1 / len(classes)
    threshold = chance + ABOVE_CHANCE * (1 - chance)
    outcome: Outcome = "holds" if accuracy[worst] > threshold else "fails"
    reason = (
        f"proxy {worst} is the {'best' if one_is_enough else 'worst'} on the given labels; one "
        f"answer for every row would reach {chance:.3g}"
    )
    return Check("proxies above chance", outcome, float(accuracy[worst]), threshold, reason)


def proxies_agree(ranks: Floats) -> Check:
    """The lowest correlation of one proxy's ranks with the mean of the others'."""
    others = (ranks.sum(axis=0) - ranks) / (len(ranks) - 1)
    values = [_correlation(mine, rest) for mine, rest in zip(ranks, others, strict=True)]
    odd = int(np.argmin(values))
    reason = (
        f"proxy {odd} agrees the least with the others, by rank correlation; shuffled ranks "
        "would be at 0"
    )
    return _at_least("proxies agree on what is hard", values[odd], AGREEMENT, reason)


def _correlation(a: Floats, b: Floats) -> float:
    """Pearson's, zero where one of the two is constant."""
    u, v = a - a.mean(), b - b.mean()
    scale = float(np.sqrt((u * u).sum() * (v * v).sum()))
    return float((u * v).sum()) / scale if scale > 0 else 0.0


def not_memorised(right: NDArray[np.bool_], planted: Mask, classes: int, level: float) -> Check:
    """Whether proxies still contradict planted labels, by an exact one-sided binomial test.

    The number is the share of canaries whose planted label most proxies give.
    """
    from scipy.stats import binom

    name = "canaries are not memorised"
    if (few := _too_few(name, planted)) is not None:
        return few
    given = right.mean(axis=0) > 0.5
    threshold = max(1 / classes, float(given[~planted].mean()) / 2)
    m, x = int(planted.sum()), int(given[planted].sum())
    above, below = binom.sf(x - 1, m, threshold), binom.cdf(x, m, threshold)
    reason = (
        f"most proxies give {x} of {m} canaries their flipped label (exact one-sided test at "
        f"{level:.2g})"
    )
    outcome = _three_ways(fails=above <= level, holds=below <= level)
    return Check(name, outcome, x / m, threshold, reason)


def estimate_suspect_share(suspects: Mask, planted: Mask, hidden: int) -> float:
    """The share of suspects among other examples, less `hidden` canaries; no bound on ε."""
    rest = ~planted
    expected = hidden * float(suspects[planted].mean())
    return max(0.0, float(suspects[rest].sum()) - expected) / (int(rest.sum()) - hidden)


def plausibility(loss: NDArray[np.floating], margin: NDArray[np.floating], classes: int) -> Floats:
    """How plausible a proxy that prefers another label finds the given one, mean over proxies.

    p_y/(1 − p_top), the label's part of what the favourite leaves over: about 1/(C − 1) for a
    random wrong class, up to 1 for the runner-up. With two classes that is always 1, so there it is
    the margin. nan where no proxy prefers another label.
    """
    own, lead = np.asarray(loss, dtype=np.float64), np.asarray(margin, dtype=np.float64)
    against = lead <= 0
    if classes == 2:
        value = lead
    else:
        # p_top = p_y·exp(−margin); rounding may put it at 1, or the ratio above 1.
        left_over = -np.expm1(np.minimum(-own - lead, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.minimum(np.exp(-own) / left_over, 1.0)
        value = np.where(left_over > 0, value, 0.0)
    count = against.sum(axis=0)
    total = np.where(against, value, 0.0).sum(axis=0)
    mean = np.full(count.shape, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def noise_like_planted(
    suspects: Mask, plausible: Floats, planted: Mask, share: float, level: float
) -> Check:
    """Whether suspects look like planted labels; "fails" when they are more plausible.

    Natural noise confuses what looks alike, and so do hard examples whose labels are right. The
    number is the chance that a suspect is more plausible than a suspect canary (1/2 is alike).
    Never "holds": wrong labels that every proxy believes leave no sign.
    """
    name = "wrong labels look like canaries"
    compared = _compare(name, suspects, plausible, planted, share)
    if isinstance(compared, Check):
        return compared
    number, p = compared
    outcome: Outcome = "cannot tell"
    test = f"(rank test at {level:.2g}, p = {p:.2g})"
    reason = f"no sign of natural noise {test}, but errors that follow a pattern in the columns "
    reason += "leave none; audit a random sample"
    if number >= MORE_PLAUSIBLE and p <= level:
        outcome = "fails"
        reason = (
            f"{100 * share:.0f} % of the labels are suspects, and models find them more plausible "
        )
        reason += f"than canaries {test}: natural noise, or hard examples"
    return Check(name, outcome, number, MORE_PLAUSIBLE, reason)


def no_milder_than_planted(
    suspects: Mask, detector: Floats, planted: Mask, share: float, level: float
) -> Check:
    """Whether the detector, larger for cleaner labels, sees suspects as clearly as canaries.

    The number is the chance that a suspect looks cleaner than a suspect canary (1/2 is alike). A
    failure puts wrong labels on hard examples, and limits read off these canaries are too good. For
    proxies without folds: hard examples whose labels are right set it off as well.
    """
    compared = _compare(MILDER, suspects, detector, planted, share)
    if isinstance(compared, Check):
        return compared
    number, p = compared
    outcome: Outcome = "fails" if number >= MORE_PLAUSIBLE and p <= level else "holds"
    reason = (
        "the number is how often a suspect looks cleaner than a suspect canary (rank test at "
        f"{level:.2g}, p = {p:.2g})"
    )
    if outcome == "fails":
        reason += "; limits from these canaries are too good, add some on hard examples"
    return Check(MILDER, outcome, number, MORE_PLAUSIBLE, reason)


def _compare(
    name: str, suspects: Mask, value: Floats, planted: Mask, share: float
) -> Check | tuple[float, float]:
    """AUROC of suspects over suspect canaries and its one-sided p, if enough are suspects."""
    from scipy.stats import mannwhitneyu

    known, others = value[suspects & planted], value[suspects & ~planted]
    if (few := _too_few(name, suspects & planted)) is not None:
        return few
    if share < FEW_SUSPECTS or others.size == 0:
        reason = f"only {100 * share:.1f} % of the other labels are suspects: too few to compare"
        return Check(name, "cannot tell", share, FEW_SUSPECTS, reason)
    both = np.r_[others, known]
    number = auroc(both, np.arange(both.size) < others.size)
    if both.min() == both.max():
        return number, 1.0
    return number, float(mannwhitneyu(others, known, alternative="greater").pvalue)


def errors_go_both_ways(
    guess: Labels | None,
    certainty: Floats | None,
    labels: Labels,
    planted: Mask,
    names: Sequence[str] = (),
) -> Check:
    """Whether labels are as often wrong from one class to another as the other way round.

    Random errors are. Of the examples that out-of-fold proxies take for a class, the surest three
    tenths are looked at; for each pair of classes, those of each that carry the other's label are
    counted. The number is the smallest two-sided binomial p, times the count of pairs. Otherwise
    wrong labels follow a habit that no canary has, and limits read off canaries are too good.
    """
    from scipy.stats import binomtest

    unknown = partial(Check, HIDING, "cannot tell", 1.0, ONE_WAY)
    if guess is None or certainty is None:
        return unknown("this needs predictions for rows that the proxy did not train on; use folds")
    classes = 1 + max(int(labels.max()), int(guess.max()))
    seen = np.where(planted, -1, guess)
    looked, carried = np.zeros(classes, dtype=np.int64), np.zeros((classes, classes), np.int64)
    for c in np.unique(seen[seen >= 0]).tolist():
        at = np.flatnonzero(seen == c)
        count = min(at.size, max(FEW_SURE, int(SURER * at.size)))
        sure = at[np.argsort(-certainty[at], kind="stable")[:count]]
        looked[c] = count
        carried[c] = np.bincount(labels[sure], minlength=classes)
    both = np.tril(carried + carried.T, -1) * np.outer(looked > 0, looked > 0)
    pairs = np.argwhere(both >= FEWEST_OF_A_CLASS).tolist()
    if not pairs:
        return unknown("too few sure examples carry another label")
    chances = [
        binomtest(
            int(carried[a, b]), int(both[a, b]), float(looked[a] / (looked[a] + looked[b]))
        ).pvalue
        for a, b in pairs
    ]
    worst = int(np.argmin(chances))
    a, b = pairs[worst]
    number = min(1.0, chances[worst] * len(pairs))
    outcome: Outcome = "fails" if number <= ONE_WAY else "holds"
    one, other = (f'"{names[c]}"' if names else f"class {c}" for c in (a, b))
    reason = (
        f"of {looked[a]:,} that are surely {one}, {carried[a, b]:,} are labelled {other}; of "
        f"{looked[b]:,} that are surely {other}, {carried[b, a]:,} are labelled {one} (binomial "
        f"test, {len(pairs):,} {'pair' if len(pairs) == 1 else 'pairs'} of classes)"
    )
    if outcome == "fails":
        reason += "; limits from canaries are too good, audit a random sample"
    return Check(HIDING, outcome, number, ONE_WAY, reason)


def kinds_alike(first: tuple[int, int], second: tuple[int, int], level: float) -> Check:
    """Whether canaries of two kinds, given as (passed, planted), pass equally often."""
    from scipy.stats import fisher_exact

    (a, m), (b, n) = first, second
    p = float(fisher_exact(np.array([[a, m - a], [b, n - b]])).pvalue)
    outcome: Outcome = "fails" if p <= level else "holds"
    reason = f"{a} of {m} and {b} of {n} pass; Fisher's exact test at {level:.2g}, p = {p:.2g}"
    return Check(KINDS_ALIKE, outcome, abs(a / m - b / n), 0.0, reason)


def classes_survive(labels: Labels, keep: float, names: Sequence[str] = ()) -> Check:
    """Whether α leaves a handful of every class; the number is α times the smallest class."""
    classes, sizes = np.unique(labels, return_counts=True)
    worst = int(sizes.argmin())
    number = float(keep * sizes[worst])
    name = f'"{names[classes[worst]]}"' if names else f"class {classes[worst]}"
    reason = f"{name} has {sizes[worst]:,} examples, of which a random subset keeps {int(number):,}"
    return _at_least("no class vanishes", number, FEWEST_OF_A_CLASS, reason)


def starved_class(kept: Mask, labels: Labels) -> tuple[int, int] | None:
    """The class that keeps least, and how many, if that is less than a handful."""
    classes = np.unique(labels)
    counts = [int(kept[labels == c].sum()) for c in classes]
    least = int(np.argmin(counts))
    return None if counts[least] >= FEWEST_OF_A_CLASS else (int(classes[least]), counts[least])


@dataclass(frozen=True, slots=True)
class CheckResults:
    """What the choosing canaries show."""

    checks: Mapping[str, Check]  # by name
    suspect_share: float  # an estimate of ε, not a bound
    cross_fitted: bool = False

    @property
    def regime(self) -> Regime:
        """What kind of data this looks like."""
        fails = {name for name, check in self.checks.items() if check.outcome == "fails"}
        if self.cross_fitted:  # out of fold, proxies need not differ and may memorise
            fails -= NARROW | {"memorised"}
        for names, regime in _REGIMES:
            if fails & names:
                return regime
        if self.suspect_share >= HEAVY_SHARE:
            return "heavy noise"
        if self.suspect_share >= FEW_SUSPECTS:
            return "moderate noise"
        return "small class" if "classes" in fails else "clean"


def run_checks(
    dynamics: Dynamics,
    planted: Mask,
    given: Labels,
    *,
    keep: float,
    level: float,
    hidden: int = 0,
    assessment: Assessment | None = None,
    names: Sequence[str] = (),
) -> CheckResults:
    """Run every check on dynamics whose proxies trained on planted labels.

    `planted` marks the canaries that may be looked at, `hidden` counts the others; `given` are the
    labels before planting; `level` is one test's.
    """
    loss, right = dynamics.snapshot("loss"), dynamics.snapshot("correct")
    labels, suspects = np.asarray(dynamics.labels), contradicted_by_most(right)
    ranks, variance, classes = normalized_ranks(loss), rank_variance(loss), int(labels.max()) + 1
    chosen = top_mask(variance, count_of(keep, variance.size), seed=0, ids=dynamics.ids)
    share = estimate_suspect_share(suspects, planted, hidden)
    plausible = plausibility(loss, dynamics.snapshot("margin"), classes)
    folds = dynamics.out_of_fold is not None
    seen = (None, None) if assessment is None else (assessment.guess, assessment.certainty)
    # In the order in which people read them: a new one is a function and a line here.
    checks = {
        "complete": proxies_complete(dynamics.provenance, dynamics.proxies),
        "differ": proxies_differ(loss),
        "above chance": proxies_above_chance(
            right[:, ~planted], labels[~planted], one_is_enough=folds
        ),
        "agree": proxies_agree(ranks),
        "memorised": not_memorised(right, planted, classes, level),
        "concentration": rank_concentration(ranks, planted),
        "spread": rank_spread(variance, planted),
        "boundary": enough_boundary(variance, planted, keep),
        "inversion": not_inverted(chosen, planted, level),
        "contested": disagreement_matters(dynamics.correct, planted),
        "natural": noise_like_planted(suspects, plausible, planted, share, level),
        "hiding": errors_go_both_ways(*seen, labels, planted, names)
        if folds
        else no_milder_than_planted(suspects, aum_mean(dynamics), planted, share, level),
        "classes": classes_survive(given, keep, names),
    }
    return CheckResults(checks, share, folds)
