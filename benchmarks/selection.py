"""The top quarter of N = 10^7 scores, against one np.partition of the same array."""

import numpy as np

from dris.core.select.selection import keep_top
from measure import finish, report, side_by_side

N = 10_000_000


def main() -> None:
    """Continuous scores, and scores with a tenth of exact zeros."""
    rng = np.random.default_rng(0)
    continuous = rng.random(N)
    with_zeros = np.where(rng.random(N) < 0.1, 0.0, continuous)
    for name, score in (("continuous", continuous), ("10 % zeros", with_zeros)):
        partition, ours = side_by_side(
            lambda s=score: np.partition(s, N - N // 4),
            lambda s=score: keep_top(s, fraction=0.25),
            rounds=5,
        )
        print(f"{name}: np.partition {partition:.3f} s, keep_top {ours:.3f} s")
        report(f"keep_top over np.partition, {name}", ours / partition, "x", 2, at_least=False)
    finish()


if __name__ == "__main__":
    main()
