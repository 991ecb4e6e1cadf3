"""Small valid files of every kind that is read, and one check for whatever is not valid."""

import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from dris.core.errors import InputError
from dris.data.labelled import LabelledData
from dris.data.reader import read_data

N = 12


def table() -> pa.Table:
    """Twelve rows of every kind of column that is read."""
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "id": pa.array([f"r{i}" for i in range(N)]),
            "age": pa.array(rng.integers(18, 80, N)),
            "height": pa.array(rng.normal(size=N).astype(np.float32)),
            "married": pa.array(rng.integers(0, 2, N).astype(bool)),
            "job": pa.array(["cook", "nurse", "cook", "clerk"] * 3).dictionary_encode(),
            "born": pa.array(np.arange(N, dtype=np.int32), pa.date32()),
            "embedding": pa.FixedSizeListArray.from_arrays(
                pa.array(rng.normal(size=3 * N).astype(np.float32)), 3
            ),
            "checked": pa.array([i < 3 for i in range(N)]),
            "y": pa.array(["yes", "no", "no"] * 4),
        }
    )


CSV = "id,age,job,y\n" + "".join(
    f"r{i},{20 + i}.5,{'cook' if i % 2 else 'nurse'},{'yes' if i % 3 else 'no'}\n" for i in range(N)
)


def parquet_bytes(content: pa.Table | None = None) -> bytes:
    out = io.BytesIO()
    pq.write_table(table() if content is None else content, out, row_group_size=5)
    return out.getvalue()


def npz_bytes(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(
        out, **(arrays or {"x": np.arange(3.0 * N).reshape(N, 3), "y": np.arange(N) % 3})
    )
    return out.getvalue()


def npy_bytes(array: np.ndarray, **options: bool) -> bytes:
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


def png_bytes(side: int = 8, seed: int = 0, grey: bool = True) -> bytes:
    shape = (side, side) if grey else (side, side, 3)
    out = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def image_folder(root: Path, classes: tuple[str, ...] = ("cat", "dog"), each: int = 3) -> Path:
    for c, name in enumerate(classes):
        (root / name).mkdir(parents=True)
        for i in range(each):
            (root / name / f"{i}.png").write_bytes(png_bytes(seed=10 * c + i))
    return root


def saved_dataset(
    folder: Path, content: pa.Table, *, parts: int = 1, indices=None, features=None
) -> Path:
    """A folder as the `datasets` library's save_to_disk writes it."""
    folder.mkdir(parents=True)
    names = [f"data-{i:05}-of-{parts:05}.arrow" for i in range(parts)]
    step = -(-len(content) // parts)
    for i, name in enumerate(names):
        part = content.slice(i * step, step)
        with pa.ipc.new_stream(str(folder / name), part.schema) as writer:
            writer.write_table(part)
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "abc"}
    if indices is not None:
        chosen = pa.table({"indices": pa.array(indices, pa.uint64())})
        with pa.ipc.new_stream(str(folder / "indices.arrow"), chosen.schema) as writer:
            writer.write_table(chosen)
        state["_indices_data_files"] = [{"filename": "indices.arrow"}]
    (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
    (folder / "dataset_info.json").write_text(
        json.dumps({"features": features or {}}), encoding="utf-8"
    )
    return folder


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder: when it was changed, and its bytes."""
    files = (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    return {str(p): (p.stat().st_mtime_ns, p.read_bytes()) for p in files if p.stat().st_mode & 256}


def read_or_refused(folder: Path, paths, read=read_data, **options) -> LabelledData | str:
    """What is read, finite and whole, or the one sentence with its remedy; nothing changed.

    Any other exception passes through and fails the test.
    """
    before = contents(folder)
    try:
        data = read(paths, **options)
    except InputError as refusal:
        return _one_sentence(refusal)
    finally:
        assert contents(folder) == before
    assert np.isfinite(data.x).all()
    assert len(data.x) == len(data.labels) == len(data.ids) == len(data.trusted) > 1
    assert len(np.unique(data.ids)) == len(data.ids)
    assert set(data.labels.tolist()) == set(range(len(data.classes)))
    return data


def _one_sentence(error: InputError) -> str:
    """The message: one line, with a remedy after a semicolon or a question, and no other error."""
    message = str(error)
    assert re.fullmatch(r"[^\n\r]{20,900}", message), message
    assert re.search(r"[;?] \S+", message), f"no remedy: {message}"
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None, "two tracebacks"
    return message


def zipped(blob, names=("people.csv",)) -> bytes:
    """An archive that holds the same bytes under each name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, blob)
    return out.getvalue()


def write_columns(path, columns):
    """The same columns as a CSV, Parquet, JSON lines or Excel file, by the ending of its name."""
    lines = [list(columns), *zip(*columns.values(), strict=True)]
    if path.suffix == ".csv":
        path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines), "utf-8")
    elif path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".jsonl":
        rows = (json.dumps(dict(zip(columns, line, strict=True))) + "\n" for line in lines[1:])
        path.write_text("".join(rows), "utf-8")
    else:
        book = pytest.importorskip("openpyxl", reason="pip install 'dris[excel]'").Workbook()
        for line in lines:
            book.active.append(list(line))
        book.save(path)
    return path
