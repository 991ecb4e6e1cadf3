"""What is read from files that are as they should be: values, encodings, ids and order."""

import csv
import datetime
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from sklearn.datasets import load_digits

from dris.core.errors import InputError
from dris.data.images.image_files import decode_image
from dris.data.outputs import show_rows, write_data
from dris.data.reader import read_data
from dris.data.tables import words as word_columns
from made_tables import (
    CSV,
    N,
    image_folder,
    npz_bytes,
    parquet_bytes,
    png_bytes,
    saved_dataset,
    table,
)

SLOW = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def put(folder, text, name="a.csv"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


def test_a_small_csv_by_hand(tmp_path):
    text = """nr,age,job,ok,y
007,31.5,cook,yes,no
008, 44,nurse,,yes
009,1e1,cook,no,no
010,2,,1,no
"""
    data = read_data(put(tmp_path, text), label="y", id="nr", trusted="ok")
    assert data.ids.tolist() == ["007", "008", "009", "010"]
    assert data.classes == ("no", "yes")
    assert data.labels.tolist() == [0, 1, 0, 0]
    assert data.trusted.tolist() == [True, False, False, True]
    assert data.feature_names == ("age", "job=cook", "job=nurse", "job=(missing)")
    assert data.x.tolist() == [[31.5, 1, 0, 0], [44, 0, 1, 0], [10, 1, 0, 0], [2, 0, 0, 1]]
    assert data.x.dtype == np.float32
    assert not data.x.flags.writeable
    assert [f.how for f in data.features] == ["number", "one-hot"]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "﻿" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(",", ";"),
        lambda text: text.replace(",", "\t"),
        lambda text: text.replace(",", "|"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.removesuffix("\n"),
        lambda text: text.replace("cook", '"cook"'),
        lambda text: text.replace("age", '"age"'),
        lambda text: "sep=;\r\n" + text.replace(",", ";"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.encode("cp1252"),
        lambda text: text.encode("utf-16"),
        lambda text: b"\xfe\xff" + text.replace("\n", "\r\n").encode("utf-16-be"),
    ],
)
def test_csv_in_any_of_its_forms_is_the_same_data(tmp_path, change):
    german = CSV.replace("cook", "Köchin")
    plain = read_data(put(tmp_path, german), label="y", id="id")
    path = put(tmp_path, change(german), "b.csv")
    other = read_data(path, label="y", id="id")
    whole = write_data(other, tmp_path / "c.csv").read_bytes()
    assert whole.rstrip(b"\n\0") == path.read_bytes().replace(b"\n\n", b"\n").rstrip(b"\n\0")
    assert show_rows(other, np.arange(3)) == show_rows(plain, np.arange(3))
    assert (other.x == plain.x).all()
    assert other.features == plain.features
    assert other.ids.tolist() == plain.ids.tolist()
    assert other.given().tolist() == plain.given().tolist()


def test_an_encoding_that_nobody_can_know_is_said_and_what_is_guessed_is_noted(tmp_path):
    cyrillic = CSV.replace("cook", "повар")
    path = put(tmp_path, cyrillic.encode("cp1251"))
    assert [note for note in read_data(path, label="y").notes if "cp1252" in note]
    data = read_data(path, label="y", id="id", encoding="cp1251")
    assert data.feature_names == ("age", "job=nurse", "job=повар")
    assert not [note for note in data.notes if "cp125" in note]
    new = (data.labels + 1) % 2
    again = read_data(
        write_data(data, tmp_path / "b.csv", labels=new), label="y", encoding="cp1251"
    )
    assert again.labels.tolist() == new.tolist()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-32"])
def test_an_encoding_that_is_named_needs_no_mark(tmp_path, encoding):
    path = put(tmp_path, CSV.encode(encoding))
    data = read_data(path, label="y", id="id", encoding=encoding)
    assert data.feature_names == ("age", "job=cook", "job=nurse")
    if encoding != "utf-16":  # the twin: it is needed
        with pytest.raises(InputError):
            read_data(path, label="y")


def test_a_line_break_inside_quotes_is_part_of_a_cell_and_lines_are_counted_as_an_editor_does(
    tmp_path,
):
    good = 'x,t,y\n1,"a\nb",u\n2,"a\nb",v\n3,c,v\n4,c,u\n'
    data = read_data(put(tmp_path, good), label="y")
    assert data.feature_names == ("x", "t=a\nb", "t=c")
    with pytest.raises(InputError, match=r"1 in column 'x', the first in line 6 of"):
        read_data(put(tmp_path, good.replace("3,c", ",c")), label="y", missing="refuse")


@pytest.mark.parametrize(
    ("cells", "classes"),
    [
        (("1", "2", "10"), (1, 2, 10)),
        (("-1", "0", "1"), (-1, 0, 1)),
        (("01", "2", "10"), ("01", "10", "2")),
        (("1.0", "2.0", "10.0"), ("1.0", "10.0", "2.0")),
        (("NA", "DE", "FR"), ("DE", "FR", "NA")),
        (("true", "false", "x"), ("false", "true", "x")),
    ],
)
def test_csv_labels_are_whole_numbers_or_kept_as_put(tmp_path, cells, classes):
    text = "x,y\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells * 2))
    data = read_data(put(tmp_path, text), label="y")
    assert data.classes == classes
    assert [str(v) for v in data.given().tolist()] == list(cells * 2)


def test_a_column_called_label_needs_no_option(tmp_path):
    assert read_data(put(tmp_path, "x,label\n1,2\n3,4\n")).classes == (2, 4)


def test_pandas_index_is_left_out_and_said_so(tmp_path):
    data = read_data(put(tmp_path, ",x,y\n0,5,a\n1,6,b\n"), label="y")
    assert data.feature_names == ("x",)
    assert "a column without a name is taken for an index and left out" in data.notes


def test_features_and_without_choose_columns_in_the_order_given(tmp_path):
    path = put(tmp_path, "a,b,c,y\n1,2,3,u\n4,5,6,v\n")
    assert read_data(path, label="y", features=["c", "a"]).x.tolist() == [[3, 1], [6, 4]]
    assert read_data(path, label="y", without=["b"]).feature_names == ("a", "c")


def test_gaps_are_filled_and_marked_and_said_so_or_filled_alone_when_asked(tmp_path):
    path = put(tmp_path, "a,y\n1,u\n,v\n5,u\nNA,v\n9,u\n")
    data = read_data(path, label="y")
    assert data.x.tolist() == [[1, 0], [5, 1], [5, 0], [5, 1], [9, 0]]
    assert data.feature_names == ("a", "a=(missing)")
    assert data.notes[0] == "a: 2 missing values became the median, and are marked"
    alone = read_data(path, label="y", missing="median")
    assert alone.x.ravel().tolist() == [1, 5, 5, 5, 9]
    assert alone.notes[0] == "a: 2 missing values became the median"


def test_a_column_that_later_blocks_contradict_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr("dris.data.tables.csvfile._BLOCK", 200)
    text = "x,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(2000)) + "z,1\n"
    data = read_data(put(tmp_path, text), label="y")
    assert data.x[:9, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 0, 1]
    assert data.notes[0].startswith(
        "x: 1 cells are no numbers and count as missing, the first being 'z' in line 2002 of"
    )
    words = "x,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(2000)) + "red,1\nblue,0\n" * 300
    data = read_data(put(tmp_path, words), label="y")
    assert data.feature_names == tuple(f"x={v}" for v in (*"0123456", "blue", "red"))


def test_several_csv_files_follow_one_another(tmp_path):
    for i in (2, 10, 1):
        put(tmp_path, f"x,y\n{i},a\n{i + 0.5},b\n", f"part-{i}.csv")
    for paths in (tmp_path, str(tmp_path / "part-*.csv")):
        assert read_data(paths, label="y").x.ravel().tolist() == [1, 1.5, 2, 2.5, 10, 10.5]
    put(tmp_path, "x,y\n1,a\n,b\n", "part-10.csv")
    with pytest.raises(InputError, match=r"line 3 of .*part-10.csv"):
        read_data(tmp_path, label="y", missing="refuse")


def test_every_kind_of_column_is_encoded_as_stated(tmp_path):
    data = read_data(
        put(tmp_path, parquet_bytes(), "a.parquet"), label="y", id="id", trusted="checked"
    )
    made = table()
    assert [(f.column, f.how, f.width) for f in data.features] == [
        ("age", "number", 1),
        ("height", "number", 1),
        ("married", "yes/no", 1),
        ("job", "one-hot", 3),
        ("born", "days", 5),
        ("embedding", "vector", 3),
    ]
    assert data.x[:, 0].tolist() == made["age"].to_pylist()
    assert data.x[:, 1].tolist() == made["height"].to_pylist()
    assert data.x[:, 2].tolist() == made["married"].to_pylist()
    assert data.x[:4, 3:6].tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert data.x[:, 6].tolist() == list(range(N))
    assert data.x[:, 11:].tolist() == made["embedding"].to_pylist()
    assert data.trusted.tolist() == [True] * 3 + [False] * 9


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_are_days_since_1970(tmp_path, unit):
    noon = datetime.datetime(1970, 1, 3, 12, tzinfo=datetime.UTC)
    times = pa.array([noon, noon], pa.timestamp(unit, "UTC"))
    path = put(tmp_path, parquet_bytes(pa.table({"t": times, "y": [0, 1]})), "a.parquet")
    data = read_data(path, label="y")
    assert data.x[:, 0].tolist() == [2.5, 2.5]
    assert data.feature_names[1:] == tuple(
        f"t ({part} {turn})" for part in ("weekday", "year", "hour") for turn in ("sin", "cos")
    )
    # The third of January 1970 was a Saturday, two days into the year, and it is noon.
    angles = [5 / 7, 2 / 365.25, 0.5]
    turns = [f(2 * np.pi * a) for a in angles for f in (np.sin, np.cos)]
    assert data.x[0, 1:] == pytest.approx(turns, abs=1e-6)


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.int8(), 2)]
)
def test_vectors_of_any_kind_are_embeddings(tmp_path, kind):
    content = pa.table({"v": pa.array([[1, 2], [3, 4], [5, 6]], kind), "y": ["a", "b", "a"]})
    path = put(tmp_path, parquet_bytes(content.slice(1)), "a.parquet")
    assert read_data(path, label="y").x.tolist() == [[3, 4], [5, 6]]


