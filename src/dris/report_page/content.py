"""What the page shows of a decision: what its script, its charts and its tables read."""

import io
import json
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dris
from dris.core.certify.random_audit import audit_limit
from dris.core.errors import InputError
from dris.core.scores.formulas import consensus, rank_variance
from dris.core.streams import hashed_order
from dris.data.files import refuse_endless
from dris.data.labelled import LabelledData
from dris.data.outputs import as_text, columns_to_show, show_rows
from dris.pipeline.audit import sealed_draw
from dris.pipeline.decision import Decision
from dris.pipeline.wording import sure, worth_a_look

OUTCOMES = ("kept", "dropped", "suspected", "trusted", "canary")
KEPT, DROPPED, SUSPECTED, TRUSTED, CANARY = range(5)
NO_LABEL = -1
STEP_FRACTIONS = tuple(round(0.05 * s, 2) for s in range(1, 21))
MAX_QUEUE = 200
MAX_SAMPLE = 60
MAX_SHOWN = 2_000
MAX_DETAIL_BYTES = 3_000_000  # of base64 or text: with all else, 50,000 examples stay under 8 MB
MAX_COLUMNS = 1_000
SHORT_CELL = 80  # characters, where the budget gets short
THUMBNAIL_SIDE = 96
TINY_SIDE = 16  # pixels up to which every one counts
REGIONS = 24  # on either side of the plane

ColumnsAt = Callable[[NDArray[np.int64], Sequence[str]], Mapping[str, Sequence[Any]]]


@dataclass(frozen=True, slots=True)
class Details:
    """Pictures as PNG or WebP bytes, and rows as text, by position."""

    pictures: Mapping[int, bytes] = field(default_factory=dict)
    columns: tuple[str, ...] = ()  # of the rows
    rows: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    left_out: int = 0  # columns past the first 1,000

    @property
    def shown(self) -> Mapping[int, Any]:
        """The examples that have a picture, or a row where there are no pictures."""
        return self.pictures or self.rows


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """The subset at one keep fraction; `limit` is None where nothing bounds its wrong labels."""

    fraction: float
    kept: NDArray[np.bool_]
    limit: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Kept examples drawn at random, for a person to check on the page."""

    drawn: NDArray[np.int64]  # their positions, in the order of the draw
    limits: tuple[float, ...]  # on the share of the kept that is wrong, if 0, 1, … of the drawn are
    sealed: str  # the note that `dris audit read` needs beside the answers


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A decision and what the page derives from it. Arrays have one entry per example."""

    decision: Decision
    title: str
    proxies: int  # K; 0 where there is no plane of ranks
    mean_rank: NDArray[np.float64]  # of the loss over proxies, in (0, 1]; larger is harder
    rank_variance: NDArray[np.float64]  # over proxies; larger is more disputed
    suspected: NDArray[np.bool_]
    canary: NDArray[np.uint8]  # 0, or 1 + the position in `canary_kinds` of a canary's kind
    canary_kinds: tuple[str, ...]
    suggested: NDArray[np.int64]  # the label the proxies would give, `NO_LABEL` (-1) for none
    steps: tuple[Step, ...]  # subsets at growing keep fractions, the chosen one among them
    chosen: int  # which of the steps is the decision's own
    queue: NDArray[np.int64]  # positions of the labels to review, the likeliest wrong first
    sample: Sample | None  # kept examples to check for a limit without assumptions
    details: Details  # pictures or rows of the examples that can be shown
    recipe: Mapping[str, Any]
    environment: Mapping[str, Any]

    @property
    def data(self) -> LabelledData:
        """The examples that were decided about."""
        return self.decision.data

    @property
    def suspects(self) -> NDArray[np.int64]:
        """Positions of the suspects, the likeliest wrong first."""
        return _suspects(self.decision)

    def decided(self) -> NDArray[np.uint8]:
        """Kept, dropped, or suspected: a suspect that is kept."""
        code = np.where(self.steps[self.chosen].kept, KEPT, DROPPED).astype(np.uint8)
        code[self.suspected & (code == KEPT)] = SUSPECTED
        return code

    def outcomes(self) -> NDArray[np.uint8]:
        """What became of each example: a canary first, for its label is ours, then trusted."""
        code = self.decided()
        code[self.data.trusted] = TRUSTED
        code[self.canary > 0] = CANARY
        return code


