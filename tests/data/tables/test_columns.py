"""What columns become: numbers and dates as people write them, categories, ids, copies, leaks."""

import datetime
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow.csv import write_csv
from scipy.sparse import csr_array

from dris.core.errors import InputError
from dris.data.outputs import show_rows
from dris.data.reader import read_data
from dris.data.tables.written import parse_dates, parse_numbers

N = 60


def frame(**columns):
    """A table with these columns and a label that none of them tells."""
    rng = np.random.default_rng(5)
    n = len(next(iter(columns.values())))
    return pa.table({**columns, "y": [("a", "b")[i] for i in rng.integers(0, 2, n)]})


def read(**columns):
    return read_data(frame(**columns), label="y")


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["$1,200.50", "$3", "-$4.25"], [1200.5, 3, -4.25]),
        (["1.234,50 €", "2 €", "0,5 €"], [1234.5, 2, 0.5]),
        (["EUR 12", "EUR 13.5", "CHF 1'000"], [12, 13.5, 1000]),
        (["12 %", "7.5%", "100%"], [12, 7.5, 100]),
        (["(300)", "20", "(1.5)"], [-300, 20, -1.5]),
        (["3,14", "2,7", "1,0"], [3.14, 2.7, 1]),
        (["1 234 567", "12\u00a0000", "7"], [1234567, 12000, 7]),
        (["1,234", "5,678", "9,012"], [1234, 5678, 9012]),
        (["\u22125", "1e3", ".5"], [-5, 1000, 0.5]),
    ],
)
def test_numbers_as_people_write_them(cells, values):
    assert parse_numbers(pa.array(cells)).values.to_pylist() == pytest.approx(values)


GERMAN = {"price": ["1.130", "874", "1.887", "12"], "share": ["0,528", "1,411", "0,528", "12,5"]}


