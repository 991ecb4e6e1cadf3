"""The page about a decision: what was found in plain words, its rows or pictures."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.random_audit import audit_limit
from dris.core.certify.subset_limit import ContaminationLimit, widest
from dris.core.choose.rules import CLEAN
from dris.core.choose.selection import Subset
from dris.core.errors import InputError
from dris.data.labelled import LabelledData
from dris.data.looks import columns_to_show, looks
from dris.data.writer import Writer
from dris.decide.audit import sealed_draw
from dris.decide.choice import EVERYTHING
from dris.decide.decision import Decision
from dris.decide.scored import Scored
from dris.report.build import report_data
from dris.report.page import write_report
from dris.report.page_data import Advice, ReportData, Sample
from dris.report.shown import Looked


def report(decision: Decision, path: str | Path, *, title: str = "", force: bool = False) -> Path:
    """Write the page that shows a decision: one HTML file that opens offline.

    Args:
        decision: From `dris.decide`.
        path: Such as "report.html"; a file that dris did not write is never replaced.
        title: What to call the data; the name of its file unless given.
        force: Replace a page that dris wrote there before.

    >>> import tempfile
    >>> import dris
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(300) % 2
    >>> data = LabelledData.of(rng.normal(size=(300, 2)) + 3 * y[:, None], y, classes=("a", "b"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(dris.decide(data, workers=1), folder + "/report.html")
    ...     page.stat().st_size > 10_000
    True
    """
    files = decision.data.origin.files
    name = title or (files[0].name if files else "data")
    return write_page(
        decision, path, title=name, recipe=decision.recipe(), writer=Writer(force).reading(*files)
    )


def write_page(
    decision: Decision,
    path: str | Path,
    *,
    title: str,
    recipe: Mapping[str, Any],
    writer: Writer,
) -> Path:
    """The same with a recipe and a writer of one's own."""
    return write_report(page_of(decision, title=title, recipe=recipe), path, writer=writer)


def page_of(decision: Decision, *, title: str, recipe: Mapping[str, Any]) -> ReportData:
    """The page's data; without canaries there is no judgement on it."""
    scored = decision.scored
    if scored is None:
        raise InputError(f"there is nothing to show: {'; '.join(decision.notes)}")
    n, data = len(decision), decision.data
    keep = decision.keep if decision.keep is not None else decision.kept.size / n
    limit = decision.limit

    def subset_at(fraction: float) -> Subset:
        if fraction == keep:
            share = None if limit is None else limit.share
            return Subset(decision.kept, decision.rule, {"limit": share}, n)
        choice = decision.at(fraction)
        share = widest(choice.limits).share if choice.limits else None
        return Subset(np.flatnonzero(choice.kept), choice.rule, {"limit": share}, n)

    suspects = decision.suspects
    suspected = np.zeros(n, dtype=np.bool_)
    if suspects is not None:
        suspected[suspects.positions] = True
    rival = "rival" in scored.dynamics.columns
    return report_data(
        scored.dynamics,
        title=title,
        advice=_advice(decision),
        keep=keep,
        subset_at=subset_at,
        contamination_at=lambda subset: (None, subset.parameters["limit"]),
        labels=data.labels,  # a canary's own row may be kept and checked: by its own label
        class_names=data.names,
        suspicion=decision.suspicion,
        suspected=suspected,
        suggested=scored.suggested() if rival else None,
        trusted=data.trusted,
        canaries_too=True,
        canaries={kind.kind: kind.mask() for kind in scored.canaries},
        sample=sample_of(scored, decision.kept),
        recipe=recipe,
        **details_of(data),
    )


def sample_of(scored: Scored, kept: NDArray[np.int64], most: int = 60) -> Sample | None:
    """Kept examples for a person to check, and the limit that each number of wrong ones proves."""
    count = min(most, kept.size)
    if not count:
        return None
    data = scored.data
    files = [] if data.paths is not None else [str(file) for file in data.origin.files]
    drawn, note = sealed_draw(data, kept, count, files=files, seed=scored.settings.seed)
    limits = (
        audit_limit(size=kept.size, checked=count, wrong=wrong, delta=note["delta"]).share
        for wrong in range(count + 1)
    )
    return Sample(drawn, tuple(limits), json.dumps(note))


def headline(decision: Decision) -> str:
    """One sentence for a person who reads nothing else."""
    n = len(decision)
    if decision.rule == EVERYTHING:
        return f"Everything is kept: {'; '.join(decision.notes)}."
    count = 0 if decision.suspects is None else len(decision.suspects)
    looks = f"{count:,} of {n:,} labels ({count / n:.1%}) look wrong to the proxies"
    most = None if decision.suspects is None else decision.suspects.commonest()
    if most is not None:
        looks += f", most often {most[0]} that should be {most[1]}"
    if decision.harm is None:
        return f"{looks}."
    points, what = decision.harm.beyond_chance, "dropping them" if decision.keep is None else "this"
    says = {"helps": "helps", "harms": "harms", "cannot tell": "changes little"}
    return f"{looks}; on held-out rows {what} {says[decision.harm.says]} ({points} points)."


def _advice(decision: Decision) -> Advice:
    judgement, limit = decision.judgement, decision.limit
    if judgement is None:
        return Advice(
            headline(decision),
            "not judged",
            decision.rule,
            "there were no canaries.",
            ("Plant canaries: let dris train the proxies.", _CHECK, _REVIEW),
        )
    most = max((c.share for c in decision.corruption), default=None)
    reason = judgement.reason
    if decision.rule not in (judgement.rule, CLEAN):
        reason = f"the judgement is for {judgement.rule}: {reason}"
    return Advice(
        headline(decision),
        judgement.regime,
        decision.rule,
        f"{reason}.",
        todo=_todo(decision),
        checks=tuple(judgement.checks.values()),
        certificate=() if limit is None else _pairs(limit),
        epsilon=judgement.doubted,
        epsilon_limit=most,
        confidence=0.95 if limit is None else 1 - limit.delta,
        caveat="not to be trusted: wrong labels hide better than the canaries"
        if judgement.hides
        else "",
    )


_CHECK = (
    "Check the random sample of the kept below and export it: dris audit read gives an exact "
    "limit, whatever made the labels wrong."
)
_REVIEW = (
    "Tick the review queue below, export it and hand it to dris audit apply; labels found right "
    "can be trusted in the next run (--trusted)."
)


def _todo(decision: Decision) -> tuple[str, ...]:
    if decision.rule == EVERYTHING:
        return ("Train other proxies: fewer --epochs, another --model, or more --proxies.", _REVIEW)
    first = "Train on the kept examples, and compare with all of them."
    if decision.limit is not None and decision.limit.vacuous:
        return (first, "Keep less, for a limit that says something.", _CHECK, _REVIEW)
    return (first, _CHECK, _REVIEW)


def _pairs(limit: ContaminationLimit) -> tuple[tuple[str, str], ...]:
    return (
        ("wrong labels left, at most", f"{limit.wrong:,} of {limit.left:,} ({limit.share:.2%})"),
        ("with probability", f"{1 - limit.delta:g}"),
        ("certifying canaries that got in", f"{limit.passed:,} of {limit.canaries:,}"),
        ("wrong labels in the data, at most", f"{limit.corrupted:,}"),
        ("attacker", limit.kind),
        *((f"condition {i}", text) for i, text in enumerate(limit.conditions, 1)),
    )


def details_of(data: LabelledData) -> dict[str, Any]:
    """Pictures of images, and every column of the file beside them, as `report_data` takes them."""
    held: dict[str, Any] = {}
    if data.x.ndim == 4:
        held["images"] = data.x if data.paths is None else data.paths
    text = {f.column for f in data.features if f.how in ("text", "sentence")}
    names = sorted(columns_to_show(data), key=lambda name: name not in text)  # it says most
    if names:
        held["table"] = Looked(names, lambda positions, some: looks(data, positions, some))
    return held
