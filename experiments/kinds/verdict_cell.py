"""What `dris judge` says of a noisy data set, and whether its limits hold there."""

from collections.abc import Iterator, Sequence

from experiments.dris_internals import judge
from experiments.kinds.shared import Finding, prepared
from experiments.spec import Cell
from experiments.workspace import Workspace


def findings(cells: Sequence[Cell], workspace: Workspace) -> Iterator[Finding]:
    """Regime, rule, limits, and the shares of wrong labels that they speak of."""
    _, noisy, ensembles = prepared(cells, workspace, {})
    for cell in cells:
        found = judge(ensembles.planted(), ensembles.canaries, keep=cell.keep, seed=cell.seed)
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
