"""Packing, what is shown, the building helper, the ticks: each door and its refusals."""

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.select.selection import keep_top
from dris.data.reader import read_data
from dris.pipeline.answers import Tick, read_ticks
from dris.report_page.build import report_data
from dris.report_page.charts import Axis
from dris.report_page.decision_page import details_of
from dris.report_page.packing import packed, packed_text, quantised, script_json, unpacked
from dris.report_page.page_data import Pictures, Rows, Step
from dris.report_page.payload import payload
from dris.report_page.shown import Looked, pictures, rows, shown_positions
from made_report import made

# -- packing ---------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 2**32 - 1), max_size=50))
def test_whole_numbers_come_back_as_they_went_in(values):
    assert unpacked(packed(np.array(values, dtype=np.int64))).tolist() == values


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_quantised_numbers_are_off_by_half_a_step_at_most(values):
    back = unpacked(quantised(np.array(values), 1.0)) / 65535
    assert np.abs(back - values).max() <= 0.5 / 65535 + 1e-12


def test_all_zeros_can_be_quantised():
    assert unpacked(quantised(np.zeros(3), 0.0)).tolist() == [0, 0, 0]


@given(st.text(), st.lists(st.text(), max_size=3))
def test_script_json_is_the_value_and_nothing_html_acts_on(key, values):
    import json

    text = script_json({key: values})
    assert json.loads(text) == {key: values}
    assert not set("<>&\u2028\u2029") & set(text)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=20))
def test_ids_that_fit_come_back_whole(words):
    held = packed_text(words, budget=100_000)
    assert [held["prefix"] + rest for rest in held["words"]] == words
    assert not held["cut"]


@given(st.lists(st.text(min_size=30, max_size=200), min_size=2, max_size=20, unique=True))
def test_ids_past_the_budget_are_cut_to_it(words):
    budget = 20 * len(words)
    held = packed_text(words, budget=budget)
    if held["cut"]:
        weight = sum(len(w.encode("utf-8", "surrogatepass")) + 3 for w in held["words"])
        assert weight <= budget


# -- what is shown ---------------------------------------------------------------------------------


def test_the_queue_comes_first_and_every_region_gets_its_turn():
    x = np.r_[np.full(1000, 0.1), 0.9]
    chosen = shown_positions(np.array([5, 3]), x, np.zeros(1001), np.arange(1001), most=5)
    assert chosen[:2].tolist() == [5, 3]
    assert 1000 in chosen.tolist()
    assert len(set(chosen.tolist())) == 5


def test_what_is_shown_does_not_depend_on_the_order_of_the_file():
    rng = np.random.default_rng(0)
    x, y, ids, order = rng.random(200), rng.random(200), np.arange(200), rng.permutation(200)
    nobody = np.array([], dtype=np.int64)
    one = shown_positions(nobody, x, y, ids, most=30)
    other = shown_positions(nobody, x[order], y[order], ids[order], most=30)
    assert ids[one].tolist() == ids[order][other].tolist()


@pytest.mark.parametrize(
    ("shape", "size"),
    [((8, 8), (8, 8)), ((3, 20, 40), (40, 20)), ((20, 40, 3), (40, 20)), ((1, 200, 100), (48, 96))],
)
def test_thumbnails_have_the_shape_of_the_image_and_at_most_96_pixels(shape, size):
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    data = pictures([image], np.array([0])).images[0]
    assert Image.open(io.BytesIO(data)).size == size


def test_floats_in_the_unit_range_are_taken_as_brightness_and_others_by_their_range():
    def middle(values):
        data = pictures([np.array(values)], np.array([0])).images[0]
        return np.asarray(Image.open(io.BytesIO(data))).tolist()

    assert middle([[0.0, 0.5]]) == [[0, 128]]
    assert middle([[-1.0, 1.0]]) == [[0, 255]]
    assert middle([[7.0, 7.0]]) == [[0, 0]]