def page_of(decision: Decision, *, title: str, recipe: Mapping[str, Any]) -> Page:
    """Derive the page from a decision; without several proxies it has no plane of ranks."""
    data, ensemble, suspects = decision.data, decision.ensemble, decision.suspects
    dynamics = ensemble.dynamics if ensemble is not None and ensemble.dynamics.proxies > 1 else None
    if dynamics is None and suspects is None:
        raise InputError(f"there is nothing to show: {'; '.join(decision.notes)}")
    n = len(data)
    mean, variance = np.zeros(n), np.zeros(n)
    if dynamics is not None:
        mean, variance = consensus(dynamics), rank_variance(dynamics)
    canaries = () if ensemble is None else ensemble.canaries
    canary, suspected = np.zeros(n, dtype=np.uint8), np.zeros(n, dtype=np.bool_)
    for code, kind in enumerate(canaries, 1):
        canary[kind.mask()] = code
    suggested = np.full(n, NO_LABEL)
    if ensemble is not None and "rival" in ensemble.dynamics.columns:
        suggested = np.array(ensemble.assessment.suggested)
    if suspects is not None:
        suspected[suspects.positions] = True
        suggested[suspects.positions] = suspects.suggested
    steps = _steps(decision, others=dynamics is not None)
    queue = _queue(decision, suggested)
    sample = sample_of(data, decision.kept, seed=0 if ensemble is None else ensemble.settings.seed)
    drawn = () if sample is None else sample.drawn.tolist()
    every = (*queue.tolist(), *drawn, *_class_turns(_suspects(decision), data.labels).tolist())
    asked = np.array(list(dict.fromkeys(every)), dtype=np.int64)
    return Page(
        decision,
        title,
        proxies=0 if dynamics is None else dynamics.proxies,
        mean_rank=mean,
        rank_variance=variance,
        suspected=suspected,
        canary=canary,
        canary_kinds=tuple(kind.kind for kind in canaries),
        suggested=suggested,
        steps=steps,
        chosen=[step.fraction for step in steps].index(_fraction(decision)),
        queue=queue,
        sample=sample,
        details=details_of(data, shown_positions(asked, mean, variance, data.ids)),
        recipe=recipe,
        environment={
            "dris": dris.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "system": f"{platform.system()} {platform.machine()}",
        },
    )


MAX_HARD_LISTED = 100
MAX_COLUMNS_SHOWN = 60
_BARS = 16
_KINDS = {"one-hot": "category", "hashed": "category", "days": "date", "hours": "time"}


def hard_rows(page: Page) -> list[tuple[str, str, str, str]]:
    """Id, given label, what the models would say and P(wrong) of what is hard or wrong."""
    decision, ensemble = page.decision, page.decision.ensemble
    if ensemble is None or not worth_a_look(decision):
        return []
    names, other = page.data.names, ensemble.assessment.other
    return [
        (
            str(page.data.ids[p]),
            names[page.data.labels[p]],
            names[other[p]] if other[p] >= 0 else "–",
            sure(float(decision.p_wrong[p])),
        )
        for p in decision.hard[:MAX_HARD_LISTED].tolist()
    ]


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """What a column is: its kind, how many cells are empty, and its values as bars in [0, 1]."""

    name: str
    kind: str
    gaps: int
    low: str
    high: str
    bars: tuple[float, ...]