@pytest.mark.parametrize("money", ["", " €"])
@pytest.mark.parametrize("separator", [";", "\t", ",", "frame"])
def test_the_numbers_of_a_file_are_written_in_one_way(tmp_path, separator, money):
    rows = [
        [f"{price}{money}", share, "ab"[i % 2]]
        for i, (price, share) in enumerate(zip(*GERMAN.values(), strict=True))
    ] * 5
    if separator == "frame":
        columns = dict(zip(["price", "share", "y"], zip(*rows, strict=True), strict=True))
        read = partial(read_data, {name: list(cells) for name, cells in columns.items()}, label="y")
    else:
        read = partial(read_data, tmp_path / "a.csv", label="y")
        lines = [["price", "share", "y"], *rows]
        text = "\n".join(separator.join(f'"{cell}"' for cell in cells) for cells in lines)
        (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    data = read()
    assert (
        data.x[:4].tolist()
        == np.float32([[1130, 0.528], [874, 1.411], [1887, 0.528], [12, 12.5]]).tolist()
    )
    assert [note.split(":")[0] for note in data.notes if "written with" in note] == [*GERMAN]
    if separator != "frame":  # the twin: a decimal point elsewhere, and 1.130 is one as well
        text = text.replace("0,528", "0.528").replace("1,411", "1.41").replace("12,5", "12.5")
        (tmp_path / "a.csv").write_text(text, encoding="utf-8")
        assert read().x[0].tolist() == np.float32([1.13, 0.528]).tolist()


@pytest.mark.parametrize(
    "door", ["csv", "parquet", "npz", "array", "times", "sparse", "vectors", "tensor"]
)
def test_numbers_far_from_zero_and_close_together_stay_apart(tmp_path, door):
    moments = 1.7e12 + np.arange(0, 60_000, 600.0)
    y = np.arange(100) % 2
    if door == "array":
        data = read_data(np.column_stack([moments]), y)
    elif door == "sparse":
        data = read_data(csr_array(moments[:, None]), y)
    elif door == "tensor":
        data = read_data(pytest.importorskip("torch").tensor(moments[:, None]), y)
    elif door == "vectors":
        data = read_data(pa.table({"t": pa.array([[m] for m in moments]), "y": y}), label="y")
    elif door == "npz":
        np.savez(tmp_path / "a.npz", t=moments, y=y)
        data = read_data(tmp_path / "a.npz", label="y")
    else:
        column = pa.array(moments.astype(np.int64) if door == "times" else moments)
        column = column.cast(pa.timestamp("ms")) if door == "times" else column
        made = pa.table({"t": column, "y": y})
        if door == "csv":
            write_csv(made, tmp_path / "a.csv")
        else:
            pq.write_table(made, tmp_path / "a.parquet")
        data = read_data(tmp_path / ("a.csv" if door == "csv" else "a.parquet"), label="y")
    assert len(np.unique(data.x[:, 0])) == 100
    assert [f.kind for f in data.findings] == []
    assert len(np.unique(np.float32(moments))) == 1  # the twin: what a plain cast makes of them


def test_rows_that_float32_would_merge_are_no_copies():
    x = np.random.default_rng(0).random((50, 2)).repeat(2, axis=0)
    x[::2, 0] += 1e-12
    y = np.arange(100) % 2
    for source, labels in ((x, y), ({"a": x[:, 0], "b": x[:, 1], "label": y}, None)):
        assert read_data(source, labels).findings == ()
        assert read_data(x.round(6), y).findings != ()


@pytest.mark.parametrize("style", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%d 10:30:00"])
@pytest.mark.parametrize("far", ["9999-12-31", "1582-10-04"])
def test_dates_far_from_ours_are_gaps_with_a_note(style, far):
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(7 * i) for i in range(40)]
    written = [day.strftime(style) for day in days]
    there = read_data({"when": written, "y": [*"ab"] * 20}, label="y")
    assert [f.how for f in there.features] == ["days"]
    written[3:30:3] = [datetime.date.fromisoformat(far).strftime(style)] * 9
    data = read_data({"when": written, "y": [*"ab"] * 20}, label="y")
    assert [f.how for f in data.features] == ["days", "gap"]
    assert data.x[:, -1].sum() == 9
    assert [note for note in data.notes if "9 dates count as missing" in note]


@given(st.lists(st.floats(-1e6, 1e6).map(lambda v: round(v, 2)), min_size=1, max_size=9))
def test_any_numbers_written_with_thousands_and_commas_come_back(values):
    american = [f"${v:,.2f}" for v in values]
    german = [f"{v:,.2f} €".translate(str.maketrans(",.", ".,")) for v in values]
    for cells in (american, german):
        found = parse_numbers(pa.array(cells))
        assert found.values.to_pylist() == pytest.approx(values)


@pytest.mark.parametrize("cells", [["red", "7"], ["1-2", "3-4"], ["12 kg", "9 lb"], ["4.2.1"] * 3])
def test_what_is_no_number_is_none(cells):
    assert parse_numbers(pa.array(cells)) is None


@pytest.mark.parametrize(
    ("cells", "style"),
    [
        (["2024-03-31", "2023-01-02"], "ISO"),
        (["2024-03-31 12:30", "2024-03-31T12:30:15.5"], "ISO"),
        (["2024-03-31T12:30:00Z", "2024-03-31T12:30:00+02:00"], "ISO with zone"),
        (["2024-03-31T12:30:00Z", "2024-03-31T12:30:00"], "ISO, some with a zone"),
        (["31.03.2024", "02.01.2023"], "%d.%m.%Y"),
        (["03/31/2024", "01/02/2023"], "%m/%d/%Y"),
        (["31/03/2024", "02/01/2023"], "%d/%m/%Y"),
        (["3/31/2024 1:05 PM", "1/2/2023 11:59 AM"], "%m/%d/%Y %I:%M %p"),
        (["31 Mar 2024", "2 January 2023"], "%d %b %Y"),
        (["Mar 31, 2024", "Jan 2, 2023"], "%b %d, %Y"),
        (["31.03.24", "02.01.23"], "%d.%m.%y"),
    ],
)
def test_dates_as_people_write_them(cells, style):
    found = parse_dates(pa.array(cells))
    assert found.style == style
    assert found.values[0].as_py() // 86_400_000_000 == 19813
    assert not found.ambiguous


def test_a_date_that_might_be_read_in_two_ways_is_said_to_be():
    cells = [f"{1 + i % 9:02}/{1 + i % 7:02}/2024" for i in range(N)]
    assert (
        "d: dates read as MM/DD/YYYY, though they might be written another way"
        in read(d=cells).notes
    )


@pytest.mark.parametrize(
    "cells", [["4.2.1", "4.3.0"], ["red", "blue"], ["12", "13"], ["99.99.2024"]]
)
def test_what_is_no_date_is_none(cells):
    assert parse_dates(pa.array(cells)) is None


def test_a_day_that_there_is_not_counts_as_missing_and_is_named():
    data = read(d=["2024-02-31"] + [f"2024-03-{1 + i % 28:02}" for i in range(N)])
    assert data.notes[0].startswith(
        "d: 1 cells are no dates and count as missing, the first being '2024-02-31' in row 0"
    )
    assert data.feature_names[-1] == "d=(missing)"


def test_yes_and_no_in_any_language_are_one_and_zero():
    for yes, no in (("yes", "no"), ("True", "False"), ("Ja", "Nein"), ("t", "f")):
        data = read(ok=[yes, no, no] * 20, x=np.random.default_rng(0).random(N))
        assert data.features[0].how == "yes/no"
        assert data.x[:3, 0].tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (np.arange(N) + 1000, "is an id"),
        (np.random.default_rng(0).permutation(N), "is an id"),
        ([f"C{i:04}" for i in range(N)], "is an id"),
        ([7.5] * N, "is 7.5 in every row"),
        (["UK"] * N, "is 'UK' in every row"),
        ([None] * N, "is empty in every row"),
        ([{"a": 1}] * N, "no number, date, text or vector"),
    ],
)
def test_columns_that_tell_nothing_are_left_out_and_named(column, why):
    data = read(c=column, x=np.random.default_rng(1).random(N))
    assert data.feature_names == ("x",)
    assert data.notes[0].startswith("not learned from: 'c' ")
    assert why in data.notes[0]


