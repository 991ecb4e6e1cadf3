"""What the page's script reads: per-example numbers, packed; classes, steps, queue, details."""

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.streams import hashed_order
from dris.report_page.packing import packed, packed_text, quantised
from dris.report_page.page_data import NO_LABEL, Pictures, ReportData, Rows

MOST_DRAWN = 100_000
_ID_BYTES = 2_000_000
_NONE = 65535


def payload(data: ReportData) -> dict[str, Any]:
    """The page's data as JSON values; counts are of all examples, points of the drawn ones."""
    drawn = drawn_positions(data)
    place = {p: i for i, p in enumerate(drawn.tolist())}
    top = float(data.rank_variance.max())
    flags = (
        data.suspected.astype(np.uint8)
        | (data.trusted.astype(np.uint8) << 1)
        | (data.canary.astype(np.uint8) << 2)
    )
    bits = np.zeros(data.examples, dtype=np.uint32)
    for s, step in enumerate(data.steps):
        bits |= step.kept.astype(np.uint32) << np.uint32(s)
    suggested = np.where(data.suggested == NO_LABEL, _NONE, data.suggested)
    return {
        "title": data.title,
        "n": data.examples,
        "drawn": len(drawn),
        "classes": list(data.class_names),
        "kinds": list(data.canary_kinds),
        "top": top,
        "chosen": data.chosen,
        "steps": _steps(data),
        "ids": packed_text([str(i) for i in data.ids[drawn].tolist()], budget=_ID_BYTES),
        "x": quantised(data.mean_rank[drawn], 1.0),
        "y": quantised(data.rank_variance[drawn], top),
        "label": packed(data.labels[drawn]),
        "suggested": packed(suggested[drawn]),
        "flags": packed(flags[drawn]),
        "kept": packed(bits[drawn]),
        "suspicion": quantised(_standing(data.suspicion)[drawn], 1.0),
        "before": np.bincount(data.labels, minlength=len(data.class_names)).tolist(),
        "clearest": [place[p] for p in data.clearest.tolist()],
        "suspects": packed(np.array([place[p] for p in data.suspects.tolist() if p in place])),
        "confusion": data.confusion(),
        "queue": [{"at": place[p], "id": str(data.ids[p])} for p in data.queue.tolist()],
        "sample": _sample(data, place),
        "details": _details(data, place),
    }


def drawn_positions(data: ReportData) -> NDArray[np.int64]:
    """All examples; past 100,000 what is asked about or shown, and a random part of the rest."""
    n = data.examples
    if n <= MOST_DRAWN:
        return np.arange(n)
    wanted = set(data.queue.tolist())
    if data.sample is not None:
        wanted.update(data.sample.drawn.tolist())
    if data.details is not None:
        held = data.details.images if isinstance(data.details, Pictures) else data.details.values
        wanted.update(held)
    for position in data.suspects.tolist():
        if len(wanted) >= MOST_DRAWN:
            break
        wanted.add(position)
    first = np.fromiter(wanted, dtype=np.int64, count=len(wanted))
    rest = np.argsort(hashed_order(data.ids, seed=0), kind="stable")
    rest = rest[~np.isin(rest, first)]
    return np.sort(np.concatenate([first, rest[: MOST_DRAWN - first.size]]))


def _steps(data: ReportData) -> list[dict[str, Any]]:
    """Per keep fraction: size, contamination, and by class kept, suspected, dropped."""
    plain, classes = data.canary == 0, len(data.class_names)
    found = []
    for step in data.steps:
        kept = step.kept & plain
        groups = (kept & ~data.suspected, plain & data.suspected, plain & ~kept & ~data.suspected)
        found.append(
            {
                "fraction": step.fraction,
                "size": int(step.kept.sum()),
                "kept": np.bincount(data.labels[step.kept], minlength=classes).tolist(),
                "suspects": int((kept & data.suspected).sum()),
                "estimate": step.estimate,
                "limit": step.limit,
                "byClass": [
                    np.bincount(data.labels[g], minlength=classes).tolist() for g in groups
                ],
            }
        )
    return found


def _sample(data: ReportData, place: dict[int, int]) -> dict[str, Any] | None:
    if data.sample is None:
        return None
    return {
        "items": [{"at": place[p], "id": str(data.ids[p])} for p in data.sample.drawn.tolist()],
        "limits": list(data.sample.limits),
        "sealed": data.sample.sealed,
    }


def _standing(suspicion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each example's place by suspicion in [0, 1]; the most suspicious has 1."""
    place = np.empty(suspicion.size)
    place[np.argsort(suspicion, kind="stable")] = np.arange(suspicion.size)
    return place / max(suspicion.size - 1, 1)


def _details(data: ReportData, place: dict[int, int]) -> dict[str, Any] | None:
    if data.details is None:
        return None
    if isinstance(data.details, Pictures):
        found: Any = {
            str(place[p]): base64.b64encode(image).decode()
            for p, image in sorted(data.details.images.items())
        }
        beside = data.details.beside
        rows = None if beside is None else _rows(beside, place)
        return {"kind": "pictures", "by": found, "beside": rows}
    return _rows(data.details, place)


def _rows(rows: Rows, place: dict[int, int]) -> dict[str, Any]:
    return {
        "kind": "rows",
        "columns": list(rows.columns),
        "leftOut": rows.left_out,
        "by": {str(place[p]): list(row) for p, row in sorted(rows.values.items()) if p in place},
    }