def test_a_few_categories_get_a_place_each_and_many_share(tmp_path, monkeypatch):
    limit = word_columns.MAX_ONE_HOT

    def reading(values):
        text = "x,y\n" + "".join(f"v{i % values},{i // values % 2}\n" for i in range(4 * limit))
        return read_data(put(tmp_path, text), label="y")

    assert reading(limit).x.shape == (4 * limit, limit)
    assert (reading(limit).x.sum(axis=1) == 1).all()
    many = reading(limit + 10)
    assert many.features[0].how == "hashed"
    assert many.x.shape == (4 * limit, 1 + limit + 10 + word_columns.SHARED)
    assert (many.x[:, 1:].sum(axis=1) == 1).all()
    monkeypatch.setattr(word_columns, "MANY_ROWS", 100)  # past it fewer places: each is a column
    fewer = reading(limit + 10)
    assert fewer.x.shape == (4 * limit, 1 + word_columns.FEWER_COMMON + word_columns.SHARED)
    assert (fewer.x[:, 1:].sum(axis=1) == 1).all()
    counts = np.bincount(np.arange(4 * limit) % (limit + 10))
    assert many.x[:, 0] == pytest.approx(np.log1p(counts)[np.arange(4 * limit) % (limit + 10)])


cell = st.one_of(st.integers(-(2**20), 2**20), st.floats(-1e6, 1e6, width=32))
word = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)