def test_a_numbering_is_an_id_only_when_no_number_lacks_or_its_name_says_so():
    values = np.random.default_rng(0).choice(10_000, N, replace=False)
    assert read(income=values, x=np.random.default_rng(9).random(N)).feature_names == (
        "income",
        "x",
    )
    assert read(customer_id=values, x=np.random.default_rng(9).random(N)).feature_names == ("x",)


def test_an_id_that_rows_share_is_no_number_to_learn_from():
    rng = np.random.default_rng(0)
    households = 100 + 3 * rng.integers(0, 80, 600)
    table = {"x": rng.random(600), "label": [f"{i % 2}" for i in range(600)]}
    data = read_data(pa.table({"household.id": households, **table}))
    assert data.feature_names == ("x",)
    assert any("'household.id' is an id that several rows share" in note for note in data.notes)
    few = read_data(pa.table({"store_id": households % 7, **table}))  # a category by its number
    assert few.feature_names == ("store_id", "x")
    paid = read_data(pa.table({"paid": households, **table}))
    assert paid.feature_names == ("paid", "x")
    asked = read_data(pa.table({"id": households, **table}), features=["id"])
    assert asked.feature_names == ("id",)


def test_what_is_written_where_there_is_no_number_is_missing():
    rng = np.random.default_rng(0)
    numbers = [f"{v:.2f}" for v in rng.normal(size=400)]
    cells = ["-" if i % 4 == 0 else "#DIV/0!" if i % 9 == 0 else v for i, v in enumerate(numbers)]
    table = {"x": rng.random(400), "label": [f"{i % 2}" for i in range(400)]}
    data = read_data(pa.table({"c": cells, **table}))
    assert [(f.column, f.how) for f in data.features] == [
        ("c", "number"),
        ("c", "gap"),
        ("x", "number"),
    ]
    (note,) = [n for n in data.notes if "are no numbers" in n]
    assert "c: 133 cells are no numbers and count as missing, the first being '-' in row 0" in note
    words = [*(f"w{i}" for i in range(80)), *numbers[80:]]  # the twin: eighty words are no gap
    assert read_data(pa.table({"c": words, **table})).features[0].how == "hashed"
    likert = ["refused" if i % 3 == 0 else str(i % 7) for i in range(400)]
    assert read_data(pa.table({"c": likert, **table})).features[0].how == "one-hot"


