"""Theorem 1 as a certificate: what K proxies prove about a subset, and which K it would take."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from dris.core.chances import first_true
from dris.core.errors import InputError
from dris.core.validate import check_count, count_of, exact

_LARGEST_VARIANCE = Fraction(1, 4)  # of anything in [0, 1], and so of ranks
_DIGITS = Context(prec=50)  # of the one irrational number here, a logarithm


@dataclass(frozen=True, slots=True)
class Bound:
    """Theorem 1 with one radius; all of it holds together with probability 1 - δ."""

    radius: float  # how far a rank variance may stray from its expectation; smaller is better
    threshold: float  # θ*, never exceeded by the corrupted bulk (part i); with e, (√θ* + e)²
    boundary_floor: float  # never undercut by a boundary example (part ii); likewise (√floor − e)²
    gap: float  # Δ', the distance between the two groups' expectations
    separates: bool  # Δ' > 2 · radius, so θ* lies between the groups; with e, √floor − √θ* > 2e too
    threshold_vacuous: bool  # θ* ≥ 1/4, which every rank variance stays under anyway
    floor_vacuous: bool  # the floor is ≤ 0, which every rank variance stays above anyway
    contamination: float | None  # largest corrupted share of the subset (paper, eq. 6)
    why_not: str | None  # why there is no bound on the contamination; None when there is one
    smallest_k: int | None  # the fewest proxies that separate with these parameters; None is "no K"
    smallest_k_best_case: int  # the same for τ = γ = 0 and τ_bdry² = 1/4: no data can need fewer


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was assumed, and Theorem 1 with the paper's radius and with the tighter valid one."""

    n: int
    k: int
    delta: float
    tau: float
    gamma: float
    tau_bdry: float
    boundary: int
    keep: float
    kept: int
    epsilon: float
    alpha_trim: float
    v_tail: float
    identical: bool
    rank_error: float
    paper: Bound
    tight: Bound

    @property
    def vacuous(self) -> bool:
        """True if nothing is certified, even by the tighter bound."""
        return self.tight.threshold_vacuous and self.tight.floor_vacuous

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain values, ready for JSON."""
        return {**asdict(self), "vacuous": self.vacuous}

    def __str__(self) -> str:
        return _text_of(self)


def certify(
    *,
    n: int,
    k: int,
    delta: float = 0.05,
    tau: float,
    gamma: float,
    tau_bdry: float,
    boundary: int,
    keep: float,
    epsilon: float,
    alpha_trim: float,
    v_tail: float,
    identical: bool = True,
    rank_error: float = 0.0,
) -> Certificate:
    """Evaluate Theorem 1: can K proxies keep corrupted examples out of the ⌊αN⌋ most disputed?

    Args:
        n: Number of examples, N.
        k: Number of independent proxies, K; at least 2.
        delta: Probability with which the certificate may fail.
        tau: Bulk corrupted examples rank in the top τ ...
        gamma: ... except with probability γ (assumption 2).
        tau_bdry: Ranks of boundary examples have at least this standard deviation (assumption 3).
        boundary: Number of boundary examples, all of them clean.
        keep: Fraction kept, α.
        epsilon: Corrupted fraction of the data, below one half.
        alpha_trim: Share of the corrupted that is not bulk: the escaping tail.
        v_tail: Mean variance of the tail's ranks (assumption 4); when the proxies are not
            identical, the mean of the tail's expected disagreement E[σ̂²].
        identical: Whether the proxies are draws from one distribution. If not (several
            architectures), each must meet the assumptions; the bounds are a little weaker.
        rank_error: e, the root mean square over proxies of how far a normalized rank may be off;
            0 when ranks are exact. It moves a rank variance σ̂² by at most 2·σ̂·e + e².

    >>> paper = dict(n=50_000, tau=0.1, gamma=0.01, tau_bdry=0.2, boundary=7_500, keep=0.25,
    ...              epsilon=0.25, alpha_trim=0.1, v_tail=0.02)
    >>> c = certify(k=3, **paper)
    >>> c.vacuous, round(c.paper.radius, 2), c.paper.smallest_k_best_case
    (True, 1.56, 467)
    """
    n, k = check_count(n, "n", 1), check_count(k, "k", 1)
    if k == 1:
        raise InputError("k must be at least 2, got 1: one proxy's variance is zero everywhere")
    kept = count_of(keep, n, "keep")
    shares = {"delta": delta, "tau": tau, "gamma": gamma, "tau_bdry": tau_bdry}
    shares |= {"epsilon": epsilon, "alpha_trim": alpha_trim, "v_tail": v_tail}
    value = {name: _check_number(number, name) for name, number in shares.items()}
    value["rank_error"] = _check_number(rank_error, "rank_error")
    boundary = check_count(boundary, "boundary", at_least=0)
    clean = n - math.floor(value["epsilon"] * n)
    if boundary > clean:
        raise InputError(
            f"boundary must be at most the {clean} clean examples (n = {n}, "
            f"epsilon = {epsilon}), got {boundary}"
        )
    if not isinstance(identical, bool):
        raise InputError(f"identical must be True or False, got {identical!r}")

    bulk = value["tau"] ** 2 / 4 + value["gamma"]
    # Markov's inequality, as a count: at most this share of the tail varies more than the bulk may.
    # When the bulk may not vary at all, a tail that does not either leaves nothing to count.
    one = Fraction(1)
    surviving = Fraction(value["v_tail"] > 0) if bulk == 0 else min(one, value["v_tail"] / bulk)
    corrupted = min(one, value["alpha_trim"] * value["epsilon"] * n / kept * surviving)

    def bound(tight: bool) -> Bound:
        log = _log(n, value["delta"], tight)
        gap = _Gap(value["tau_bdry"] ** 2, bulk, log, tight, identical, value["rank_error"])
        return _bound(gap, k, boundary, kept, float(corrupted))

    given: dict[str, Any] = {name: float(number) for name, number in value.items()}
    given |= {"n": n, "k": k, "boundary": boundary, "kept": kept, "identical": identical}
    given["keep"] = float(exact(keep, "keep"))
    return Certificate(**given, paper=bound(tight=False), tight=bound(tight=True))


@dataclass(frozen=True, slots=True)
class _Gap:
    """The two expectations and the radius, exact: at the smallest K a hair decides."""

    boundary: Fraction  # τ_bdry²
    bulk: Fraction  # τ²/4 + γ
    log: Fraction
    tight: bool
    identical: bool
    rank_error: Fraction  # e

    def floor(self, k: int) -> Fraction:
        """Least E[σ̂²] on the boundary; proxies that differ in their means only add to it."""
        return Fraction(k - 1, k) * self.boundary

    def ceiling(self, k: int) -> Fraction:
        """Largest E[σ̂²] in the bulk; proxies that are not identical lose the factor 1 - 1/K."""
        return Fraction(k - 1, k) * self.bulk if self.identical else self.bulk

    def radius_squared(self, k: int) -> Fraction:
        """McDiarmid's radius for c = 1/K (paper) or c = (K - 1)/K² (the largest change)."""
        return (Fraction(k - 1, k) if self.tight else 1) ** 2 * self.log / (2 * k)

    def separates(self, k: int) -> bool:
        gap = self.floor(k) - self.ceiling(k)
        apart = gap > 0 and gap**2 > 4 * self.radius_squared(k)
        if not apart or self.rank_error == 0:
            return apart
        # Scores of inexact ranks: (√floor − e)² must stay above (√θ* + e)².
        radius = _root(self.radius_squared(k))
        below = _root(max(Fraction(0), self.floor(k) - radius))
        return below - _root(self.ceiling(k) + radius) > 2 * self.rank_error

    def smallest_k(self) -> int | None:
        # Monotone in K, all four forms: divide Δ' > 2 · radius by 1 - 1/K. On the left stands
        # τ_bdry² minus the bulk, the latter times K/(K - 1) if not identical: it grows with K
        # towards τ_bdry² - bulk. On the right stands sqrt(2 log / K), times K/(K - 1) with the
        # paper's radius: it falls to 0. So some K separates exactly when τ_bdry² > bulk. With a
        # rank error, √floor - √θ* is sqrt(1 - 1/K) times what grows in the same way.
        exists = _root(self.boundary) - _root(self.bulk) > 2 * self.rank_error
        return _first(self.separates) if exists and self.boundary > self.bulk else None