@SLOW
@given(st.data(), st.integers(2, 12))
def test_ids_labels_order_and_values_survive_csv_and_parquet(tmp_path, data, n):
    ids = data.draw(st.lists(word, min_size=n, max_size=n, unique=True))
    label = word.filter(str.strip)  # a blank one means that there is none
    y = [*data.draw(st.lists(label, min_size=2, max_size=2, unique=True)) * n][:n]
    x = data.draw(st.lists(cell, min_size=n, max_size=n))
    pq.write_table(
        pa.table({"i": ids, "x": pa.array(map(float, x)), "y": y}), tmp_path / "a.parquet"
    )
    got = read_data(tmp_path / "a.parquet", label="y", id="i")
    assert got.ids.tolist() == ids
    assert got.given().tolist() == y
    assert got.x.ravel().tolist() == np.array(x, np.float32).tolist()
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as file:
        cells = zip([f"<{i}>" for i in ids], x, [f"<{v}>" for v in y], strict=True)
        csv.writer(file).writerows([("i", "x", "y"), *cells])
    got = read_data(tmp_path / "a.csv", label="y", id="i")
    assert got.ids.tolist() == [f"<{i}>" for i in ids]
    assert got.given().tolist() == [f"<{v}>" for v in y]
    assert got.x.ravel().tolist() == np.array(x, np.float32).tolist()