def test_a_unit_behind_every_number_is_understood():
    rng = np.random.default_rng(0)
    cells = [f"{v:.1f} kg" for v in rng.normal(70, 9, N)]
    data = read(weight=cells)
    assert data.features[0].how == "number"
    assert data.x[0, 0] == pytest.approx(float(cells[0][:-3]))
    assert "weight: numbers written with the unit kg" in data.notes
    mixed = [f"{v:.1f} {'kg' if i % 2 else 'lb'}" for i, v in enumerate(rng.normal(70, 9, N))]
    assert read(weight=mixed, x=rng.random(N)).features[0].how != "number"  # the twin


def test_copies_are_left_out_also_when_they_say_the_same_in_other_words():
    rng = np.random.default_rng(0)
    x, code = rng.random(N), rng.integers(0, 4, N)
    words, short = np.array(["red", "green", "blue", "grey"]), np.array(["r", "g", "b", "y"])
    data = read(x=x, again=x, colour=words[code], abbreviation=short[code])
    assert {f.column for f in data.features} == {"x", "colour"}
    assert "'again' is a copy of 'x'" in data.notes[0]
    assert "'abbreviation' says the same as 'colour'" in data.notes[0]


def test_columns_that_are_asked_for_are_used_whatever_they_are():
    table = frame(nr=np.arange(N), x=np.random.default_rng(9).random(N))
    assert read_data(table, label="y", features=["nr", "x"]).feature_names == ("nr", "x")


def test_nothing_left_to_learn_from_names_every_column_and_why():
    with pytest.raises(InputError, match=r"'c' is 'UK' in every row; .*`features` to use them"):
        read(c=["UK"] * N)


def test_many_categories_are_encoded_without_the_label_and_whatever_the_order():
    rng = np.random.default_rng(0)
    city = [f"city {i}" for i in rng.zipf(1.3, 400) % 90]
    table = frame(city=[c.replace(" ", "") for c in city])
    data = read_data(table, label="y")
    assert data.features[0].how == "hashed"
    other = table.set_column(1, "y", pa.array(["a", "b"] * 200))
    assert np.array_equal(read_data(other, label="y").x, data.x)
    order = rng.permutation(400)
    assert np.array_equal(read_data(table.take(order), label="y").x, data.x[order])


def test_every_kind_of_column_follows_its_row_in_any_order():
    rng = np.random.default_rng(3)
    table = frame(
        when=[f"2024-{m:02}-{d:02}" for m, d in rng.integers(1, 13, (200, 2))],
        price=[f"${v:,.2f}" for v in rng.random(200) * 5000],
        gap=pa.array(np.where(rng.random(200) < 0.2, np.nan, rng.random(200)), from_pandas=True),
        said=[f"the {a} saw word{b} here" for a, b in rng.integers(0, 30, (200, 2))],
    )
    data = read_data(table, label="y")
    order = rng.permutation(200)
    moved = read_data(table.take(order), label="y")
    assert moved.features == data.features
    assert np.array_equal(moved.x, data.x[order])


def with_leak(share=0.0, n=400):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    code = np.where(rng.random(n) < share, rng.integers(0, 3, n), y)
    words = np.array(["x9", "q2", "m4"])[code]
    return pa.table({"team_code": words, "x": rng.random(n), "team": [f"t{i}" for i in y]})


def test_a_column_that_repeats_the_label_is_named_and_left_out():
    data = read_data(with_leak(), label="team")
    assert data.feature_names == ("x",)
    (leak,) = data.leaks
    assert (leak.column, leak.share, leak.left_out) == ("team_code", 1.0, True)
    assert [f.kind for f in data.findings] == ["leak"]
    assert "column 'team_code' repeats the given label, wrong ones included, and is left out" in (
        data.notes
    )


