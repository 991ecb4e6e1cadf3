"""Packing and what the page's script reads."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dris.report_page.page import pack, pack_text, quantise, render, script_json
from made_report import embedded, made, unpack


@given(st.lists(st.integers(0, 2**32 - 1), max_size=50))
def test_whole_numbers_come_back_as_they_went_in(values):
    assert unpack(pack(np.array(values, dtype=np.int64))).tolist() == values


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_quantised_numbers_are_off_by_half_a_step_at_most(values):
    back = unpack(quantise(np.array(values), 1.0)) / 65535
    assert np.abs(back - values).max() <= 0.5 / 65535 + 1e-12


@given(st.text(), st.lists(st.text(), max_size=3))
def test_script_json_is_the_value_and_nothing_html_acts_on(key, values):
    text = script_json({key: values})
    assert json.loads(text) == {key: values}
    assert not set("<>&\u2028\u2029") & set(text)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=20))
def test_ids_that_fit_come_back_whole(words):
    held = pack_text(words, budget=100_000)
    assert [held["prefix"] + rest for rest in held["words"]] == words
    assert not held["cut"]


@given(st.lists(st.text(min_size=30, max_size=200), min_size=2, max_size=20, unique=True))
def test_ids_past_the_budget_are_cut_to_it(words):
    budget = 20 * len(words)
    held = pack_text(words, budget=budget)
    if held["cut"]:
        weight = sum(len(w.encode("utf-8", "surrogatepass")) + 3 for w in held["words"])
        assert weight <= budget


def test_the_embedded_numbers_are_those_of_the_decision():
    page = made()
    decision, held = page.decision, embedded(render(page))
    assert np.abs(unpack(held["x"]) / 65535 - page.mean_rank).max() <= 0.5 / 65535 + 1e-12
    variance = unpack(held["y"]) / 65535 * held["top"]
    assert np.abs(variance - page.rank_variance).max() <= held["top"] / 65535
    assert unpack(held["label"]).tolist() == decision.data.labels.tolist()
    kept = unpack(held["kept"])
    assert np.flatnonzero(kept >> held["chosen"] & 1).tolist() == decision.kept.tolist()
    for s, step in enumerate(page.steps):
        assert (kept >> s & 1).astype(bool).tolist() == step.kept.tolist()
        assert held["steps"][s]["size"] == step.kept.sum()
        assert held["steps"][s]["limit"] == step.limit
        *stay, gone = (sum(group) for group in held["steps"][s]["byClass"])
        assert (sum(stay), gone) == (step.kept.sum(), (~step.kept).sum())
    assert [q["at"] for q in held["queue"]] == page.queue.tolist()


def test_the_outcome_by_flags_and_bits_is_that_of_the_page():
    page = made()
    held = embedded(render(page))
    flags, kept = unpack(held["flags"]), unpack(held["kept"])

    dropped = 1 - (kept.astype(np.int64) >> held["chosen"] & 1)
    cases = [flags >> 2 > 0, flags & 2 > 0, dropped > 0, flags & 1 > 0]
    by_script = np.select(cases, [4, 3, 1, 2], 0)
    assert by_script.tolist() == page.outcomes().tolist()
    assert {0, 1, 3, 4} <= set(page.outcomes().tolist())


def test_the_confusions_are_those_of_the_suspects_and_every_suspect_has_a_row():
    page = made()
    held = embedded(render(page))
    counted = sum(n for _, _, n in held["confusion"])
    assert counted == page.suspected.sum() == unpack(held["suspects"]).size
    assert all(given != other for given, other, _ in held["confusion"])
    p_wrong = page.decision.p_wrong[unpack(held["suspects"])]
    assert (np.diff(p_wrong) <= 0).all()
    assert held["clearest"] == page.suspects[:3].tolist()


def test_past_a_hundred_thousand_the_points_are_a_sample_and_the_counts_are_not():
    page = made(120_000)
    text = render(page)
    held = embedded(text)
    assert held["n"] == 120_000
    assert held["drawn"] == unpack(held["x"]).size == len(held["ids"]["words"]) == 100_000
    assert held["steps"][-1]["size"] == page.steps[-1].kept.sum() > 100_000
    labels = unpack(held["label"])
    asked = [int(labels[q["at"]]) for q in held["queue"]]
    assert asked == page.data.labels[page.queue].tolist()
    assert unpack(held["suspects"]).size == page.suspected.sum()
    assert len(text) < 8_000_000