def test_npz_arrays_stand_side_by_side_and_others_are_named(tmp_path):
    blob = npz_bytes(
        x=np.asfortranarray(np.arange(6.0).reshape(3, 2)),
        w=np.array([7, 8, 9]),
        y=np.array(["b", "a", "b"]),
        other=np.zeros(5),
        id=np.array([30, 10, 20], ">i4"),
    )
    data = read_data(put(tmp_path, blob, "a.npz"), label="y", id="id")
    assert data.x.tolist() == [[0, 1, 7], [2, 3, 8], [4, 5, 9]]
    assert data.feature_names == ("x[0]", "x[1]", "w")
    assert data.given().tolist() == ["b", "a", "b"]
    assert data.ids.tolist() == [30, 10, 20]
    assert data.notes == ("the arrays other were left out",)


@pytest.mark.parametrize(
    ("shape", "becomes"),
    [((4, 3, 8, 6), (4, 3, 8, 6)), ((4, 8, 6, 3), (4, 3, 8, 6)), ((4, 8, 6), (4, 1, 8, 6))],
)
def test_bytes_with_height_and_width_are_images(tmp_path, shape, becomes):
    x = np.arange(np.prod(shape), dtype=np.int64).astype(np.uint8).reshape(shape)
    path = put(tmp_path, npz_bytes(x=x, y=np.array([[0], [1], [0], [1]])), "a.npz")
    data = read_data(path, label="y")
    assert data.x.shape == becomes
    assert data.x.dtype == np.uint8
    assert data.x[1, 0, 2, 3] == (
        x[1, 2, 3] if x.ndim == 3 else x[1, 0, 2, 3] if shape == becomes else x[1, 2, 3, 0]
    )


def test_a_folder_of_digits_comes_back_pixel_by_pixel(tmp_path):
    digits = load_digits()
    pixels = (digits.images[:40] * 15).astype(np.uint8)
    for i, (image, label) in enumerate(zip(pixels, digits.target, strict=False)):
        (tmp_path / f"digit {label}").mkdir(exist_ok=True)
        Image.fromarray(image).save(tmp_path / f"digit {label}" / f"{i}.png")
    (tmp_path / "README.txt").write_text("not an image", encoding="utf-8")
    data = read_data(tmp_path)
    assert data.x.shape == (40, 1, 8, 8)
    for x, name, path in zip(data.x, data.ids.tolist(), data.paths.tolist(), strict=True):
        number = int(name.partition("/")[2].removesuffix(".png"))
        assert (x[0] == pixels[number]).all()
        assert name.startswith(f"digit {digits.target[number]}/")
        assert path == str(tmp_path / name)
    assert data.classes == tuple(f"digit {i}" for i in range(10))
    assert data.notes == (f"1 files below {tmp_path} are no images and were left out",)


