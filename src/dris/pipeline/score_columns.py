"""What a decision says of every example, as columns of a file: the one place to add one."""

from typing import Any

from dris.core.errors import InputError
from dris.data.scorefile import ScoreFile
from dris.pipeline.decision import Decision


def score_file(decision: Decision) -> ScoreFile:
    """Every score, mark and label that there is: what `dris score` writes and `audit` reads."""
    data, ensemble = decision.data, decision.ensemble
    if ensemble is None:
        raise InputError(f"there is nothing to score: {decision.notes[0]}")
    flags = {"canary": ensemble.planted, "trusted": data.trusted}
    flags |= {f"canary_{kind.kind}": kind.mask() for kind in ensemble.canaries}
    texts = {"given": data.written()}
    if "rival" in ensemble.dynamics.columns:
        texts["suggested"] = data.written(ensemble.assessment.suggested)
    found = {**ensemble.scores(), "suspicion": decision.suspicion}
    note = {"fingerprint": data.origin.fingerprint, "seed": ensemble.settings.seed}
    return ScoreFile(data.ids, found, flags, note, texts)


def kept_columns(decision: Decision) -> dict[str, Any]:
    """Whether each example is kept, and its score where the rule has one."""
    found: dict[str, Any] = {"dris_kept": decision.mask}
    scores = {} if decision.ensemble is None else decision.ensemble.scores()
    if decision.rule in scores:
        found[f"dris_{decision.rule}"] = scores[decision.rule]
    return found


def fixed_columns(decision: Decision) -> dict[str, Any]:
    """Whether each label was changed: the mark that cleaning with `fix` writes beside the data."""
    return {"dris_fixed": decision.changed}