def test_pictures_stop_at_their_budget():
    image = np.zeros((8, 8), dtype=np.uint8)
    one = len(pictures([image], np.array([0])).images[0])
    held = pictures([image] * 9, np.arange(9), budget=3 * 4 * -(-one // 3))
    assert sorted(held.images) == [0, 1, 2]


def test_an_image_file_is_read_and_a_broken_one_is_named(tmp_path):
    Image.new("RGB", (5, 4)).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"nothing")
    assert pictures([tmp_path / "a.png"], np.array([0])).images[0][:4] == b"\x89PNG"
    with pytest.raises(InputError, match=r"b\.png: cannot be read as an image"):
        pictures([tmp_path / "b.png"], np.array([0]))


@pytest.mark.parametrize("image", [np.zeros(4), np.zeros((4, 4, 5)), np.array([["a"]])])
def test_what_is_no_image_is_refused_with_its_shape(image):
    with pytest.raises(InputError, match=r"the image at position 0 must be \(H, W\)"):
        pictures([image], np.array([0]))


def test_rows_are_text_in_full_and_numbers_whole():
    table = {
        "v": [np.arange(9.0)],
        "w": [[1.0]],
        "t": ["x" * 999],
        "n": [None],
        "f": [1 / 3],
        "k": [123456789.0],
    }
    found = rows(table, np.array([0])).values[0]
    assert found == (
        "[0, 1, 2, …] (9 values)",
        "[1]",
        "x" * 999,
        "",
        "0.3333333333333333",
        "123456789",
    )


def test_text_is_cut_only_where_half_of_the_budget_is_used():
    held = rows({"t": ["x" * 200] * 20}, np.arange(20), budget=2000).values
    sizes = [len(row[0]) for row in held.values()]
    assert sizes == [200] * 5 + [80] * (len(sizes) - 5)
    assert len(sizes) == 16


def test_rows_that_are_read_when_needed_are_those_of_the_positions():
    asked = []

    def at(positions, names):
        asked.append((positions.tolist(), list(names)))
        return {name: [f"{name}{p}" for p in positions] for name in names}

    held = rows(Looked([f"c{i}" for i in range(1002)], at), np.array([7, 3]))
    assert asked == [([7, 3], [f"c{i}" for i in range(1000)])]
    assert held.left_out == 2
    assert held.values[3][:2] == ("c03", "c13")


def test_rows_stop_at_their_budget_and_at_a_thousand_columns():
    held = rows({str(c): ["ab"] * 10 for c in range(1010)}, np.arange(10), budget=2 * 1000 * 5)
    assert len(held.columns) == 1000
    assert held.left_out == 10
    assert sorted(held.values) == [0, 1]


def test_what_a_table_says_is_there_beside_a_picture():
    image = np.zeros((300, 8, 8), dtype=np.uint8)
    data = made(images=image, table={"camera": [f"no. {i}" for i in range(300)]})
    held = payload(data)["details"]
    first = str(data.queue[0])
    assert held["beside"]["by"][first] == [f"no. {first}"]
    assert first in held["by"]


def test_a_card_shows_the_whole_text_first_and_numbers_as_the_file_has_them(tmp_path):
    said = [f"ticket {i} says {'a long story ' * 20}and ends" for i in range(40)]
    lines = [f"{123456789 + i},{i % 7}.50,{said[i]},{'ab'[i % 2]}" for i in range(40)]
    path = tmp_path / "tickets.csv"
    path.write_text("\n".join(["number,price,said,y", *lines]) + "\n", encoding="utf-8")
    data = read_data(path, label="y", without=["price"])
    held = rows(details_of(data)["table"], np.array([5, 39]))
    assert held.columns == ("said", "number", "price")
    assert held.values == {
        5: (said[5], "123456794", "5.50"),
        39: (said[39], "123456828", "4.50"),
    }


# -- building --------------------------------------------------------------------------------------


def test_a_canary_is_a_canary_before_it_is_trusted_or_suspected():
    data = made()
    assert not (data.suspected & (data.canary > 0)).any()
    assert not (data.canary[data.queue] > 0).any()
    assert not data.trusted[data.queue].any()


def test_the_queue_runs_down_from_the_most_suspicious():
    data = made(suspicion=np.arange(300.0))
    assert (np.diff(data.suspicion[data.queue]) < 0).all()


def test_fractions_that_the_rule_refuses_are_no_steps():
    def gated(fraction):
        if fraction > 0.6:
            raise InputError("the gate lets through 60 % only")
        return keep_top(np.arange(300.0), fraction=fraction)

    data = made(subset_at=gated)
    assert data.steps[-1].fraction == 0.6
    with pytest.raises(InputError, match="the gate lets through"):
        made(subset_at=gated, keep=0.7)


def test_a_keep_fraction_off_the_grid_becomes_a_step():
    data = made(keep=0.29)
    assert data.steps[data.chosen].kept.sum() == 87


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"suspected": [1, 2]}, "a mask must be 300 booleans"),
        ({"labels": np.zeros(299, dtype=int)}, "must"),
        ({"labels": np.full(300, 5), "class_names": ["a", "b"]}, "labels must be below classes"),
        ({"suggested": np.full(300, 9)}, r"suggested must be in -1\.\.3, got 9 to 9"),
        ({"suspicion": np.full(300, np.nan)}, "must be finite"),
        ({"keep": 0.0}, "keep must be in"),
        ({"queue": -1}, "queue must be at least 0"),
        ({"contamination_at": lambda s: (1.5, None)}, "contamination must be in"),
        (
            {"canaries": {"a": np.arange(300) < 3, "b": np.arange(300) < 2}},
            "a canary twice, the second time as b",
        ),
    ],
)
def test_bad_input_is_refused_in_one_sentence(changes, message):
    with pytest.raises(InputError, match=message):
        made(**changes)