def test_columns_that_are_the_label_together_are_left_out_in_one_sentence():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    given = [f"t{i}" for i in y]
    columns = {f"is_{c}": (y == c).astype(int) for c in range(3)}
    data = read_data(pa.table({**columns, "x": rng.random(400), "team": given}), label="team")
    assert data.feature_names == ("x",)
    note = "columns is_0, is_1, is_2 repeat the given label, wrong ones included, and are left out"
    assert note in data.notes
    # The twins: a class that no column tells, and columns that tell too little.
    fewer = {"is_0": columns["is_0"], "x": rng.random(400), "team": given}
    assert read_data(pa.table(fewer), label="team").leaks == ()
    other = {name: np.where(rng.random(400) < 0.05, 1 - c, c) for name, c in columns.items()}
    noisy = pa.table({**other, "x": rng.random(400), "team": given})
    assert not any(leak.left_out for leak in read_data(noisy, label="team").leaks)


def test_a_leak_that_is_asked_for_stays_and_is_still_named():
    data = read_data(with_leak(), label="team", features=["team_code", "x"])
    assert data.x.shape[1] == 4
    assert not data.leaks[0].left_out


def test_a_column_that_nearly_determines_the_label_is_named_and_stays():
    data = read_data(with_leak(0.03), label="team")
    assert data.x.shape[1] == 4
    assert data.leaks[0].share == pytest.approx(0.97, abs=0.02)
    assert read_data(with_leak(0.3), label="team").leaks == ()


def test_a_group_whose_label_is_one_is_named_and_stays():
    # Countries and years: the label is a property of the country, which is no copy of it.
    rng = np.random.default_rng(0)
    country = np.repeat(np.arange(60), 20)
    label = rng.integers(0, 2, 60)[country]
    table = pa.table(
        {
            "country": [f"land{i}" for i in country],
            "x": rng.random(1200),
            "bloc": [f"b{i}" for i in label],
        }
    )
    (leak,) = read_data(table, label="bloc").leaks
    assert (leak.column, leak.share, leak.left_out) == ("country", 1.0, False)
    finer = pa.table(
        {"status": [f"s{2 * i + j % 2}" for j, i in enumerate(label)], "x": rng.random(1200)}
    )
    (leak,) = read_data(finer, [f"b{i}" for i in label]).leaks
    assert leak.left_out  # the twin: two names for each class are the label in other words


def test_all_problems_of_a_file_are_one_message(tmp_path):
    text = "nr,ok,x,y\n1,maybe,1,a\n1,yes,2,a\n2,no,3,a\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_data(tmp_path / "a.csv", label="y", id="nr", trusted="ok")
    message = str(caught.value)
    assert "has 3 problems: (1) column 'y' holds one class only" in message
    assert "(2) the id 1 is in line 2" in message
    assert "(3) column 'ok' says 'maybe'" in message


def test_a_file_without_a_header_is_read_by_counting_its_columns(tmp_path):
    (tmp_path / "a.tsv").write_text("ham\t2\nspam\t2.5\nham\t3.5\n", encoding="utf-8")
    data = read_data(tmp_path / "a.tsv", label="1")
    assert data.classes == ("ham", "spam")
    assert data.x.ravel().tolist() == [2, 2.5, 3.5]
    assert show_rows(data, np.array([0])) == {"2": ["2"]}
    with pytest.raises(InputError, match="of a file without a header, count the columns"):
        read_data(tmp_path / "a.tsv", label="kind")


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.text(max_size=12), min_size=6, max_size=6), st.integers(0, 3))
def test_any_column_of_text_is_encoded_or_left_out_and_nothing_else(cells, times):
    table = pa.table({"c": cells * (times + 1), "x": np.arange(6.0 * (times + 1)) / 2})
    table = table.append_column("y", pa.array(["a", "b"] * (3 * (times + 1))))
    data = read_data(table, label="y")
    assert np.isfinite(data.x).all()
