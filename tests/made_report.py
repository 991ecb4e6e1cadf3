"""A small report made from drawn losses, and text that tries to be more than text."""

import json
from dataclasses import replace

import numpy as np

from dris.core.certify.random_audit import audit_limit
from dris.core.checks.diagnostics import Check
from dris.core.dynamics.dynamics import Dynamics
from dris.core.scores.formulas import rank_variance
from dris.core.select.selection import keep_top
from dris.data.labelled import LabelledData
from dris.pipeline.audit import sealed_draw
from dris.report_page.build import report_data
from dris.report_page.page_data import Advice, Sample

HOSTILE = (
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "<img src=x onerror=window.hacked=3>",
    '"><svg onload=window.hacked=4>',
    "' onfocus=window.hacked=5 autofocus '",
    "{{ 7 * 7 }}{% include 'x' %}",
    "]]><!--",
    '=HYPERLINK("http://example.invalid","x")',
    "line\u2028separator\u2029s",
    "&lt;b&gt; & \x00 \u202e",
)

ADVICE = Advice(
    headline="A tenth of the labels look wrong.",
    regime="uniform",
    rule="rank_variance",
    reason="few suspects",
    todo=("Train on the subset.",),
    checks=(
        Check("spread of the score", "holds", 300, 2, "300 distinct values"),
        Check("tail", "cannot tell", float("nan"), float("nan"), "too few proxies"),
    ),
    certificate=(("δ", "0.05"),),
    doing="Train on the rest.",
    changing="It helps: +2.0 ± 0.5 points.",
    promise="At most 5 % are wrong, with 95 % confidence, if they are like the planted ones.",
)


def made(n=300, classes=4, *, proxies=3, keep=0.25, **given):
    """Report data of n examples with canaries, suspects and trusted; the rest as given."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    hard = rng.random(n) < 0.2
    losses = rng.gamma(1.0, 1.0, (proxies, n)) * 0.4 + 3.0 * hard
    dynamics = Dynamics.from_losses(losses, ids=given.pop("ids", None))
    score = rank_variance(dynamics)
    canary = hard & (np.arange(n) % 5 == 0)
    settings = {
        "title": "Made data",
        "advice": ADVICE,
        "keep": keep,
        "subset_at": lambda f: keep_top(np.where(canary, -1.0, score), fraction=f),
        "contamination_at": lambda subset: (len(subset) / (10 * n), len(subset) / (5 * n)),
        "labels": y,
        "suspected": hard,
        "suggested": np.where(hard, (y + 1) % classes, y),
        "trusted": np.arange(n) % 50 == 1,
        "canaries": {"uniform": canary},
        "recipe": {"seed": 0, "proxies": {"model": "mlp", "count": proxies}},
        "environment": {"dris": "0.1.0"},
    }
    return report_data(dynamics, **{**settings, **given})


def hostile(n=60):
    """Report data in which every text tries to run, load or break out."""
    words = [HOSTILE[i % len(HOSTILE)] for i in range(n)]
    data = made(
        n,
        classes=len(HOSTILE),
        ids=[f"{word}{i}" for i, word in enumerate(words)],
        title="".join(HOSTILE),
        class_names=HOSTILE,
        table=dict.fromkeys(HOSTILE, words),
        recipe={word: word for word in HOSTILE},
        environment={HOSTILE[0]: {HOSTILE[2]: [HOSTILE[1]]}},
        advice=replace(
            ADVICE,
            headline=HOSTILE[0],
            regime=HOSTILE[1],
            rule=HOSTILE[2],
            reason=HOSTILE[3],
            doing=HOSTILE[0],
            changing=HOSTILE[2],
            promise=HOSTILE[3],
            todo=HOSTILE,
            checks=tuple(Check(word, "fails", 0.0, 1.0, word) for word in HOSTILE),
            certificate=tuple((word, word) for word in HOSTILE),
        ),
    )
    return replace(data, canary_kinds=(HOSTILE[2],))


def with_sample(data, n=12):
    """The same report with n of the kept examples to check."""
    kept = np.flatnonzero(data.steps[data.chosen].kept)
    labelled = LabelledData.of(
        np.zeros((data.examples, 1)), data.labels, classes=data.class_names, ids=data.ids
    )
    drawn, note = sealed_draw(labelled, kept, n)
    limits = [audit_limit(size=len(kept), checked=n, wrong=w).share for w in range(n + 1)]
    return replace(data, sample=Sample(drawn, tuple(limits), json.dumps(note)))