def shape_pixels(seed, deepest):
    """A bright square somewhere on a ramp, from 0 to the deepest value."""
    pixels = np.linspace(0, deepest / 2, 256).reshape(16, 16)
    row, column = np.random.default_rng(seed).integers(0, 12, 2)
    pixels[row : row + 4, column : column + 4] = deepest
    return pixels


def deep(kind, deepest):
    return lambda seed: Image.fromarray(shape_pixels(seed, deepest).astype(kind))


def see_through(seed):
    shape = shape_pixels(seed, 255) == 255
    pixels = np.zeros((16, 16, 4), np.uint8)
    pixels[..., 3] = 255 * shape
    return Image.fromarray(pixels)


ODD_PICTURES = {
    "16 bits": (deep(np.uint16, 4095), "png", "more than 8 bits"),
    "32 bits": (deep(np.int32, 70_000), "tiff", "more than 8 bits"),
    "decimals": (deep(np.float32, 0.01), "tiff", "more than 8 bits"),
    "transparent": (see_through, "png", "transparent"),
}


@pytest.mark.parametrize("name", ODD_PICTURES)
def test_what_is_in_a_picture_of_any_kind_is_seen(tmp_path, name):
    draw, suffix, says = ODD_PICTURES[name]
    for i in range(6):
        folder = tmp_path / "set" / ("a" if i % 2 else "b")
        folder.mkdir(parents=True, exist_ok=True)
        draw(i).save(folder / f"{i}.{suffix}")
    data = read_data(tmp_path / "set")
    for x, path in zip(data.x, data.paths, strict=True):
        bright = shape_pixels(int(Path(path).stem), 1) == 1
        inside, outside = x[0][bright], x[0][~bright]
        assert abs(float(inside.mean()) - float(outside.mean())) > 60
        assert inside.std() < 1
    assert [note for note in data.notes if says in note]
    plain = read_data(image_folder(tmp_path / "plain"))
    assert not [note for note in plain.notes if says in note]


def test_a_picture_is_turned_as_its_camera_says(tmp_path):
    for name, turned in (("a", 6), ("b", 1)):
        (tmp_path / name).mkdir()
        for i in range(2):
            picture = Image.fromarray(np.tile(np.arange(0, 256, 16, dtype=np.uint8), (16, 1)))
            exif = picture.getexif()
            exif[0x0112] = turned
            picture.save(tmp_path / name / f"{i}.png", exif=exif)
    data = read_data(tmp_path)
    assert (data.x[2, 0] == data.x[0, 0].T).all()
    assert [note for note in data.notes if note.startswith("2 of 4 pictures were turned")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_picture_that_became_a_pipe_is_refused_and_not_waited_for(tmp_path):
    root = image_folder(tmp_path / "set")
    picture = root / "cat" / "1.png"
    assert decode_image(str(picture), "it", 8, 1).shape == (1, 8, 8)
    picture.unlink()
    os.mkfifo(picture)
    with pytest.raises(InputError, match="is a pipe"):
        decode_image(str(picture), "it", 8, 1)


@pytest.mark.parametrize("form", ["folder", "table"])
def test_a_picture_that_is_too_large_is_left_out_and_named(tmp_path, monkeypatch, form):
    root = image_folder(tmp_path / "set", each=4)
    Image.new("L", (40, 40)).save(root / "cat" / "1.png")
    if form == "table":
        paths = [f"set/{c}/{i}.png" for c in ("cat", "dog") for i in range(4)]
        lines = "".join(f"{path},{path[4:7]}\n" for path in paths)
        (tmp_path / "a.csv").write_text("path,label\n" + lines, encoding="utf-8")
    source = root if form == "folder" else tmp_path / "a.csv"
    assert len(read_data(source)) == 8
    monkeypatch.setattr("dris.data.images.image_files._MAX_PIXELS", 1000)
    data = read_data(source)
    assert (len(data), data.x.shape[2:]) == (7, (8, 8))
    assert [note for note in data.notes if "more than 1,000 pixels" in note]
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 500)  # Pillow opens none of twice as many
    with pytest.raises(InputError, match="exceeds limit"):
        decode_image(root / "cat" / "1.png", "it", 8, 1)
    assert len(read_data(source)) == 7
    monkeypatch.undo()
    monkeypatch.setattr("dris.data.images.image_files._MAX_PIXELS", 10)
    with pytest.raises(InputError, match=r"pixels|classes"):
        read_data(source)