def _bound(gap: _Gap, k: int, boundary: int, kept: int, corrupted: float) -> Bound:
    radius = math.sqrt(gap.radius_squared(k))
    distance = float(gap.floor(k) - gap.ceiling(k))
    e = float(gap.rank_error)
    threshold = _largest_variance(float(gap.ceiling(k)) + radius, e)
    floor = _smallest_variance(float(gap.floor(k)) - radius, e)
    smallest = gap.smallest_k()
    best_case = replace(gap, boundary=_LARGEST_VARIANCE, bulk=Fraction(0))
    why_not = []
    if gap.boundary <= gap.bulk:
        limit = float(gap.boundary - gap.bulk)
        why_not.append(f"τ_bdry² - τ²/4 - γ = {limit:.3g} is not positive, so no K separates")
    elif smallest is None:
        why_not.append(f"a rank error of {e:.3g} is too large for any K to separate")
    elif k < smallest and replace(gap, rank_error=Fraction(0)).separates(k):
        why_not.append(f"√floor - √θ* does not exceed twice the rank error, {2 * e:.3g}")
    elif k < smallest:
        why_not.append(f"Δ' = {distance:.3g} does not exceed twice the radius, {2 * radius:.3g}")
    if boundary < kept:
        why_not.append(
            f"the boundary set of {boundary:,} is smaller than the ⌊αN⌋ = {kept:,} kept examples"
        )
    return Bound(
        radius=radius,
        threshold=threshold,
        boundary_floor=floor,
        gap=distance,
        separates=gap.separates(k),
        threshold_vacuous=threshold >= _LARGEST_VARIANCE,
        floor_vacuous=floor <= 0,
        contamination=None if why_not else corrupted,
        why_not="; ".join(why_not) or None,
        smallest_k=smallest,
        smallest_k_best_case=_first(best_case.separates),
    )


