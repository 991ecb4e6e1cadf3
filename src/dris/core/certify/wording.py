"""A certificate in words: a verdict, a table of both radii, and what else is to be said."""

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dris.core.certify.separation import Bound, Certificate


def text_of(c: "Certificate") -> str:
    """The whole certificate: the verdict first, then both radii side by side."""
    kind = "identical" if c.identical else "not identical"
    lines = [
        f"Theorem 1: N = {c.n:,}, K = {c.k:,} proxies ({kind}), δ = {c.delta:g}, "
        f"keep α = {c.keep:g}, ε = {c.epsilon:g}",
        _verdict(c),
        _row("", "paper's radius", "tighter radius"),
        _row("radius", *(f"{b.radius:.3g}" for b in (c.paper, c.tight))),
        _row("corrupted bulk at most θ*", *map(_threshold, (c.paper, c.tight))),
        _row("boundary at least", *map(_floor, (c.paper, c.tight))),
        _row("gap Δ' (must exceed 2 · radius)", *(f"{b.gap:.3g}" for b in (c.paper, c.tight))),
        _row("corrupted share of the subset", *map(_contamination, (c.paper, c.tight))),
        _row("K that separates", *(_proxies(b.smallest_k) for b in (c.paper, c.tight))),
        _row(
            "the same, best imaginable case",
            *(_proxies(b.smallest_k_best_case) for b in (c.paper, c.tight)),
        ),
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


def _verdict(c: "Certificate") -> str:
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


def _row(name: str, paper: str, tight: str) -> str:
    return f"  {name:<32} {paper:<18} {tight}".rstrip()


def _threshold(b: "Bound") -> str:
    return f"{b.threshold:.3g}" + " (vacuous)" * b.threshold_vacuous


def _floor(b: "Bound") -> str:
    return f"{b.boundary_floor:.3g}" + " (vacuous)" * b.floor_vacuous


def _contamination(b: "Bound") -> str:
    return "no bound" if b.contamination is None else f"{b.contamination:.2%}"


def _proxies(k: int | None) -> str:
    if k is None:
        return "no K"
    return f"{k:,}" if k < 10**9 else f"{Decimal(k):.3g}"
