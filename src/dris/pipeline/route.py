"""The one way from data to a decision."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.select.rules import CLEAN, CLEAN_THEN_HARD, RECOMMENDED, RULES, Rule, rule_of
from dris.data.findings.leaks import drop_uninformative_columns
from dris.data.labelled import LabelledData
from dris.learn.engines.engine import Engine
from dris.learn.engines.processes import Progress
from dris.learn.store.run_store import Store
from dris.pipeline.by_scores import decide_scored
from dris.pipeline.choice import FEW, LITTLE, check_rule
from dris.pipeline.decision import Decision
from dris.pipeline.harm_fallback import with_harm
from dris.pipeline.predicted import scored_by
from dris.pipeline.scored import score_data, scored_from
from dris.pipeline.settings import Settings
from dris.pipeline.wording import EVERYTHING

# Rules that need not know what proxies learned by heart.
_OUT_OF_FOLD = (RECOMMENDED, CLEAN, CLEAN_THEN_HARD)
FEWEST = 20  # examples; with fewer, or one class, no proxy can be trained


def decide(
    data: LabelledData,
    *,
    keep: float | None = None,
    rule: str | Rule = RECOMMENDED,
    seed: int = 0,
    settings: Settings | None = None,
    dynamics: Dynamics | None = None,
    probabilities: Any = None,
    workers: int | None = None,
    device: str = "cpu",
    store: Store | str | Path | None = None,
    engine: Engine | str = "local",
    progress: Progress | None = None,
    check_harm: bool = True,
    estimator: Any = None,
    fix: bool = False,
) -> Decision:
    """Decide what to train on, which labels to look at, and what can be promised.

    The public verbs are this with a share (`dris.prune`) and without (`dris.clean`); `Options` in
    `dris.pipeline.verbs` says what each parameter is.
    """
    how = replace(Settings(), seed=seed) if settings is None else settings
    if isinstance(rule, Rule):
        named = rule_of(rule)
        rule = named.name if named.name in RULES else named
    if fix and (keep is not None or rule not in (RECOMMENDED, CLEAN)):
        raise InputError("fix is for clean; leave keep and rule out")
    if dynamics is not None and probabilities is not None:
        raise InputError("dynamics and probabilities both replace proxies; pass one")
    data = drop_uninformative_columns(data)
    ours = dynamics is None and probabilities is None
    certified = ours and bool(how.canaries)
    check_rule(rule, keep, canaries=certified, n=len(data))
    column = None if rule == RECOMMENDED else rule_of(rule).needs_column
    if ours and column not in (None, "gradient_norm"):
        raise InputError(
            f"the rule needs {column}, which proxies do not record; pass dynamics that hold it"
        )
    few = len(data.classes) < 2 or len(data) < FEWEST
    if few and (ours or len(data.classes) < 2):
        what = "one class" if len(data.classes) < 2 else f"{len(data)} examples"
        note = f"{what} cannot show wrong labels (two classes and {FEW} examples are the least)"
        everyone = np.arange(len(data))
        nothing = np.zeros(len(data))
        return Decision(data, everyone, nothing, None, EVERYTHING, keep, notes=(note,))
    if dynamics is not None or probabilities is not None:
        foreign = (
            scored_by(data, probabilities, how)
            if dynamics is None
            else scored_from(data, dynamics, how)
        )
        found = decide_scored(foreign, keep=keep, rule=rule, fix=fix)
        return with_harm(found, estimator=estimator) if check_harm else found
    if len(data) < LITTLE and rule == RECOMMENDED:
        how = replace(how, canaries=(), matrix=None)
    scored = score_data(
        data,
        how,
        workers=workers,
        device=device,
        store=store,
        engine=engine,
        progress=progress,
        only_judged=rule in _OUT_OF_FOLD,
        gradient_norm=column is not None,
    )
    found = decide_scored(scored, keep=keep, rule=rule, fix=fix)
    return with_harm(found, estimator=estimator) if check_harm else found