def _largest_variance(variance: float, rank_error: float) -> float:
    """The most that ranks with this error can make of a variance: (σ + e)²."""
    return variance + 2 * math.sqrt(variance) * rank_error + rank_error**2


def _smallest_variance(variance: float, rank_error: float) -> float:
    """The least that ranks with this error can make of a variance: (σ - e)², or nothing."""
    if variance <= 0:
        return variance
    root = math.sqrt(variance)
    return variance - 2 * root * rank_error + rank_error**2 if root > rank_error else 0.0


def _root(number: Fraction) -> Fraction:
    quotient = _DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator))
    return Fraction(_DIGITS.sqrt(quotient))


def _log(n: int, delta: Fraction, tight: bool) -> Fraction:
    # The paper spends two sides on each of N examples. One is enough: a corrupted example is
    # only ever bounded from above, a clean one only from below.
    events = n / delta if tight else 2 * n / delta
    quotient = _DIGITS.divide(Decimal(events.numerator), Decimal(events.denominator))
    return Fraction(_DIGITS.ln(quotient))


def _first(true_from: Callable[[int], bool]) -> int:
    """The smallest K ≥ 2 for which a monotone condition is true."""
    low, high = 1, 2
    while not true_from(high):
        low, high = high, 2 * high
    return first_true(low, high, true_from)