def test_a_list_of_images_is_relative_to_its_own_folder(tmp_path):
    image_folder(tmp_path / "set")
    rows = "".join(f"set/{c}/{i}.png,{i},{c}!\n" for c in ("dog", "cat") for i in (2, 0))
    data = read_data(put(tmp_path, "file,size,y\n" + rows), label="y")
    whole = read_data(tmp_path / "set")
    assert data.x.tolist() == whole.x[[5, 3, 2, 0]].tolist()
    assert data.given().tolist() == ["dog!", "dog!", "cat!", "cat!"]
    assert data.notes[0] == "learned from the images alone, not from size"
    only = read_data(tmp_path / "a.csv", label="y", features=["size"])
    assert only.x.ravel().tolist() == [2, 0, 2, 0]


def test_a_saved_data_set_in_parts_with_class_names(tmp_path):
    content = pa.table({"text": [[1.0, i] for i in range(6)], "label": [1, 0, 1, 0, 1, 0]})
    features = {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}
    data = read_data(saved_dataset(tmp_path / "set", content, parts=3, features=features))
    assert data.x.tolist() == content["text"].to_pylist()
    assert data.classes == (0, 1)
    assert data.names == ("neg", "pos")


def test_a_selection_saved_with_the_data_set_is_honoured(tmp_path):
    content = pa.table({"x": np.arange(6.0), "label": [1, 0, 1, 0, 1, 0]})
    data = read_data(saved_dataset(tmp_path / "set", content, parts=2, indices=[5, 0, 3]))
    assert data.x.ravel().tolist() == [5, 0, 3]
    assert data.labels.tolist() == [0, 1, 0]


def test_a_label_of_minus_one_in_a_saved_data_set_is_none(tmp_path):
    content = pa.table({"x": np.arange(5.0), "label": [1, 0, -1, 1, None]})
    features = {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}
    data = read_data(saved_dataset(tmp_path / "set", content, features=features))
    assert data.names == ("neg", "pos")
    assert data.written(data.labels).tolist() == ["1", "0", "1"]
    assert data.unlabelled.rows.tolist() == [2, 4]
    worse = pa.table({"x": np.arange(5.0), "label": [1, 0, -2, 1, 0]})
    with pytest.raises(InputError, match=r"labels 0..1 and a label -2; remove"):
        read_data(saved_dataset(tmp_path / "worse", worse, features=features))


def test_encoded_images_in_a_saved_data_set_are_decoded(tmp_path):
    blobs = [{"bytes": png_bytes(seed=i), "path": None} for i in range(4)]
    content = pa.table({"image": blobs, "label": [0, 1, 0, 1]})
    data = read_data(saved_dataset(tmp_path / "set", content))
    assert data.x.shape == (4, 1, 8, 8)
    pixels = np.random.default_rng(2).integers(0, 256, (8, 8), dtype=np.uint8)
    assert (data.x[2, 0] == pixels).all()


def test_the_fingerprint_is_of_the_bytes_and_not_of_the_place(tmp_path):
    first = read_data(put(tmp_path, CSV), label="y", id="id")
    moved = read_data(put(tmp_path, CSV, "b.csv"), label="y", id="id")
    other = read_data(put(tmp_path, CSV.replace("20.5", "20.6"), "c.csv"), label="y", id="id")
    assert first.origin.fingerprint == moved.origin.fingerprint != other.origin.fingerprint
