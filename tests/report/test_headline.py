"""The one sentence on top of the page, and the advice below it."""

from dataclasses import replace

import pytest

from dris.core.judge.diagnostics import Check
from dris.core.judge.noise_checks import HIDING
from dris.decide.decision import decide_scored
from dris.decide.harm import Change, Harm
from dris.report.decision_page import headline, page_of
from dris.report.page import render
from made_scored import made_scored


@pytest.fixture(scope="module")
def decision():
    return decide_scored(made_scored()[0], keep=0.25)


def limited(decision, wrong):
    return replace(decision, limits=(replace(decision.limit, wrong=wrong),))


def hiding(decision):
    check = Check(HIDING, "fails", 0.9, 0.6, "made to fail")
    judgement = decision.judgement
    return replace(
        decision, judgement=replace(judgement, checks={**judgement.checks, "hiding": check})
    )


def advice_of(decision):
    return page_of(decision, title="made", recipe={}).advice


def test_it_says_how_many_look_wrong_and_what_they_should_be(decision):
    count = len(decision.suspects)
    said = headline(decision)
    assert said.startswith(
        f"{count} of 2,000 labels ({count / 2000:.1%}) look wrong to the proxies"
    )
    given, suggested, _ = decision.suspects.commonest()
    assert f"most often {given} that should be {suggested}" in said
    assert headline(replace(decision, suspects=None)).startswith("0 of 2,000 labels (0.0%) look")


def changed(decision, points):
    harm = Harm(Change(points, 0.5), Change(points, 0.5), {}, {}, 2000, 0.9)
    return replace(decision, harm=harm)


@pytest.mark.parametrize(
    ("points", "says"),
    [
        (2.0, "this helps (+2.0 ± 0.5 points)"),
        (-2.0, "this harms (-2.0 ± 0.5 points)"),
        (0.5, "this changes little (+0.5 ± 0.5 points)"),
    ],
)
def test_it_says_what_following_the_advice_changes(decision, points, says):
    assert says in headline(changed(decision, points))
    everything = replace(changed(decision, points), keep=None)
    assert says.replace("this", "dropping them") in headline(everything)
    assert "held-out" not in headline(decision)


def test_a_promise_comes_with_its_condition_or_not_at_all(decision):
    assert "at most" not in headline(limited(decision, 1))
    page = render(page_of(limited(decision, 1), title="made", recipe={}))
    assert "confidence, if wrong labels are like the planted ones" in page


def test_a_limit_that_hiding_labels_break_is_called_so(decision):
    assert "not to be trusted" in advice_of(hiding(decision)).caveat
    assert advice_of(decision).caveat == ""


def test_where_everything_is_kept_it_says_why():
    kept = decide_scored(made_scored(copies=True)[0], keep=0.25)
    said = headline(kept)
    assert said.startswith("Everything is kept: no rule is safe with these proxies (proxies differ")
    assert "Train other proxies" in advice_of(kept).todo[0]


def test_a_limit_without_content_advises_to_keep_less(decision):
    useless = limited(decision, min(decision.limit.corrupted, decision.limit.left))
    assert "Keep less, for a limit that says something." in advice_of(useless).todo
    assert "Keep less, for a limit that says something." not in advice_of(limited(decision, 1)).todo


def test_another_rule_than_the_judgements_is_named_with_the_judgements(decision):
    named = decide_scored(decision.scored, keep=0.25, rule="aum_mean")
    said = advice_of(named)
    assert said.rule == "aum_mean"
    assert said.reason.startswith("the judgement is for gated: about ")
    assert advice_of(decision).reason.startswith("about ")


def test_without_canaries_nothing_is_judged(decision):
    bare = decide_scored(replace(decision.scored, canaries=()), keep=0.25)
    said = advice_of(bare)
    assert (said.regime, said.rule, said.checks, said.certificate) == (
        "not judged",
        "aum_mean",
        (),
        (),
    )
