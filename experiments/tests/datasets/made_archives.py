"""Tiny data sets in the official formats, with checksums of their own."""

import gzip
import hashlib
import io
import json
import tarfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from experiments.datasets.archives import Published
from experiments.datasets.published import KNOWN, KnownSet, read_cifar, read_idx

ADDRESS = "http://127.0.0.1:9/"  # the discard port: nothing listens


def md5(blob: bytes) -> str:
    return hashlib.md5(blob).hexdigest()


def tar_gz(members: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, blob in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(blob)
            archive.addfile(entry, io.BytesIO(blob))
        for name, target in (links or {}).items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return out.getvalue()


def cifar_rows(labels: list[int], seed: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(256, size=(len(labels), 3072), dtype=np.uint8)
    return np.concatenate([np.array(labels, dtype=np.uint8)[:, None], pixels], 1).tobytes()


CIFAR_PARTS = {
    "data_batch_1.bin": cifar_rows([0, 1, 1], 1),
    "data_batch_2.bin": cifar_rows([1, 0], 2),
    "test_batch.bin": cifar_rows([1, 0], 3),
}


def cifar_archive(**more: bytes) -> bytes:
    members = {f"tiny-bin/{name}": blob for name, blob in CIFAR_PARTS.items()}
    return tar_gz({"tiny-bin/readme.html": b"hello", **members, **more})


def tiny_cifar(archive: bytes, address: str = ADDRESS) -> KnownSet:
    published = Published(
        address=f"{address}tiny.tar.gz",
        file="tiny.tar.gz",
        folder="tiny-bin",
        parts={name: hashlib.sha1(blob).hexdigest() for name, blob in CIFAR_PARTS.items()},
        md5=md5(archive),
    )
    return KnownSet(
        name="tiny",
        published=(published,),
        read=partial(read_cifar, classes=("a", "b"), labels=1, column=0),
        licence="none",
        citation="nobody",
        homepage=address,
    )


def write_unpacked(folder: Path) -> Path:
    where = folder / "tiny-bin"
    where.mkdir(parents=True)
    for name, blob in CIFAR_PARTS.items():
        (where / name).write_bytes(blob)
    return where


def idx_bytes(array: np.ndarray) -> bytes:
    lengths = b"".join(n.to_bytes(4, "big") for n in array.shape)
    return bytes([0, 0, 8, array.ndim]) + lengths + array.astype(np.uint8).tobytes()


IDX_PARTS = {
    "train-images-idx3-ubyte": idx_bytes(np.arange(3 * 2 * 2).reshape(3, 2, 2)),
    "train-labels-idx1-ubyte": idx_bytes(np.array([2, 0, 1])),
    "t10k-images-idx3-ubyte": idx_bytes(np.arange(2 * 2 * 2).reshape(2, 2, 2)),
    "t10k-labels-idx1-ubyte": idx_bytes(np.array([1, 2])),
}


def tiny_idx(address: str = ADDRESS) -> KnownSet:
    published = tuple(
        Published(f"{address}{name}.gz", f"small/{name}.gz", "small", {name: md5(blob)})
        for name, blob in IDX_PARTS.items()
    )
    return KnownSet(
        name="small",
        published=published,
        read=partial(read_idx, classes=("a", "b", "c")),
        licence="none",
        citation="nobody",
        homepage=address,
    )


def write_idx(folder: Path, level: int = 9) -> Path:
    where = folder / "small"
    where.mkdir(parents=True)
    for name, blob in IDX_PARTS.items():
        (where / f"{name}.gz").write_bytes(gzip.compress(blob, level, mtime=0))
    return where


def jpeg(colour: tuple[int, int, int], width: int = 24, height: int = 16) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(out, format="JPEG", quality=95)
    return out.getvalue()


def food_files() -> dict[str, bytes]:
    """Three classes; the split also lists images that are not there."""
    train = ["pie/1", "pie/2", "rice/3", "soup/4", "soup/404", "zebra/9"]
    test = ["pie/5", "rice/6", "zebra/10"]
    files = {
        f"images/{name}.jpg": jpeg((int(name.split("/")[1]) * 20, 60, 200))
        for name in ["pie/1", "pie/2", "rice/3", "soup/4", "pie/5", "rice/6", "zebra/10", "pie/77"]
    }
    for split, names in (("train", train), ("test", test)):
        files[f"meta/{split}.txt"] = "\n".join(names).encode() + b"\n"
        groups = {name.split("/")[0]: [] for name in names}
        for name in names:
            groups[name.split("/")[0]].append(name)
        files[f"meta/{split}.json"] = json.dumps(groups).encode()
    return files


def write_tree(root: Path, files: dict[str, bytes]) -> Path:
    for name, blob in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(blob)
    return root


def tiny_food(archive: bytes) -> KnownSet:
    known = KNOWN["food101"]
    (published,) = known.published
    return replace(
        known,
        published=(replace(published, md5=md5(archive), address=f"{ADDRESS}food-101.tar.gz"),),
    )
