"""What the judgement says of a noisy data set, and whether limits hold there."""

from collections.abc import Iterator, Sequence

from experiments.dris_internals import (
    assess,
    data_limits,
    judge,
    subset_limits,
    widest,
    without_canaries,
)
from experiments.kinds.shared import Finding, prepare_group
from experiments.spec import Cell
from experiments.workspace import Workspace


def findings(cells: Sequence[Cell], workspace: Workspace) -> Iterator[Finding]:
    """Regime, rule, limits, and the shares of wrong labels that they speak of."""
    _, noisy, ensembles = prepare_group(cells, workspace, {})
    for cell in cells:
        dynamics, kinds = ensembles.planted(), (ensembles.canaries,)
        assessment = assess(dynamics)
        judgement = judge(dynamics, kinds, keep=cell.keep, seed=cell.seed, assessment=assessment)
        corruption = data_limits(-assessment.shown.wrong, kinds)
        chosen = judgement.subset
        limits = () if chosen is None else subset_limits(chosen, kinds, corruption)
        kept = None if chosen is None else without_canaries(chosen, ensembles.canaries).indices
        yield Finding(
            cell,
            {
                "regime": judgement.regime,
                "recommended": judgement.rule,
                "fails": [
                    name for name, check in judgement.checks.items() if check.outcome == "fails"
                ],
                "doubted": judgement.suspect_share,
                "limit": widest(limits).share if limits else None,
                "wrong": None if kept is None else float(noisy.flipped[kept].mean()),
                "epsilon_limit": max((c.share for c in corruption), default=None),
                "epsilon": float(noisy.flipped.mean()),
            },
        )