def test_dynamics_without_labels_ask_for_them():
    with pytest.raises(InputError, match="hold no labels; pass labels="):
        report_data(
            Dynamics.from_losses(np.eye(3)),
            title="",
            advice=made().advice,
            keep=0.5,
            subset_at=lambda f: keep_top([1, 2, 3], fraction=f),
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"details": Pictures({0: b"GIF89a"})}, "position 0 is not PNG, JPEG or WebP"),
        ({"details": Pictures({300: b"\x89PNG"})}, r"position 300, outside 0\.\.299"),
        ({"details": Rows(("a", "b"), {1: ("x",)})}, "position 1 has 1 cells for 2 columns"),
        (
            {"details": Pictures({}, Rows(("a", "b"), {1: ("x",)}))},
            "position 1 has 1 cells for 2 columns",
        ),
        ({"queue": np.array([1, 1])}, "none of them twice"),
        ({"queue": np.array([0.5])}, "queue must be positions"),
        ({"steps": ()}, "steps must be 1 to 32"),
        ({"keep": 0.26}, "must be one of the steps' fractions"),
        ({"mean_rank": np.full(300, 1.5)}, r"mean_rank must be in \[0, 1\]"),
        ({"rank_variance": np.full(299, 0.1)}, "one entry per example"),
        ({"canary": np.full(300, 2, dtype=np.uint8)}, r"canary must be in 0\.\.1"),
        ({"canary": np.zeros(300)}, "canary must be 300 whole numbers"),
        ({"canary_kinds": tuple("abcdefghijklmnop")}, "at most 15"),
        ({"suspected": np.zeros(3, dtype=bool)}, "suspected must be a boolean mask of 300"),
        ({"class_names": ("one",)}, "labels must be below classes|class_names has 1 names"),
        (
            {"steps": (Step(0.5, np.ones(300, bool)), Step(0.25, np.ones(300, bool)))},
            "growing fractions",
        ),
    ],
)
def test_the_noun_itself_refuses_what_does_not_fit(changes, message):
    with pytest.raises(InputError, match=message):
        replace(made(), **changes)


def test_the_nouns_arrays_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        made().mean_rank[0] = 1.0


def test_an_axis_of_counts_marks_whole_numbers_only():
    assert [text for _, text in Axis("K", 1, 3, 0, 100, whole=True).ticks()] == ["1", "2", "3"]


# -- ticks -----------------------------------------------------------------------------------------

HEADER = "id,given,proposed,verdict,corrected\n"


def written(tmp_path, text):
    path = tmp_path / "review.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_ticks_are_read_as_the_page_writes_them(tmp_path):
    text = HEADER + '"\'=1+1","a ""b""","","right",""\r\n"\'\'x","c,d","e","wrong","e"\r\n'
    assert read_ticks(written(tmp_path, text)) == [
        Tick("=1+1", 'a "b"', "", "right", ""),
        Tick("'x", "c,d", "e", "wrong", "e"),
    ]


def test_a_spreadsheets_byte_order_mark_and_unticked_lines_are_forgiven(tmp_path):
    path = written(tmp_path, b"\xef\xbb\xbf" + f"{HEADER}1,a,b,,\n\n2,a,b,unsure,\n".encode())
    assert [t.id for t in read_ticks(path)] == ["2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the first line must begin id,given,proposed,verdict,corrected, got nothing"),
        ("a,b\n", "got a,b"),
        (HEADER + "1,a,b,maybe,\n", "row 2: verdict must be right, wrong, unsure or empty"),
        (HEADER + "1,a,b\n", "row 2: 5 cells are needed, got 3"),
        (HEADER + "1,a,b,right,\n1,a,b,wrong,\n", "row 3: id '1' occurs twice"),
        (b"\xff\xfe", "not a CSV file in UTF-8"),
        (HEADER + '"1,a', "not a CSV file in UTF-8"),
    ],
)
def test_a_bad_file_of_ticks_is_refused_by_file_and_row(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_ticks(written(tmp_path, text))


def test_a_file_of_ticks_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_ticks(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="is not a file"):
        read_ticks(tmp_path)
