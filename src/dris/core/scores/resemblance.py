"""Two scores of the same examples side by side: do they rank alike, do they keep the same?"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dris.core.errors import InputError
from dris.core.scores.ranks import normalized_ranks
from dris.core.select.selection import keep_top
from dris.core.validate import checked_score


@dataclass(frozen=True, slots=True)
class ScoresCompared:
    """How alike two scores are.

    Attributes:
        spearman: Correlation of their ranks; None when one of them is constant.
        kendall: Kendall's tau-b; None likewise.
        overlap: Share of the first's kept examples that the second keeps too; by chance it is α.
        contamination: Wrong labels among what each keeps; None when the truth is not known.
    """

    spearman: float | None
    kendall: float | None
    overlap: float
    contamination: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values, ready for JSON."""
        return asdict(self)


def compare_scores(
    first: ArrayLike,
    second: ArrayLike,
    *,
    fraction: float,
    wrong: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    seed: int = 0,
) -> ScoresCompared:
    """Compare two scores, one value per example each, and what the top ⌊αN⌋ of each would be.

    Args:
        first: A score, larger is kept first.
        second: Another one of the same examples, in the same order.
        fraction: α.
        wrong: True where the label is known to be wrong.
        ids: Names of the examples, for ties at the cut.
        seed: Of the tie-break.

    >>> compare_scores([1.0, 2, 3, 4], [1.0, 2, 4, 3], fraction=0.5).overlap
    1.0
    """
    from scipy.stats import kendalltau

    a, b = checked_score(first), checked_score(second)
    if a.size != b.size:
        raise InputError(f"two scores must be of the same examples, got {a.size} and {b.size}")
    kept = [keep_top(score, fraction=fraction, seed=seed, ids=ids).mask() for score in (a, b)]
    overlap = float((kept[0] & kept[1]).sum() / kept[0].sum())
    dirt = None
    if wrong is not None:
        bad = np.asarray(wrong)
        if bad.dtype != np.bool_ or bad.shape != a.shape:
            raise InputError(
                f"wrong must be a boolean mask of {a.size} examples, "
                f"got {bad.dtype} of shape {bad.shape}"
            )
        dirt = (float(bad[kept[0]].mean()), float(bad[kept[1]].mean()))
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return ScoresCompared(None, None, overlap, dirt)
    spearman = float(np.corrcoef(normalized_ranks(a), normalized_ranks(b))[0, 1])
    return ScoresCompared(spearman, float(kendalltau(a, b).statistic), overlap, dirt)
