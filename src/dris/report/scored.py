"""The page about a user's scored data: the verdict in plain words, its rows or pictures."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.random_audit import audit_limit
from dris.core.certify.subset_limit import ContaminationLimit, widest
from dris.core.choose.selection import Subset
from dris.core.judge.judgement import Judgement
from dris.core.judge.noise_checks import doubted_labels
from dris.core.scores.formulas import aum_mean
from dris.data.labelled import Feature, LabelledData
from dris.decide.audit import sealed_draw
from dris.decide.scored import Scored
from dris.report.build import report_data
from dris.report.page_data import Advice, ReportData, Sample


def scored_report(
    scored: Scored,
    judgement: Judgement | None,
    *,
    title: str,
    rule: str,
    keep: float,
    recipe: Mapping[str, Any],
) -> ReportData:
    """The page's data for one rule and keep fraction; without canaries there is no verdict."""
    columns = scored.dynamics.columns
    limits = scored.corruption()

    def subset_at(fraction: float) -> Subset:
        chosen = scored.choose(rule, fraction)
        limit = None
        if limits:
            limit = widest(scored.certificates(chosen, corruption=limits)).share
        kept = scored.kept(chosen)
        return Subset(kept, rule, {**chosen.parameters, "limit": limit}, chosen.total)

    chosen = scored.choose(rule, keep)
    certificate = None
    if limits:
        certificate = widest(scored.certificates(chosen, corruption=limits))
    return report_data(
        scored.dynamics,
        title=title,
        advice=_advice(scored, judgement, certificate, rule),
        keep=keep,
        subset_at=subset_at,
        contamination_at=lambda subset: (None, subset.parameters["limit"]),
        class_names=scored.data.names,
        suspicion=-aum_mean(scored.dynamics) if "margin" in columns else None,
        suspected=doubted_labels(scored.dynamics.snapshot("correct"))
        if "correct" in columns
        else None,
        suggested=scored.suggested() if "rival" in columns else None,
        trusted=scored.data.trusted,
        canaries={kind.kind: kind.mask() for kind in scored.canaries},
        sample=sample_of(scored, scored.kept(chosen)),
        recipe=recipe,
        **_shown(scored.data),
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


def headline(judgement: Judgement, certificate: ContaminationLimit | None) -> str:
    """One sentence for a person who reads nothing else."""
    if judgement.rule == "train other proxies":
        return f"These proxies cannot tell right labels from wrong ones: {judgement.reason}."
    looks = f"About {judgement.doubted:.1%} of the labels look wrong"
    if judgement.regime == "clean":
        looks = f"The labels look clean, {judgement.doubted:.1%} of them are doubted"
    limit = judgement.limit
    # A limit on the subset above that on all of the data says nothing for the choice.
    useless = certificate is not None and limit is not None and certificate.share >= limit.share
    if certificate is None or certificate.vacuous or useless:
        return f"{looks}; nothing of use is certified about those that are kept."
    if judgement.hides:
        return (
            f"{looks}; the limit of {certificate.share:.1%} wrong among those kept is not to be "
            "trusted, for wrong labels hide better than the canaries."
        )
    sure = f"{1 - certificate.delta:.0%}"
    return f"{looks}; at most {certificate.share:.1%} of those kept are wrong, {sure} sure."


def _advice(
    scored: Scored, judgement: Judgement | None, certificate: ContaminationLimit | None, rule: str
) -> Advice:
    if judgement is None:
        return Advice(
            "These dynamics came without canaries, so nothing is certified.",
            "not judged",
            rule,
            "it was asked for.",
            ("Plant canaries: let dris train the proxies.", _CHECK, _REVIEW),
        )
    limit = judgement.limit
    reason = judgement.reason
    if rule != judgement.rule:
        reason = f"it was asked for; the verdict is for {judgement.rule}: {reason}"
    return Advice(
        headline(judgement, certificate),
        judgement.regime,
        rule,
        f"{reason}.",
        todo=_todo(judgement, certificate),
        checks=tuple(judgement.checks.values()),
        certificate=() if certificate is None else _pairs(certificate),
        epsilon=judgement.doubted,
        epsilon_limit=None if limit is None else limit.share,
        confidence=0.95 if certificate is None else 1 - certificate.delta,
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


def _todo(judgement: Judgement, certificate: ContaminationLimit | None) -> tuple[str, ...]:
    if judgement.rule == "train other proxies":
        return ("Train other proxies: fewer --epochs, another --model, or more --proxies.", _REVIEW)
    first = "Train on the kept examples (dris prune writes them), and compare with all of them."
    if certificate is not None and certificate.vacuous:
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


def _shown(data: LabelledData) -> dict[str, Any]:
    """Pictures for images, rows for tables, as `report_data` takes them."""
    if data.x.ndim == 4:
        return {"images": data.x if data.paths is None else data.paths}
    return {"table": _columns(data)}


def _columns(data: LabelledData) -> dict[str, "_Cells"]:
    found, start = {}, 0
    for feature in data.features:
        found[feature.column] = _Cells(data, feature, start)
        start += feature.width
    return found


class _Cells(Sequence[Any]):
    """A column of a table as it was before it became numbers, decoded cell by cell."""

    def __init__(self, data: LabelledData, feature: Feature, start: int) -> None:
        self._x, self._feature = data.x, feature
        self._at = slice(start, start + feature.width)

    def __len__(self) -> int:
        return len(self._x)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, position: Any) -> Any:
        values, feature = self._x[position, self._at], self._feature
        if feature.how == "one-hot":
            return feature.categories[int(values.argmax())] if values.any() else ""
        if feature.how == "yes/no":
            return "yes" if values[0] else "no"
        if feature.how == "days":
            return str(np.datetime64(int(values[0]), "D"))
        return values if feature.how == "vector" else values[0]