def column_summaries(data: LabelledData) -> list[ColumnSummary]:
    """A line for each column that is learned from: numbers by their range, categories by count."""
    if data.x.ndim != 2 or len(data.features) > 2 * MAX_COLUMNS_SHOWN:
        return []
    made: dict[str, ColumnSummary] = {}
    gaps: dict[str, int] = {}
    end = 0
    for feature in data.features:
        begin, end = end, end + feature.width
        values, column = data.x[:, begin:end], feature.column
        if feature.how == "gap":
            gaps[column] = int((values > 0).sum())
            continue
        low, high, counts = "", "", np.zeros(0)
        if feature.how in ("one-hot", "hashed") and feature.categories:
            shown = values[:, : len(feature.categories)]
            counts = np.sort(np.asarray(shown > 0).sum(axis=0))[::-1][:_BARS]
            low = f"{len(feature.categories)} values"
        elif feature.how in ("number", "yes/no"):
            counts = np.histogram(values, bins=_BARS)[0]
            low, high = f"{values.min():.4g}", f"{values.max():.4g}"
        bars = (counts / max(counts.max(initial=0), 1)).tolist()
        kind = _KINDS.get(feature.how, feature.how)
        made.setdefault(column, ColumnSummary(column, kind, 0, low, high, tuple(bars)))
    every = [replace(one, gaps=gaps.get(name, 0)) for name, one in made.items()]
    return every[:MAX_COLUMNS_SHOWN]


def sample_of(
    data: LabelledData, kept: NDArray[np.int64], *, most: int = MAX_SAMPLE, seed: int = 0
) -> Sample | None:
    """Draw kept examples for a person to check, with the limit for each number of wrong ones."""
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


def _fraction(decision: Decision) -> float:
    return decision.kept.size / len(decision) if decision.keep is None else float(decision.keep)


def _suspects(decision: Decision) -> NDArray[np.int64]:
    if decision.suspects is None:
        return np.array([], dtype=np.int64)
    return decision.suspects.positions


def _steps(decision: Decision, *, others: bool) -> tuple[Step, ...]:
    """One step per keep fraction that the rule accepts; the decision's own rows at its own."""
    chosen = _fraction(decision)
    steps = []
    for fraction in sorted({*STEP_FRACTIONS, chosen}) if others else [chosen]:
        if fraction == chosen:
            kept, limit = decision.mask, decision.limit
        else:
            try:
                choice = decision.at(fraction)
            except InputError:  # it keeps nothing, or more than a gate lets through
                continue
            kept = choice.kept
            if kept.sum() < int(fraction * len(decision)):  # there is no more to keep
                continue
            other = replace(decision, limits=choice.limits, contradicted=choice.contradicted)
            limit = other.limit
        steps.append(Step(fraction, kept, None if limit is None else limit.share))
    return tuple(steps)


def _queue(decision: Decision, suggested: NDArray[np.int64]) -> NDArray[np.int64]:
    """The labels to review, likeliest wrong first: neither trusted nor what the proxies give."""
    data = decision.data
    differs = (suggested != data.labels) | (suggested == NO_LABEL)
    at = np.flatnonzero(~data.trusted & differs)
    order = np.argsort(-decision.p_wrong[at], kind="stable")
    return at[order[:MAX_QUEUE]].astype(np.int64)