_BELOW_ONE: tuple[str, Callable[[Fraction], bool]] = ("in [0, 1)", lambda x: 0 <= x < 1)
_RULES: dict[str, tuple[str, Callable[[Fraction], bool]]] = {
    "delta": ("in (0, 1)", lambda x: 0 < x < 1),
    "tau": _BELOW_ONE,
    "gamma": _BELOW_ONE,
    "tau_bdry": ("in (0, 1/2], the largest standard deviation of a rank", lambda x: 0 < 2 * x <= 1),
    "epsilon": (
        "in [0, 1/2): from one half on nothing tells the corrupted from the clean "
        "(Huber's breakdown point)",
        lambda x: 0 <= 2 * x < 1,
    ),
    "alpha_trim": _BELOW_ONE,
    "v_tail": ("in [0, 1/4], the largest variance of a rank", lambda x: 0 <= 4 * x <= 1),
    "rank_error": (
        "in [0, 1/4): from there on no two groups of ranks can be told apart",
        lambda x: 0 <= 4 * x < 1,
    ),
}


def _check_number(number: float, name: str) -> Fraction:
    rule, holds = _RULES[name]
    value = exact(number, name)
    if not holds(value):
        raise InputError(f"{name} must be {rule}, got {number}")
    return value


_ROWS: dict[str, Callable[[Bound], str]] = {
    "radius": lambda b: f"{b.radius:.3g}",
    "corrupted bulk at most θ*": lambda b: (
        f"{b.threshold:.3g}" + " (vacuous)" * b.threshold_vacuous
    ),
    "boundary at least": lambda b: f"{b.boundary_floor:.3g}" + " (vacuous)" * b.floor_vacuous,
    "gap Δ' (must exceed 2 · radius)": lambda b: f"{b.gap:.3g}",
    "corrupted share of the subset": lambda b: (
        "no bound" if b.contamination is None else f"{b.contamination:.2%}"
    ),
    "K that separates": lambda b: _proxies(b.smallest_k),
    "the same, best imaginable case": lambda b: _proxies(b.smallest_k_best_case),
}


def _text_of(c: Certificate) -> str:
    """The whole certificate: the verdict first, then both radii side by side."""
    rows = [("", "paper's radius", "tighter radius")]
    rows += [(name, shown(c.paper), shown(c.tight)) for name, shown in _ROWS.items()]
    lines = [
        f"Theorem 1: N = {c.n:,}, K = {c.k:,} proxies ({'' if c.identical else 'not '}identical), "
        f"δ = {c.delta:g}, keep α = {c.keep:g}, ε = {c.epsilon:g}",
        _verdict(c),
        *(f"  {name:<32} {paper:<18} {tight}".rstrip() for name, paper, tight in rows),
    ]
    if c.tight.why_not:
        lines.append(
            f"No bound on the contamination, even with the tighter radius: {c.tight.why_not}."
        )
    if c.rank_error:
        lines.append(
            f"Ranks may be off by e = {c.rank_error:.3g}: the bounds are on scores of such ranks, "
            "and wider by 2·σ̂·e + e² on either side."
        )
    if not c.identical:
        lines.append(
            "The proxies are not draws from one distribution: the weaker form is used, Δ' = "
            "(1 - 1/K)·τ_bdry² - τ²/4 - γ, every proxy must meet the assumptions by itself, and "
            "v_tail must bound the tail's mean expected disagreement."
        )
    return "\n".join(lines)


def _verdict(c: Certificate) -> str:
    if c.vacuous:
        return (
            f"K = {c.k:,} certifies nothing: the radius is {c.paper.radius:.3g} (tighter: "
            f"{c.tight.radius:.3g}) around a rank variance that never exceeds 0.25."
        )
    if c.tight.contamination is None:
        return f"K = {c.k:,} bounds rank variances, but not the contamination of the subset."
    return (
        f"K = {c.k:,} certifies, if the assumptions hold: with probability at least "
        f"{1 - c.delta:g}, at most {c.tight.contamination:.2%} of the {c.kept:,} kept examples "
        "are corrupted."
    )


def _proxies(k: int | None) -> str:
    if k is None:
        return "no K"
    return f"{k:,}" if k < 10**9 else f"{Decimal(k):.3g}"
