"""The sentences on top of the page: which numbers they hold, and when."""

from dataclasses import replace

import pytest

from dris.pipeline.harm import Change, Harm
from dris.pipeline.route import decide_by
from dris.pipeline.wording import advice, change, headline, promise
from made_ensemble import made_ensemble


@pytest.fixture(scope="module")
def decision():
    return decide_by(made_ensemble()[0], keep=0.25)


def test_the_headline_counts_the_suspects(decision):
    assert f"{len(decision.suspects)} of 2,000" in headline(decision)
    assert headline(replace(decision, suspects=None)).startswith("None of 2,000")


@pytest.mark.parametrize("points", [2.0, -2.0, 0.5])
def test_the_change_is_there_with_its_error_and_the_worst_class(decision, points):
    measured = Change(points, 0.5)
    harm = Harm(measured, measured, {}, {"a": 1.0, "b": -3.0}, 2000, 0.9)
    text = change(replace(decision, harm=harm))
    assert f"{points:+.1f} ± 0.5" in text
    assert "b with -3.0" in text


def test_what_to_do_ends_with_a_line_that_can_be_typed(decision):
    text = advice(decision, "my photos")
    assert f"{decision.kept.size}" in text
    assert text.endswith("dris review 'my photos'.")


def test_a_limit_is_stated_or_not_at_all(decision):
    limit = decision.limit
    assert f"({limit.wrong:,} of {limit.left:,})" in promise(decision)
    assert "%" not in promise(replace(decision, limits=(), noise_rate=None))