def _class_turns(suspects: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The likeliest wrong of every class, then the second of every class, and so on."""
    turn = np.zeros(suspects.size, dtype=np.int64)
    for label in np.unique(labels[suspects]):
        own = labels[suspects] == label
        turn[own] = np.arange(own.sum())
    return suspects[np.argsort(turn, kind="stable")]


def details_of(data: LabelledData, positions: NDArray[np.int64]) -> Details:
    """Show images as pictures, and every column beside them or alone, columns of text first."""
    text = {f.column for f in data.features if f.how in ("text", "sentence")}
    names = sorted(columns_to_show(data), key=lambda name: name not in text)
    images = data.x.ndim == 4
    budget = MAX_DETAIL_BYTES // 2 if images and names else MAX_DETAIL_BYTES
    pictures: Mapping[int, bytes] = {}
    if images:
        source = data.x if data.paths is None else data.paths
        pictures = pictures_of(source, positions, budget=budget)
    if not names:
        return Details(pictures)
    columns, rows = rows_of(
        names[:MAX_COLUMNS], lambda at, some: show_rows(data, at, some), positions, budget=budget
    )
    return Details(pictures, columns, rows, len(names[MAX_COLUMNS:]))


def shown_positions(
    asked: NDArray[np.int64],
    mean_rank: NDArray[np.float64],
    rank_variance: NDArray[np.float64],
    ids: NDArray[Any],
    *,
    most: int = MAX_SHOWN,
) -> NDArray[np.int64]:
    """What a person is asked about, then a sample spread over the plane: every region gets some."""
    region = _regions(mean_rank) * REGIONS + _regions(rank_variance)
    lots = hashed_order(ids, seed=0)
    order = np.lexsort((lots, region))
    starts = np.r_[0, np.flatnonzero(np.diff(region[order])) + 1]
    sizes = np.diff(np.r_[starts, len(region)])
    turn = np.empty(len(region), dtype=np.int64)
    turn[order] = np.arange(len(region)) - np.repeat(starts, sizes)
    spread = np.lexsort((lots, turn))
    rest = spread[~np.isin(spread, asked)]
    return np.concatenate([asked, rest])[:most]


def pictures_of(
    images: Any, positions: NDArray[np.int64], *, budget: int = MAX_DETAIL_BYTES
) -> dict[int, bytes]:
    """Thumbnails of `images[position]`, in order, as long as their base64 fits the budget."""
    pictures, used = {}, 0
    for position in positions.tolist():
        data = picture_bytes(images[position])
        used += 4 * math.ceil(len(data) / 3)
        if used > budget:
            break
        pictures[position] = data
    return pictures


def rows_of(
    names: Sequence[str],
    columns_at: ColumnsAt,
    positions: NDArray[np.int64],
    *,
    budget: int = MAX_DETAIL_BYTES,
) -> tuple[tuple[str, ...], dict[int, tuple[str, ...]]]:
    """The columns' names and rows as text, in order, as long as they fit the budget.

    `columns_at` may add a column of its own. Once half of the budget is used, cells are cut.
    """
    columns = columns_at(positions, names)
    rows, used = {}, 0
    for place, position in enumerate(positions.tolist()):
        longest = None if used <= budget // 2 else SHORT_CELL
        row = tuple(as_text(cells[place], longest) for cells in columns.values())
        used += sum(len(cell.encode("utf-8", "surrogatepass")) + 3 for cell in row)
        if used > budget:
            break
        rows[position] = row
    return tuple(columns), rows


def _regions(values: NDArray[np.float64]) -> NDArray[np.int64]:
    low, high = float(values.min()), float(values.max())
    width = (high - low) or 1.0
    return np.minimum((values - low) / width * REGIONS, REGIONS - 1).astype(np.int64)


def picture_bytes(image: Any, side: int = THUMBNAIL_SIDE) -> bytes:
    """PNG of a tiny image, WebP of others, at most `side` pixels; of a path or bytes (C, H, W)."""
    from PIL import Image, UnidentifiedImageError

    if isinstance(image, str | Path):
        refuse_endless(image)
        try:
            with Image.open(image) as opened:
                picture = opened.convert("RGB")
        except (OSError, UnidentifiedImageError) as error:
            raise InputError(f"{image}: cannot be read as an image ({error})") from None
    else:
        picture = Image.fromarray(np.moveaxis(image[:3], 0, 2) if len(image) > 2 else image[0])
    out = io.BytesIO()
    if max(picture.size) <= TINY_SIDE:
        picture.save(out, "PNG", optimize=True)
    else:
        picture.thumbnail((side, side))
        picture.save(out, "WEBP", quality=75, method=4)
    return out.getvalue()
