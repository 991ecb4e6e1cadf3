"""What `dris judge` says of a noisy data set, and whether its limits hold there."""

from collections.abc import Iterator, Sequence

import numpy as np

from dris.bench.kinds.groups import Finding, Place, prepared
from dris.bench.spec import Cell
from dris.core.judge.judgement import judge
from dris.core.noise.canaries import Canaries
from dris.core.streams import rng_for


def findings(cells: Sequence[Cell], place: Place) -> Iterator[Finding]:
    """Regime, rule, limits, and the shares of wrong labels that they speak of."""
    data, noisy, judged = prepared(cells, place, {})
    positions = np.flatnonzero(judged.canaries)
    dynamics = judged.planted()
    for cell in cells:
        part = rng_for(cell.seed, "canaries", "parts").permutation(positions.size)
        canaries = Canaries(
            planted=np.asarray(dynamics.labels),
            given=noisy.given,
            positions=positions,
            certifies=part < positions.size // 2,
            stratum=np.zeros(len(noisy.given), dtype=np.int64),
            restores=1 / (data.classes - 1),
            kind="uniform",
            parameters={"share": cell.ensemble.canaries},
        )
        found = judge(dynamics, canaries, keep=cell.keep, seed=cell.seed)
        kept = None if found.subset is None else found.subset.indices
        yield Finding(
            cell,
            {
                "regime": found.regime,
                "recommended": found.rule,
                "fails": [name for name, check in found.checks.items() if check.outcome == "fails"],
                "doubted": found.doubted,
                "limit": None if found.certificate is None else found.certificate.share,
                "wrong": None if kept is None else float(noisy.flipped[kept].mean()),
                "epsilon_limit": None if found.limit is None else found.limit.share,
                "epsilon": float(noisy.flipped.mean()),
            },
        )
