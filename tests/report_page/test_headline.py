"""The one sentence on top of the page, and the advice below it."""

from dataclasses import replace

import pytest

from dris.core.checks.diagnostics import Check
from dris.core.checks.noise_checks import HIDING
from dris.core.dynamics.dynamics import Dynamics
from dris.core.noise.noise_rate import WrongShare
from dris.pipeline.by_scores import decide_scored
from dris.pipeline.harm import Change, Harm
from dris.report_page.decision_page import changing, doing, headline, page_of, promise
from dris.report_page.page import render
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


def test_it_says_how_many_look_wrong_and_what_they_are_taken_for(decision):
    count = len(decision.suspects)
    said = headline(decision)
    assert said.startswith(f"About {count} of 2,000 labels look wrong, most often ")
    given, suggested, _ = decision.suspects.commonest()
    assert said.endswith(f"{suggested} labelled {given}.")
    assert headline(replace(decision, suspects=None)) == "None of 2,000 labels looks wrong."


def changed(decision, points):
    harm = Harm(Change(points, 0.5), Change(points, 0.5), {}, {}, 2000, 0.9)
    return replace(decision, harm=harm)


@pytest.mark.parametrize(
    ("points", "says"),
    [
        (2.0, "on this subset agreed better with labels they had not seen: +2.0 ± 0.5 points"),
        (-2.0, "on this subset agreed worse with labels they had not seen: -2.0 ± 0.5 points"),
        (0.5, "on this subset agreed about as well with labels they had not seen: +0.5 ± 0.5"),
    ],
)
def test_it_says_what_following_the_advice_changes(decision, points, says):
    assert says in changing(changed(decision, points))
    everything = replace(changed(decision, points), keep=None)
    assert says.replace("on this subset", "without them") in changing(everything)
    assert "was not measured" in changing(decision)


def test_it_says_what_to_do_in_a_line_that_can_be_typed(decision):
    kept = decision.kept.size
    said = doing(decision, "my photos")
    assert said.startswith(f"Train on the {kept} examples chosen of 2,000, and look at")
    assert said.endswith("dris review 'my photos'.")
    assert doing(replace(decision, keep=None), "a").startswith(f"Train on the {kept} labels that")


def test_a_promise_comes_with_its_condition_or_not_at_all(decision):
    assert "at most" not in headline(limited(decision, 1))
    page = render(page_of(limited(decision, 1), title="made", recipe={}))
    assert "confidence, if wrong labels are like the planted ones" in page
    said = promise(limited(decision, 1))
    assert said.startswith("At most 0.")
    assert "made wrong to test the proxies" in said
    assert "was not measured" in promise(replace(decision, limits=()))


def test_a_best_guess_stands_beside_the_range_where_there_is_one(decision):
    known = replace(decision, wrong=WrongShare(0.1, 0.3, 0.2))
    about = "between 10.0% and 30.0% are wrong, about 20.0% if errors fall at random: at least"
    assert about in promise(known)
    unknown = replace(decision, wrong=WrongShare(0.1, 0.3))
    assert "between 10.0% and 30.0% are wrong: at least what fits random" in promise(unknown)


def test_a_limit_that_hiding_labels_break_is_called_so(decision):
    said = promise(hiding(limited(decision, 1)))
    assert said.startswith("No limit on what is left is given: wrong labels here are not like")
    assert "%" not in said


def test_a_limit_that_is_withdrawn_stands_nowhere_on_the_page(decision):
    page = page_of(decision, title="made", recipe={})
    assert page.advice.certificate  # the twin
    assert any(step.limit is not None for step in page.steps)
    gone = page_of(hiding(decision), title="made", recipe={})
    assert gone.advice.certificate == ()
    assert all(step.limit is None for step in gone.steps)


def test_what_no_model_can_see_and_the_condition_of_the_change_are_on_the_page(decision):
    assert "Errors that follow the features" in promise(decision)
    harm = Harm(Change(2.0, 0.5), Change(2.0, 0.5), {}, {"a": 1.0, "b": -3.0}, 2000, 0.9)
    said = changing(replace(decision, harm=harm))
    assert said.endswith(f"worst for b with -3.0; {harm.condition}.")


def test_where_everything_is_kept_it_says_why():
    kept = decide_scored(made_scored(copies=True)[0], keep=0.25)
    said = doing(kept)
    assert said.startswith("Keep everything for now (no rule is safe with these proxies (proxies")
    assert headline(kept).startswith("About ")
    assert "Train other proxies" in advice_of(kept).todo[0]


def test_a_limit_without_content_advises_to_keep_less(decision):
    useless = limited(decision, min(decision.limit.corrupted, decision.limit.left))
    assert "Keep less, for a limit that says something." in advice_of(useless).todo
    assert "Keep less, for a limit that says something." not in advice_of(limited(decision, 1)).todo


def test_one_proxy_alone_has_a_page_without_a_plane(decision):
    first = decision.scored.dynamics.columns
    only = Dynamics.from_arrays(
        **{name: column[:1, 0] for name, column in first.items()}, labels=decision.data.labels
    )
    alone = replace(decision, scored=replace(decision.scored, dynamics=only, canaries=()))
    page = page_of(replace(alone, judgement=None, limits=(), harm=None), title="one", recipe={})
    assert page.proxies == 0
    assert len(page.suspects) == len(decision.suspects)
    assert 'id="plane-section"' not in render(page)


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


def test_only_the_reason_is_given_for_keeping_everything_not_every_note():
    kept = decide_scored(made_scored(copies=True)[0], keep=0.25)
    more = replace(kept, notes=("text: text, read as 256 components", *kept.notes))
    assert doing(more) == doing(kept)


def test_what_was_noticed_in_the_data_is_on_the_page(decision):
    note = "4 rows without a label (a, b, <c> and 1 more) are put aside"
    page = render(page_of(replace(decision, notes=(note,)), title="made", recipe={}))
    folded = page[page.index('<details class="noticed">') :].partition("</details>")[0]
    assert "1 note about the data" in folded
    assert "4 rows without a label (a, b, &lt;c&gt; and 1 more) are put aside" in folded
    bare = render(page_of(replace(decision, notes=()), title="made", recipe={}))
    assert '<details class="noticed">' not in bare
