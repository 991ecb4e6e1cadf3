"""A certificate in words: the verdict, a table of both radii, and the conditions."""

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dris.core.certify.separation import Bound, Certificate

_ROWS: dict[str, "Callable[[Bound], str]"] = {
    "radius": lambda b: f"{b.radius:.3g}",
    "corrupted bulk at most θ*": lambda b: f"{b.threshold:.3g}" + _vacuous(b.threshold_vacuous),
    "boundary at least": lambda b: f"{b.boundary_floor:.3g}" + _vacuous(b.floor_vacuous),
    "gap Δ' (must exceed 2 · radius)": lambda b: f"{b.gap:.3g}",
    "corrupted share of the subset": lambda b: (
        "no bound" if b.contamination is None else f"{b.contamination:.2%}"
    ),
    "K that separates": lambda b: _proxies(b.smallest_k),
    "the same, best imaginable case": lambda b: _proxies(b.smallest_k_best_case),
}


def text_of(c: "Certificate") -> str:
    """The whole certificate: the verdict first, then both radii side by side."""
    kind = "identical" if c.identical else "not identical"
    lines = [
        f"Theorem 1: N = {c.n:,}, K = {c.k:,} proxies ({kind}), δ = {c.delta:g}, "
        f"keep α = {c.keep:g}, ε = {c.epsilon:g}",
        _verdict(c),
        _row("", "paper's radius", "tighter radius"),
        *(_row(name, shown(c.paper), shown(c.tight)) for name, shown in _ROWS.items()),
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


def _vacuous(is_so: bool) -> str:
    return " (vacuous)" if is_so else ""


def _proxies(k: int | None) -> str:
    if k is None:
        return "no K"
    return f"{k:,}" if k < 10**9 else f"{Decimal(k):.3g}"
