"""What a page shows of a decision."""

from dataclasses import replace

import numpy as np
import pytest

from dris.core.checks.assumption_checks import HIDING, Check
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.data.labelled import LabelledData
from dris.pipeline.decision import Decision
from dris.pipeline.route import decide_by
from dris.report_page.content import page_of
from dris.report_page.page import _regions
from made_ensemble import made_ensemble
from made_report import made, made_decision


@pytest.fixture(scope="module")
def decision():
    return decide_by(made_ensemble()[0], keep=0.25)


def shown(decision):
    return page_of(decision, title="made", recipe={})


def test_the_chosen_step_has_the_rows_and_the_limit_of_the_decision(decision):
    page = shown(decision)
    chosen = page.steps[page.chosen]
    assert np.flatnonzero(chosen.kept).tolist() == decision.kept.tolist()
    assert chosen.limit == decision.limit.share
    sizes = [step.kept.sum() for step in page.steps]
    assert sizes == sorted(sizes)
    asked = [int(step.fraction * len(page.data)) for step in page.steps]
    assert all(size >= least for size, least in zip(sizes, asked, strict=True))
    assert len(page.steps) < 20  # the gate lets fewer through than the largest fractions ask for


def test_suspects_and_suggestions_are_those_of_the_decision(decision):
    page = shown(decision)
    assert page.suspects.tolist() == decision.suspects.positions.tolist()
    at = decision.suspects.positions
    assert page.suggested[at].tolist() == decision.suspects.suggested.tolist()
    assert np.flatnonzero(page.suspected).tolist() == sorted(at.tolist())


def test_an_outcome_is_canary_then_trusted_then_dropped_then_a_suspect_that_is_kept():
    page = made()
    outcomes = page.outcomes()
    assert (outcomes[page.canary > 0] == 4).all()
    assert (outcomes[page.data.trusted & (page.canary == 0)] == 3).all()
    free = (page.canary == 0) & ~page.data.trusted
    assert (outcomes[free & ~page.decision.mask] == 1).all()
    assert (outcomes[free & page.decision.mask & page.suspected] == 2).all()


def test_the_plane_counts_as_dropped_what_the_decision_drops():
    page = made()
    counts = np.sum([counts for _, _, counts, _ in _regions(page)], axis=0)
    kept, dropped, suspected, _, canaries = counts.tolist()
    assert (kept + suspected, dropped) == (page.decision.mask.sum(), (~page.decision.mask).sum())
    assert canaries == (page.canary > 0).sum() > 0
    assert dropped > (page.outcomes() == 1).sum()  # the twin: some are drawn as something else


def test_the_queue_runs_down_from_the_most_suspicious_and_asks_what_is_open():
    page = made()
    assert (np.diff(page.decision.p_wrong[page.queue]) <= 0).all()
    assert not page.data.trusted[page.queue].any()
    assert (page.suggested[page.queue] != page.data.labels[page.queue]).all()


def test_what_a_person_is_asked_about_is_shown_first_then_suspects_class_by_class():
    page = made(3_000, classes=20)
    order = list(page.details.shown)
    assert order[: len(page.queue)] == page.queue.tolist()
    drawn = [p for p in page.sample.drawn.tolist() if p not in set(page.queue.tolist())]
    rest = order[len(page.queue) :]
    assert rest[: len(drawn)] == drawn
    first = {c: next(p for p in page.suspects if page.data.labels[p] == c) for c in range(20)}
    assert set(map(int, first.values())) <= set(order[: len(page.queue) + len(drawn) + 20])


def test_the_sample_is_drawn_from_what_is_kept_and_its_limits_grow(decision):
    page = shown(decision)
    assert np.isin(page.sample.drawn, decision.kept).all()
    assert len(page.sample.limits) == len(page.sample.drawn) + 1 == 61
    assert list(page.sample.limits) == sorted(page.sample.limits)


def test_fractions_that_the_rule_refuses_are_no_steps():
    few = shown(made_decision(12, classes=2, keep=0.5, canaries=False))
    assert few.steps[0].fraction == 0.1  # a twentieth of 12 is no row
    assert few.steps[few.chosen].fraction == 0.5


def test_a_limit_that_is_withdrawn_is_on_no_step(decision):
    assert any(step.limit is not None for step in shown(decision).steps)  # the twin
    check = Check(HIDING, "fails", 0.9, 0.6, "made to fail")
    checks = {**decision.judgement.checks, "hiding": check}
    hiding = replace(decision, judgement=replace(decision.judgement, checks=checks))
    assert all(step.limit is None for step in shown(hiding).steps)


def test_one_proxy_alone_has_no_plane_and_no_other_fractions(decision):
    columns = decision.ensemble.dynamics.columns
    only = Dynamics.from_arrays(
        **{name: column[:1, 0] for name, column in columns.items()}, labels=decision.data.labels
    )
    ensemble = replace(decision.ensemble, dynamics=only, canaries=())
    page = shown(replace(decision, ensemble=ensemble, judgement=None, limits=()))
    assert (page.proxies, len(page.steps)) == (0, 1)
    assert len(page.suspects) == len(decision.suspects)


def test_nothing_decided_is_nothing_to_show():
    data = LabelledData.of(np.eye(2), [0, 1], classes=("a", "b"))
    empty = Decision(data, np.arange(2), np.zeros(2), None, "everything", None, notes=("too few",))
    with pytest.raises(InputError, match="too few"):
        shown(empty)
