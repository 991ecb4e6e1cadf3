"""What people hold in memory is read as what they have in files is."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from dris.core.errors import InputError
from dris.data.outputs import show_rows
from dris.data.reader import read_data
from made_tables import image_folder

N = 40
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = [("cat", "dog")[i] for i in rng.integers(0, 2, N)]
FRAME = {"age": X[:, 0], "job": [("cook", "nurse")[i % 2] for i in range(N)], "kind": Y}


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(FRAME),
        pd.DataFrame(FRAME, index=[f"r{i}" for i in range(N)]),
        pl.DataFrame(FRAME),
        pl.DataFrame(FRAME).lazy(),
        pa.table(FRAME),
        pa.table(FRAME).to_batches()[0],
    ],
    ids=["pandas", "pandas with an index", "polars", "lazy polars", "arrow", "record batch"],
)
def test_every_frame_is_the_same_data_as_its_csv_file(frame, tmp_path):
    pd.DataFrame(FRAME).to_csv(tmp_path / "a.csv", index=False)
    data, file = read_data(frame, label="kind"), read_data(tmp_path / "a.csv", label="kind")
    assert np.allclose(data.x, file.x)
    assert data.feature_names == file.feature_names
    assert data.given().tolist() == file.given().tolist() == Y
    assert show_rows(data, np.array([1, 0]))["job"] == ["nurse", "cook"]


def test_a_frame_takes_its_labels_beside_it_as_well():
    frame = pd.DataFrame(FRAME).drop(columns="kind")
    for labels in (Y, np.array(Y), pd.Series(Y), pl.Series(Y), np.array(Y, dtype=object)):
        assert read_data(frame, labels).given().tolist() == Y
    with pytest.raises(InputError, match="pass one of them"):
        read_data(pd.DataFrame(FRAME), Y, label="kind")


@pytest.mark.parametrize("x", [X, X.tolist(), X.astype(np.float32)], ids=["f8", "lists", "f4"])
def test_arrays_with_strings_for_labels(x):
    data = read_data(x, Y)
    assert np.array_equal(data.x, X.astype(np.float32))
    assert data.classes == ("cat", "dog")
    assert data.feature_names == ("x[0]", "x[1]", "x[2]")


def test_gaps_in_arrays_become_medians_and_are_said():
    x = X.copy()
    x[3, 1] = np.nan
    data = read_data(x, Y)
    assert data.x[3, 1] == pytest.approx(np.median(np.delete(X[:, 1], 3)), abs=1e-6)
    assert data.notes[0] == "1 missing number in 1 column became the median"
    with pytest.raises(InputError, match="1 numbers in x are missing or not finite"):
        read_data(x, Y, missing="refuse")


def test_what_is_masked_is_missing():
    x = np.ma.MaskedArray([[1.0, 2], [3, 4], [5, -999], [7, 8]], mask=False)
    assert "became the median" not in str(read_data(x, [*"abab"]).notes)
    x[2, 1] = np.ma.masked
    data = read_data(x, np.ma.MaskedArray([0, 1, 0, 1, 5][:4], mask=[0, 0, 0, 1]))
    assert data.x[:, 1].tolist() == [2, 4, 4]
    assert read_data([*x], [*"abab"]).x[:, 1].tolist() == [2, 4, 4, 8]
    assert (data.labels.tolist(), data.unlabelled.rows.tolist()) == ([0, 1, 0], [3])


@pytest.mark.parametrize("kind", ["series", "column"])
def test_data_and_what_stands_beside_it_in_another_order_of_the_index_are_refused(kind):
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4]}, index=[*"abcd"])
    y = pd.Series([0, 1, 0, 1], index=[*"badc"])
    own = y if kind == "series" else y.to_frame()
    with pytest.raises(InputError, match=r"y.loc\[data.index\]"):
        read_data(frame if kind == "column" else frame.x.map("{} words of a text".format), own)
    with pytest.raises(InputError, match=r"group.loc\[data.index\]"):
        read_data(frame, y.to_numpy(), group=own)
    answers = pd.concat([y, y], axis=1, keys=["p", "q"])
    with pytest.raises(InputError, match=r"annotators.loc\[data.index\]"):
        read_data(frame, annotators=answers)
    assert read_data(frame, y.loc[frame.index]).labels.tolist() == [1, 0, 1, 0]
    assert read_data(frame, y.to_numpy()).labels.tolist() == [0, 1, 0, 1]
    assert read_data(frame, y.reset_index(drop=True)).labels.tolist() == [0, 1, 0, 1]


def tensor(x):
    return pytest.importorskip("torch").tensor(x)


ODD_SOURCES = {
    "dok": lambda x, y: (sp.dok_matrix(x), y),
    "masked": lambda x, y: (np.ma.MaskedArray(x), y),
    "masked rows": lambda x, y: ([np.ma.MaskedArray(row) for row in x], y),
    "bfloat16": lambda x, y: (tensor(x).bfloat16(), y),
    "sparse tensor": lambda x, y: (tensor(x).to_sparse(), y),
    "rows one by one": lambda x, y: (iter(x), iter(y)),
    "labels one by one": lambda x, y: (x, (label for label in y)),
}


@pytest.mark.parametrize("name", ODD_SOURCES)
def test_whatever_holds_the_same_numbers_is_the_same_data(name):
    x, y = np.array([[0.0, 1], [2, 0], [0, 3], [4, 0]]), ["a", "b", "a", "b"]
    data = read_data(*ODD_SOURCES[name](x, y))
    assert (data.x.tolist(), data.given().tolist()) == (x.tolist(), y)


@pytest.mark.parametrize("kind", ["without values", "quantized", "labels"])
def test_a_tensor_or_matrix_that_cannot_be_read_is_one_sentence(kind):
    torch = pytest.importorskip("torch")
    x, y = np.ones((4, 2)), [*"abab"]
    if kind == "labels":
        y = sp.csr_array([[1], [0], [1], [0]])
    elif kind == "quantized":
        x = torch.zeros(4, 2, dtype=torch.uint8).view(torch.bits8)
    else:
        x = torch.empty(4, 2, device="meta")
    with pytest.raises(InputError, match="pass one"):
        read_data(x, y)


def test_columns_of_bytes_are_left_out_and_those_of_intervals_are_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(40), "blob": [bytes([i]) for i in range(40)]})
    frame = frame.assign(part=pd.cut(frame.x, 3), label=[*"ab"] * 20)
    data = read_data(frame)
    assert [f.column for f in data.features] == ["x", "part"]
    assert data.features[1].width == 3
    assert [note for note in data.notes if "'blob' holds binary" in note]


def test_sparse_matrices_are_read_as_they_are_or_as_components():
    narrow = sp.random(N, 20, 0.3, random_state=0, format="coo")
    assert np.allclose(read_data(narrow, Y).x, narrow.toarray().astype(np.float32))
    wide = sp.random(200, 3000, 0.01, random_state=0, format="csr")
    labels = ["a", "b"] * 100
    data = read_data(wide, labels)
    assert data.x.shape == (200, 50)
    assert data.notes[0] == "the sparse matrix with 3,000 columns became 50 components"
    order = np.random.default_rng(1).permutation(200)
    moved = read_data(wide[order], [labels[i] for i in order])
    assert np.array_equal(moved.x, data.x[order])


def test_lists_of_texts_and_of_pictures(tmp_path):
    texts = [f"the {'small' if y == 'cat' else 'big'} animal number {i}" for i, y in enumerate(Y)]
    data = read_data(texts, Y)
    assert data.features[0].how == "text"
    assert show_rows(data, np.array([2]))["text"] == [texts[2]]
    root = image_folder(tmp_path)
    paths = sorted(str(p) for p in root.rglob("*.png"))
    pictures = read_data(paths, [p.split("/")[-2] for p in paths])
    assert np.array_equal(pictures.x, read_data(root).x)
    assert show_rows(pictures, np.array([1]))["path"] == [paths[1]]
    with pytest.raises(InputError, match=r"absent.png is no file"):
        read_data([*paths, "absent.png"], ["a"] * 7)


def test_images_in_arrays_with_their_channels_anywhere():
    pixels = rng.integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
    labels = ["a", "b"] * 3
    assert np.array_equal(read_data(pixels, labels).x, pixels.transpose(0, 3, 1, 2))
    assert read_data(pixels[..., 0], labels).x.shape == (6, 1, 8, 8)
    with pytest.raises(InputError, match=r"scale them to 0\.\.255"):
        read_data(pixels / 255, labels)


def test_torch_data_sets():
    torch = pytest.importorskip("torch", reason="torch is missing: pip install 'dris[torch]'")
    from torch.utils.data import Dataset, TensorDataset

    numbers = [int(y == "dog") for y in Y]
    whole = TensorDataset(torch.tensor(X), torch.tensor(numbers))

    class Words(Dataset):
        def __len__(self):
            return N

        def __getitem__(self, i):
            return torch.tensor(X[i]), Y[i]

    assert np.array_equal(read_data(whole).x, X.astype(np.float32))
    assert read_data(whole).given().tolist() == numbers
    assert read_data(Words()).given().tolist() == Y


@pytest.mark.parametrize(
    ("source", "labels", "options", "says"),
    [
        (X, None, {}, "comes without labels"),
        (X, Y[:3], {}, "40 examples need as many labels, got 3"),
        (X, Y, {"label": "kind"}, "pass the labels as `y`"),
        (X, [None] * 40, {}, "has no label in any row"),
        (X, [object()] * N, {}, "labels must be whole numbers or texts"),
        (X, 3, {}, "a list or an array of 40 values"),
        (np.zeros((0, 3)), [], {}, "must be numbers"),
        (np.array([[object()]] * 2), ["a", "b"], {}, "must be numbers"),
        ({"x": [1, 2], "y": ["a", "b", "a"]}, None, {"label": "y"}, "x has 2, y has 3; fill"),
        (pd.DataFrame({"x": [], "y": []}), None, {"label": "y"}, "has no rows"),
        (pd.DataFrame(FRAME), None, {"label": "knd"}, r"did you mean 'kind'\?"),
        (3.5, Y, {}, "got float64 of shape"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(source, labels, options, says):
    with pytest.raises(InputError, match=says):
        read_data(source, labels, **options)


def test_rows_as_dictionaries_and_columns_by_name_are_tables():
    rows = [
        {"age": 20.5 + i % 9, "job": ("cook", "nurse")[i % 2], "y": "ab"[i % 2]} for i in range(40)
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    one, two = read_data(rows, label="y"), read_data(columns, label="y")
    assert one.feature_names == two.feature_names
    assert np.array_equal(one.x, two.x)
    del rows[3]["y"]
    assert read_data(rows, label="y").unlabelled.rows.tolist() == [3]
