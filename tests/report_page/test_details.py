"""Which examples are shown, as pictures and as rows."""

import io

import numpy as np
import pytest
from PIL import Image

from dris.core.errors import InputError
from dris.data.reader import read_data
from dris.report_page.content import details_of, picture_bytes, rows_of, shown_positions
from dris.report_page.page import payload
from made_report import made


def opened(image):
    return Image.open(io.BytesIO(picture_bytes(image)))


def as_rows(table, positions, **how):
    def at(positions, names):
        return {name: [table[name][i] for i in positions] for name in names}

    return rows_of(list(table), at, np.asarray(positions), **how)


def test_the_queue_comes_first_and_every_region_gets_its_turn():
    x = np.r_[np.full(1000, 0.1), 0.9]
    chosen = shown_positions(np.array([5, 3]), x, np.zeros(1001), np.arange(1001), most=5)
    assert chosen[:2].tolist() == [5, 3]
    assert 1000 in chosen.tolist()
    assert len(set(chosen.tolist())) == 5


@pytest.mark.parametrize(
    ("shape", "size"),
    [((1, 8, 8), (8, 8)), ((3, 20, 40), (40, 20)), ((5, 9, 9), (9, 9)), ((1, 200, 100), (48, 96))],
)
def test_thumbnails_have_the_shape_of_the_image_and_at_most_96_pixels(shape, size):
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    assert opened(image).size == size


def test_an_image_file_is_read_and_a_broken_one_is_named(tmp_path):
    Image.new("RGB", (5, 4)).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"nothing")
    assert picture_bytes(tmp_path / "a.png")[:4] == b"\x89PNG"
    with pytest.raises(InputError, match=r"b\.png"):
        picture_bytes(tmp_path / "b.png")


def test_rows_are_text_in_full_and_numbers_whole():
    cells = {
        "v": (np.arange(9.0), "[0, 1, 2, …] (9 values)"),
        "w": ([1.0], "[1]"),
        "t": ("x" * 999, "x" * 999),
        "n": (None, ""),
        "f": (1 / 3, "0.3333333333333333"),
        "k": (123456789.0, "123456789"),
    }
    columns, rows = as_rows({name: [value] for name, (value, _) in cells.items()}, [0])
    assert columns == tuple(cells)
    assert rows[0] == tuple(text for _, text in cells.values())


def test_text_is_cut_only_where_half_of_the_budget_is_used():
    _, rows = as_rows({"t": ["x" * 200] * 20}, np.arange(20), budget=2000)
    sizes = [len(row[0]) for row in rows.values()]
    assert sizes == [200] * 5 + [80] * (len(sizes) - 5)
    assert len(sizes) == 16


def test_past_a_thousand_columns_the_rest_is_counted():
    wide = read_data(np.arange(4004.0).reshape(4, 1001), [0, 1, 0, 1])
    details = details_of(wide, np.array([3, 1]))
    assert (len(details.columns), details.left_out) == (1000, 1)
    assert details.rows[1][:2] == ("1001", "1002")
    assert list(details.shown) == [3, 1]


def test_columns_stand_beside_a_picture_of_the_same_example():
    images = np.zeros((300, 1, 8, 8), dtype=np.uint8)
    page = made(x=images, table={"camera": [f"no. {i}" for i in range(300)]})
    held = payload(page)["details"]
    first = str(page.queue[0])
    assert held["beside"]["by"][first] == [f"no. {first}"]
    assert first in held["by"]


def test_a_card_shows_the_whole_text_first_and_numbers_as_the_file_has_them(tmp_path):
    texts = [f"ticket {i} says {'a long story ' * 20}and ends" for i in range(40)]
    lines = [f"{123456789 + i},{i % 7}.50,{texts[i]},{'ab'[i % 2]}" for i in range(40)]
    path = tmp_path / "tickets.csv"
    path.write_text("\n".join(["number,price,text,y", *lines]) + "\n", encoding="utf-8")
    details = details_of(read_data(path, label="y", without=["price"]), np.array([5, 39]))
    assert details.columns == ("text", "number", "price")
    assert details.rows == {
        5: (texts[5], "123456794", "5.50"),
        39: (texts[39], "123456828", "4.50"),
    }
