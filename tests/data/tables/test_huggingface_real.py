"""What the real `datasets` package writes is read, pruned, and read by it again."""

import numpy as np
import pytest

datasets = pytest.importorskip(
    "datasets", reason='datasets is missing: pip install "dris[huggingface]"'
)
pytestmark = pytest.mark.frameworks

from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, Sequence, Value  # noqa: E402
from PIL import Image as Picture  # noqa: E402

from dris.core.errors import InputError  # noqa: E402
from dris.data.outputs import write_data  # noqa: E402
from dris.data.reader import read_data  # noqa: E402

N = 240
CLASSES = ClassLabel(names=["cat", "dog", "emu"])
FAST = ["--epochs", "4", "--model", "mlp", "--workers", "1"]


@pytest.fixture(scope="module", autouse=True)
def _silent():
    datasets.disable_progress_bars()


def labels() -> np.ndarray:
    return np.random.default_rng(0).integers(3, size=N)


def vectors(width: int | None = 6) -> Dataset:
    """Three clusters of vectors, with a name for each row."""
    x = 3 * np.eye(3, 6)[labels()] + np.random.default_rng(1).normal(size=(N, 6))
    length = {} if width is None else {"length": width}
    return Dataset.from_dict(
        {"x": x.astype(np.float32), "label": labels(), "name": [f"r{i}" for i in range(N)]},
        features=Features(
            {"x": Sequence(Value("float32"), **length), "label": CLASSES, "name": Value("string")}
        ),
    )


def pictures() -> Dataset:
    """Images of three brightnesses."""
    rng = np.random.default_rng(2)
    made = [rng.integers(60 * y, 60 * y + 90, (12, 12, 3), dtype=np.uint8) for y in labels()]
    return Dataset.from_dict(
        {"image": [Picture.fromarray(m) for m in made], "label": labels()},
        features=Features({"image": Image(), "label": CLASSES}),
    )


def on_disk(dataset, folder, **options):
    dataset.save_to_disk(str(folder), **options)
    return folder


@pytest.mark.parametrize("width", [6, None], ids=["fixed length", "any length"])
def test_vectors_and_class_names(tmp_path, width):
    saved = vectors(width)
    data = read_data(on_disk(saved, tmp_path / "set"), id="name")
    assert np.array_equal(data.x, np.array(saved["x"][:], dtype=np.float32))
    assert data.labels.tolist() == saved["label"][:]
    assert data.names == ("cat", "dog", "emu")
    assert data.ids.tolist() == saved["name"][:]


@pytest.mark.parametrize(
    "changed",
    [
        lambda d: d.shuffle(seed=1),
        lambda d: d.select([*range(9, 60), 3, 1]),
        lambda d: d.select(range(40, 90)),
        lambda d: d.filter(lambda row: row["label"] != 1),
        lambda d: datasets.concatenate_datasets([d, d.select(range(7))]),
        lambda d: d.with_format("numpy", columns=["label"]),
    ],
    ids=["shuffled", "picked", "cut", "filtered", "joined", "formatted"],
)
def test_a_data_set_is_read_as_it_stood_when_it_was_saved(tmp_path, changed):
    saved = changed(vectors())
    data = read_data(on_disk(saved, tmp_path / "set", num_shards=3), without=["name"])
    plain = saved.with_format(None)
    assert data.given().tolist() == plain["label"][:]
    assert np.array_equal(data.x, np.array(plain["x"][:], dtype=np.float32))


def test_a_dictionary_asks_for_one_of_its_splits(tmp_path):
    both = DatasetDict(train=vectors(), test=vectors().select(range(30)))
    on_disk(both, tmp_path / "set")
    with pytest.raises(InputError, match=r"holds the splits train, test; name one of them, as .*"):
        read_data(tmp_path / "set")
    assert len(read_data(tmp_path / "set" / "test", id="name")) == 30


def test_a_data_set_in_memory_is_read_as_from_disk(tmp_path):
    made = vectors().shuffle(seed=1)
    data, saved = read_data(made, id="name"), read_data(on_disk(made, tmp_path / "s"), id="name")
    assert np.array_equal(data.x, saved.x)
    assert data.names == saved.names == ("cat", "dog", "emu")
    assert data.ids.tolist() == saved.ids.tolist() == made["name"][:]
    with pytest.raises(InputError, match="has the splits train; pass one"):
        read_data(DatasetDict(train=made))


@pytest.mark.parametrize("made", [vectors, pictures])
def test_what_is_written_is_loaded_with_its_features(tmp_path, made):
    saved = made()
    options = {} if made is pictures else {"id": "name"}
    data = read_data(on_disk(saved, tmp_path / "set"), **options)
    write_data(data, tmp_path / "rows.parquet", positions=[1, 4, 7])
    write_data(data, tmp_path / "scored.parquet", columns={"score": np.arange(N) / 2})
    rows, scored = (
        Dataset.from_parquet(str(tmp_path / f"{name}.parquet"), cache_dir=str(tmp_path / "cache"))
        for name in ("rows", "scored")
    )
    assert rows.features == saved.features
    assert rows[:] == saved.select([1, 4, 7])[:]
    assert scored.features == {**saved.features, "score": Value("float64")}
    assert scored["score"][:] == (np.arange(N) / 2).tolist()


@pytest.mark.parametrize("made", [vectors, pictures])
def test_pruning_a_saved_data_set_gives_one_that_datasets_loads(tmp_path, dris, made):
    saved = made()
    folder = on_disk(DatasetDict(train=saved), tmp_path / "set") / "train"
    columns = [] if made is pictures else ["--id", "name"]
    words = [folder, *columns, *FAST, "--store", tmp_path / "runs", "--out", tmp_path / "out"]
    code, _, error = dris("prune", *words, "--keep", "0.25", "--rule", "rank_variance")
    assert code == 0, error
    kept = Dataset.from_parquet(
        str(tmp_path / "out" / "kept.parquet"), cache_dir=str(tmp_path / "cache")
    )
    assert 0.2 * N < len(kept) <= 0.25 * N  # canaries are taken out of what is kept
    assert kept.features == saved.features
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
