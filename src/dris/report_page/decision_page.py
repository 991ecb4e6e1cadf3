"""The page about a decision: what was found in plain words, its rows or pictures."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.random_audit import audit_limit
from dris.core.certify.subset_limit import ContaminationLimit
from dris.core.errors import InputError
from dris.core.parameters import command_words
from dris.core.select.rules import CLEAN
from dris.core.select.selection import Subset
from dris.data.display import columns_to_show, looks
from dris.data.labelled import LabelledData
from dris.data.writer import Writer
from dris.pipeline.audit import sealed_draw
from dris.pipeline.by_scores import contested_share
from dris.pipeline.choice import EVERYTHING
from dris.pipeline.decision import BLIND, Decision
from dris.pipeline.harm_fallback import ALL_KEPT
from dris.report_page.build import report_data
from dris.report_page.page import write_report
from dris.report_page.page_data import NO_LABEL, Advice, ReportData, Sample
from dris.report_page.shown import Looked

MOSTLY = 4  # a pair of labels is called "mostly" from this part of the suspects on: a quarter


def report(decision: Decision, path: str | Path, *, title: str = "", force: bool = False) -> Path:
    """Write the page that shows a decision: one HTML file that opens offline.

    Args:
        decision: From `dris.clean`.
        path: Such as "report.html"; a file that dris did not write is never replaced.
        title: What to call the data; the name of its file unless given.
        force: Replace a page that dris wrote there before.

    >>> import tempfile
    >>> import dris
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(300) % 2
    >>> data = LabelledData.of(rng.normal(size=(300, 2)) + 3 * y[:, None], y, classes=("a", "b"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(dris.clean(data, workers=1), folder + "/report.html")
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
    """The page's data; without canaries there is no judgement on it, without proxies no plane."""
    scored, suspects = decision.scored, decision.suspects
    ranked = scored is not None and scored.dynamics.proxies > 1
    if not ranked and suspects is None:
        raise InputError(f"there is nothing to show: {'; '.join(decision.notes)}")
    n, data = len(decision), decision.data
    keep = decision.keep if decision.keep is not None else decision.kept.size / n
    limit = decision.limit

    def subset_at(fraction: float) -> Subset:
        if fraction == keep:
            share = None if limit is None else limit.share
            return Subset(decision.kept, decision.rule, {"limit": share}, n)
        if not ranked:
            raise InputError("without several proxies there is no other share")
        choice = decision.at(fraction)
        other = replace(
            decision,
            limits=choice.limits,
            contested=0.0 if scored is None else contested_share(scored, choice.kept),
        ).limit
        share = None if other is None else other.share
        return Subset(np.flatnonzero(choice.kept), choice.rule, {"limit": share}, n)

    suspected = np.zeros(n, dtype=np.bool_)
    suggested = np.full(n, NO_LABEL)
    if scored is not None and "rival" in scored.dynamics.columns:
        suggested = scored.suggested()
    if suspects is not None:
        suspected[suspects.positions] = True
        suggested[suspects.positions] = suspects.suggested
    return report_data(
        scored.dynamics if scored is not None and ranked else None,
        title=title,
        advice=_advice(decision, title, recipe.get("reading")),
        keep=keep,
        subset_at=subset_at,
        contamination_at=lambda subset: (None, subset.parameters["limit"]),
        labels=data.labels,  # a canary's own row may be kept and checked: by its own label
        class_names=data.names,
        suspicion=decision.suspicion,
        suspected=suspected,
        ids=data.ids,
        suggested=suggested,
        trusted=data.trusted,
        canaries_too=True,
        canaries={kind.kind: kind.mask() for kind in (scored.canaries if scored else ())},
        sample=sample_of(data, decision.kept, seed=scored.settings.seed if scored else 0),
        recipe=recipe,
        **details_of(data),
    )


def sample_of(
    data: LabelledData, kept: NDArray[np.int64], most: int = 60, *, seed: int = 0
) -> Sample | None:
    """Kept examples for a person to check, and the limit that each number of wrong ones proves."""
    count = min(most, kept.size)
    if not count:
        return None
    files = [] if data.paths is not None else [str(file) for file in data.origin.files]
    drawn, note = sealed_draw(data, kept, count, files=files, seed=seed)
    limits = (
        audit_limit(size=kept.size, checked=count, wrong=wrong, delta=note["delta"]).share
        for wrong in range(count + 1)
    )
    return Sample(drawn, tuple(limits), json.dumps(note))


def headline(decision: Decision) -> str:
    """What was found, in one sentence for a person who reads nothing else."""
    n = len(decision)
    count = 0 if decision.suspects is None else len(decision.suspects)
    if not count:
        return f"None of {n:,} labels looks wrong."
    says = f"About {count:,} of {n:,} labels look wrong"
    most = None if decision.suspects is None else decision.suspects.commonest()
    if most is None:
        return f"{says}."
    often = "mostly" if most[2] * MOSTLY >= count else "most often"
    return f"{says}, {often} {most[1]} labelled {most[0]}."


def doing(decision: Decision, name: str = "DATA", asked: Mapping[str, Any] | None = None) -> str:
    """What to do about it, in one sentence; `name` is what the data are called.

    `asked` are the options by which it was read; label and id of the file unless given.
    """
    kept, n = decision.kept.size, len(decision)
    origin = decision.data.origin
    if asked is None and origin.files and origin.format != "images":
        asked = {"label": origin.label, "id": origin.id}
    words = shlex.join(["dris", "review", name, *command_words(asked or {})])
    look = f"look at those that look wrong: {words}"
    if decision.rule == EVERYTHING:
        why = decision.notes[-1] if decision.notes else "nothing else is safer"
        why = why.partition(ALL_KEPT)[0]
        return f"Keep everything for now ({why}), and {look}."
    if kept == n:
        return f"Keep everything, and {look}." if decision.suspects else "Keep everything."
    if decision.keep is None:
        return f"Train on the {kept:,} labels that look right, and {look}."
    return f"Train on the {kept:,} examples chosen of {n:,}, and {look}."


def changing(decision: Decision) -> str:
    """What following it would change, with the numbers of the harm check."""
    harm = decision.harm
    if harm is None and decision.as_given:
        return "Nothing changes: every row stays as it is."
    if harm is None:
        return "Whether that helps was not measured here; compare a model trained on either."
    what = "without them" if decision.keep is None else "on this subset"
    says = {
        "helps": "agreed better with labels they had not seen",
        "harms": "agreed worse with labels they had not seen",
        "cannot tell": "agreed about as well with labels they had not seen",
    }[harm.says]
    points = f"{harm.agreement} points of 100"
    if harm.as_decided is not None:
        points = (
            f"{harm.as_decided} points of 100, which flatters, for the imported models know those "
            f"labels; by what our own proxies would keep {harm.agreement}"
        )
    worst = min(harm.classes, key=lambda name: harm.classes[name], default=None)
    class_by = "" if worst is None else f", worst for {worst} with {harm.classes[worst]:+.1f}"
    return (
        f"Small models trained {what} {says}: {points}, beyond chance {harm.beyond_chance}"
        f"{class_by}; {harm.condition}."
    )


def promise(decision: Decision) -> str:
    """How much may still be wrong, with the condition in the same sentence, or why no limit is."""
    wrong, first = decision.wrong, ""
    if wrong is not None:
        about = (
            "" if wrong.likely is None else f", about {wrong.likely:.1%} if errors fall at random"
        )
        first = (
            f"Of all labels between {wrong.low:.1%} and {wrong.high:.1%} are wrong{about}: at "
            "least what fits random errors, at most what proxies contradict, too many where "
            "classes overlap; both are too few where errors follow the features. "
        )
    return f"{first}{_promise(decision)} {BLIND[0].upper()}{BLIND[1:]}."


def _promise(decision: Decision) -> str:
    limit = decision.limit
    without = "checking the random sample below gives a limit that assumes nothing"
    if not decision.limits:
        return (
            "How much of what is kept is still wrong was not measured; checking the random sample "
            "below gives an exact limit, whatever made the labels wrong."
        )
    if decision.limit_says == "not to be trusted":
        return (
            "No limit on what is left is given: wrong labels here are not like the ones that were "
            f"planted to test the proxies, and a limit would rest on these; {without}."
        )
    if limit is None:
        return f"Nothing of use can be promised about what is kept; {without}."
    return (
        f"At most {limit.share:.1%} of the kept labels are wrong ({limit.wrong:,} of "
        f"{limit.left:,}), with {1 - limit.delta:.0%} confidence, if wrong labels are like the "
        f"planted ones ({_PLANTED.get(limit.kind, limit.conditions[0])}); {without}."
    )


_PLANTED = {
    "uniform": "random examples, each with a random other label, made wrong to test the proxies",
    "hard": "made wrong among the hardest examples, to test the proxies",
    "confusable": "with the label that each is most easily taken for, to test the proxies",
    "matrix": "made wrong by the matrix that was given, to test the proxies",
}


def _advice(decision: Decision, name: str, asked: Mapping[str, Any] | None) -> Advice:
    judgement, limit = decision.judgement, decision.limit
    if judgement is None:
        return Advice(
            headline(decision),
            "not judged",
            decision.rule,
            "there were no canaries.",
            doing(decision, name, asked),
            changing(decision),
            promise(decision),
            todo=(*_canaries(decision), _CHECK, _REVIEW),
            noticed=decision.notes,
        )
    reason = judgement.reason
    if decision.rule not in (judgement.rule, CLEAN):
        reason = f"the judgement is for {judgement.rule}: {reason}"
    return Advice(
        headline(decision),
        judgement.looks,
        decision.rule,
        f"{reason}.",
        doing(decision, name, asked),
        changing(decision),
        promise(decision),
        todo=_todo(decision),
        checks=tuple(judgement.checks.values()),
        certificate=() if limit is None else _pairs(limit),
        noticed=decision.notes,
        confidence=0.95 if limit is None else 1 - limit.delta,
    )


_CHECK = (
    "Check the random sample of the kept below and export it: dris audit read gives an exact "
    "limit, whatever made the labels wrong."
)
_REVIEW = (
    "Correct the suspects with dris review; or tick the queue below, export it and hand it to "
    "dris audit apply. Labels found right can be trusted in the next run (`trusted`)."
)


def _canaries(decision: Decision) -> tuple[str, ...]:
    """Where others' models judge, that our own would give a limit."""
    imported = decision.scored is not None and decision.scored.imported
    return ("Plant canaries: let dris train the proxies.",) if imported else ()


def _todo(decision: Decision) -> tuple[str, ...]:
    if decision.rule == EVERYTHING and decision.harm is not None:
        return ("Train on everything; look at the suspects first.", _CHECK, _REVIEW)
    if decision.rule == EVERYTHING:
        return ("Train other proxies: fewer `epochs`, another `model`, or more `proxies`.", _REVIEW)
    first = "Train on the kept examples, and compare with all of them."
    if decision.keep is not None and decision.limits and decision.limit is None:
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
