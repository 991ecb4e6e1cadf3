"""One example at a time, with `math` only: what the recorder is checked against."""

import math
from collections.abc import Sequence


def thoughts(logits: Sequence[float], label: int) -> dict[str, float | bool]:
    """Loss, margin, correctness and error norm of one example."""
    top = max(logits)
    masses = [math.exp(z - top) for z in logits]
    p = [m / sum(masses) for m in masses]
    others = [z for c, z in enumerate(logits) if c != label]
    errors = [q - (c == label) for c, q in enumerate(p)]
    return {
        "loss": math.log(sum(masses)) + top - logits[label],
        "margin": logits[label] - max(others),
        "correct": list(logits).index(top) == label,
        "error_norm": math.sqrt(sum(e * e for e in errors)),
    }


def last_layer_gradient(
    logits: Sequence[float], label: int, features: Sequence[float]
) -> list[float]:
    """d loss / d (W, b), entry by entry: (p_c − [c = y])·φ_j, the bias having φ = 1."""
    top = max(logits)
    masses = [math.exp(z - top) for z in logits]
    return [
        (m / sum(masses) - (c == label)) * phi
        for c, m in enumerate(masses)
        for phi in [*features, 1.0]
    ]


def forgotten(history: Sequence[bool]) -> int:
    """How often an example was right in one epoch and wrong in the next."""
    return sum(1 for e in range(1, len(history)) if history[e - 1] and not history[e])
