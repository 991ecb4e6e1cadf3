"""What several annotators are worth, and which rows need another opinion."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dris.core.noise.annotators import Answers, Consensus
from dris.core.noise.assessment import Assessment, LabelSide
from dris.core.noise.noise_rate import NoiseRate
from dris.core.noise.views import Views

if TYPE_CHECKING:
    from dris.pipeline.decision import Decision

Line = tuple[object, ...]
MIN_DOUBT = 0.1  # P(wrong) from which on a row needs another opinion


@dataclass(frozen=True, slots=True, eq=False)
class Annotators:
    """The people behind a decision's labels.

    `needs_opinion` are positions of rows whose consensus is wrong with a chance of a tenth or more,
    the likeliest wrong first.
    """

    names: tuple[str, ...]
    counts: NDArray[np.int64]  # how many labels each gave
    quality: NDArray[np.float64]  # how often each is right, by the answers of all and the proxies
    mistakes: tuple[tuple[int, int] | None, ...]  # the commonest of each, as (true, answer)
    agreement: NDArray[np.float64]  # of each row, the share of its answers that are the consensus
    needs_opinion: NDArray[np.int64]
    answers: Answers


def judge_annotators(decision: "Decision") -> Annotators | None:
    """The annotators of a decision; None where the labels are one person's."""
    answers, ensemble = decision.data.answers, decision.ensemble
    if answers is None or ensemble is None or ensemble.consensus is None:
        return None
    people, found = len(answers.names), ensemble.consensus
    classes = found.truth.shape[1]
    counts = np.bincount(answers.annotator, minlength=people)
    same = answers.label == decision.data.labels[answers.row]
    votes = np.bincount(answers.row, minlength=len(decision))
    agreement = np.bincount(answers.row, same, minlength=len(decision)) / np.maximum(votes, 1)
    doubtful = np.flatnonzero(decision.p_wrong >= MIN_DOUBT)
    order = np.lexsort((agreement[doubtful], -decision.p_wrong[doubtful]))
    # Which true class is answered as which how often: the largest cell off the diagonal.
    often = found.confusion * found.truth.mean(axis=0)[:, None] * (1 - np.eye(classes))
    largest = [divmod(int(cell), classes) for cell in often.reshape(people, -1).argmax(axis=1)]
    mistakes = tuple(
        pair if often[who][pair] * counts[who] >= 1 else None for who, pair in enumerate(largest)
    )
    return Annotators(
        answers.names, counts, found.quality, mistakes, agreement, doubtful[order], answers
    )


def annotator_lines(decision: "Decision") -> list[Line]:
    """A line for each annotator, the best first: answers, quality, the commonest mistake."""
    lines: list[Line] = [("annotator", "answers", "quality", "true", "answered")]
    people, names = decision.annotators, decision.data.names
    if people is None:
        return lines
    for who in np.argsort(-people.quality, kind="stable").tolist():
        mistake = [names[label] for label in people.mistakes[who] or ()] or ["", ""]
        quality = f"{people.quality[who]:.4f}"
        lines.append((people.names[who], int(people.counts[who]), quality, *mistake))
    return lines


def opinion_lines(decision: "Decision") -> list[Line]:
    """A line for each row that needs another opinion, the likeliest wrong first."""
    lines: list[Line] = [("id", "consensus", "p_wrong", "agreement", "answers")]
    data, people = decision.data, decision.annotators
    if people is None:
        return lines
    for row in people.needs_opinion.tolist():
        chances = (f"{decision.p_wrong[row]:.4f}", f"{people.agreement[row]:.2f}")
        label = data.names[data.labels[row]]
        lines.append((data.ids[row], label, *chances, people.answers.said(row, data.names)))
    return lines


def model_opinions(views: Views) -> NDArray[np.float64]:
    """The mean probability of each class out of fold, (N, C)."""
    mean = np.asarray(views.values.mean(axis=0) / views.spread)
    if views.columns is None:
        return mean
    whole = np.repeat(mean[:, -1:], views.classes, axis=1)
    np.put_along_axis(whole, views.columns.astype(np.int64), mean[:, :-1], axis=1)
    return whole


def weigh_answers(
    assessment: Assessment, found: Consensus, trusted: NDArray[np.bool_]
) -> Assessment:
    """The same assessment with P(wrong) by the annotators' answers as well as by the models.

    Annotators who make the same mistakes hide them, so the noise rate is a lower bound.
    """
    own, views, rate = assessment.given.labels, assessment.views, assessment.noise_rate
    if own is None or views is None or rate is None:
        return assessment
    n, truth = len(own), found.truth.copy()
    truth[trusted] = np.arange(truth.shape[1]) == own[trusted][:, None]
    wrong = 1 - truth[np.arange(n), own]
    others = truth.copy()
    others[np.arange(n), own] = -1
    seen = truth
    if views.columns is not None:
        single = np.take_along_axis(truth, views.columns.astype(np.int64), axis=1)
        seen = np.column_stack([single, np.maximum(1 - single.sum(axis=1), 0)])
    likely = float(wrong.mean())
    side = LabelSide(own, wrong)
    return replace(
        assessment,
        shown=side,
        given=side,
        suggested=truth.argmax(axis=1),
        p_suggested=truth.max(axis=1),
        other=others.argmax(axis=1),
        contradicted=wrong >= MIN_DOUBT,
        training_weights=1 - wrong,
        noise_rate=NoiseRate(likely, max(rate.high, likely), likely),
        truth=seen,
    )
