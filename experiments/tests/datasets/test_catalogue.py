import dataclasses
import hashlib
from types import SimpleNamespace

import numpy as np
import pytest

from dris import InputError
from experiments.datasets import published
from experiments.datasets.catalogue import KNOWN, KnownData, load, load_set, set_status, status
from experiments.datasets.food101 import decode_images
from experiments.tests.datasets.made_archives import (
    cifar_archive,
    food_files,
    tar_gz,
    tiny_cifar,
    tiny_food,
    tiny_idx,
    write_idx,
    write_tree,
    write_unpacked,
)

HUMAN = SimpleNamespace(
    published=published._CIFAR10N_FILE,
    sums=published._CIFAR10N,
)
ARCHIVE = cifar_archive()
TINY = tiny_cifar(ARCHIVE)


def test_an_archive_and_its_unpacked_batches_load_alike(tmp_path):
    write_unpacked(tmp_path / "u")
    (tmp_path / "tiny.tar.gz").write_bytes(ARCHIVE)
    packed = load_set(TINY, data_dir=tmp_path, download=False)
    unpacked = load_set(TINY, data_dir=tmp_path / "u", download=False)
    assert packed.train_x.shape == (5, 3, 32, 32)
    assert packed.test_y.tolist() == [1, 0]
    assert (packed.train_x == unpacked.train_x).all()
    assert packed.kind == "images"
    assert packed.classes == ("a", "b")
    assert not (tmp_path / "tiny-bin").exists()  # read in place, nothing hidden written


def test_the_order_of_batches_does_not_come_from_the_archive(tmp_path):
    members = {f"tiny-bin/{p}": (write_unpacked(tmp_path / p) / p).read_bytes() for p in
               ("test_batch.bin", "data_batch_2.bin", "data_batch_1.bin")}  # fmt: skip
    archive = tar_gz(members)
    (tmp_path / "tiny.tar.gz").write_bytes(archive)
    assert load_set(tiny_cifar(archive), data_dir=tmp_path).train_y.tolist() == [0, 1, 1, 1, 0]


def test_a_damaged_first_folder_is_never_passed_over_for_a_good_one(tmp_path, monkeypatch):
    bad = write_unpacked(tmp_path / "bad") / "test_batch.bin"
    bad.write_bytes(bytes(3073))
    write_unpacked(tmp_path / "good")
    monkeypatch.setenv("DRIS_DATA", str(tmp_path / "good"))
    load_set(TINY, download=False)
    with pytest.raises(InputError, match=r"bad/tiny-bin/test_batch\.bin is damaged"):
        load_set(TINY, data_dir=tmp_path / "bad", download=False)
    assert bad.read_bytes() == bytes(3073)


def test_a_folder_in_part_is_named_with_what_it_lacks(tmp_path):
    (write_unpacked(tmp_path) / "data_batch_2.bin").unlink()
    with pytest.raises(InputError, match=r"tiny-bin lacks data_batch_2\.bin\)"):
        load_set(TINY, data_dir=tmp_path, download=False)


def test_food_is_unpacked_the_first_time_and_decoded_when_asked(tmp_path):
    archive = tar_gz({f"food-101/{name}": blob for name, blob in food_files().items()})
    (tmp_path / "food-101.tar.gz").write_bytes(archive)
    known = tiny_food(archive)
    data = load_set(known, data_dir=tmp_path, download=False)
    assert data.kind == "paths"
    assert decode_images(data.train_x, size=4).shape == (4, 3, 4, 4)
    (tmp_path / "food-101.tar.gz").unlink()
    again = load_set(known, data_dir=tmp_path, download=False)
    assert (again.train_x == data.train_x).all()
    assert again.note.startswith("in part: 3 of 101 classes")


def test_an_unknown_name_lists_the_choices():
    with pytest.raises(InputError, match=r"must be one of digits, mnist, .* got 'imagenet'"):
        load("imagenet")


def test_digits_are_split_by_class_once_and_for_all():
    one, two = load("digits"), load("digits")
    assert (one.train_x == two.train_x).all()
    assert one.train_x.dtype == np.float32
    assert len(one.train_y) + len(one.test_y) == 1797
    whole = np.bincount(np.concatenate([one.train_y, one.test_y]))
    assert whole.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert (np.bincount(one.test_y) == whole // 5).all()
    rows = {row.tobytes() for row in np.concatenate([one.train_x, one.test_x])}
    assert len(rows) == 1797  # no example in both


def test_the_synthetic_set_has_the_size_of_the_paper():
    data = load("synthetic-r20")
    assert data.train_x.shape == (2000, 20)
    assert data.test_x.shape == (1000, 20)
    assert data.kind == "table"
    assert data.classes == ("0", "1")


def test_known_data_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        load("digits").name = "other"
    assert not hasattr(KnownData, "__dict__") or "__slots__" in vars(KnownData)


def test_status_tells_present_absent_and_damaged_apart(tmp_path):
    assert set_status(TINY, tmp_path).state == "absent"
    (tmp_path / "tiny.tar.gz").write_bytes(ARCHIVE)
    there = set_status(TINY, tmp_path)
    assert (there.state, there.path, there.size, there.detail) == (
        "present", tmp_path / "tiny.tar.gz", len(ARCHIVE), "",
    )  # fmt: skip
    (tmp_path / "tiny.tar.gz").write_bytes(ARCHIVE[:-1])
    harmed = set_status(TINY, tmp_path)
    assert harmed.state == "damaged"
    assert "tiny.tar.gz is damaged" in harmed.detail


def test_status_of_several_files_names_their_folder_and_the_missing_one(tmp_path):
    where = write_idx(tmp_path)
    assert set_status(tiny_idx(), tmp_path).state == "present"
    assert set_status(tiny_idx(), tmp_path).path == where
    (where / "t10k-labels-idx1-ubyte.gz").write_bytes(b"")
    assert set_status(tiny_idx(), tmp_path).state == "damaged"
    (where / "t10k-labels-idx1-ubyte.gz").unlink()
    gone = set_status(tiny_idx(), tmp_path)
    assert gone.state == "absent"
    assert "t10k-labels-idx1-ubyte.gz is not in" in gone.detail


def test_status_of_a_partial_tree_says_so_and_never_unpacks(tmp_path):
    archive = tar_gz({f"food-101/{name}": blob for name, blob in food_files().items()})
    (tmp_path / "food-101.tar.gz").write_bytes(archive)
    known = tiny_food(archive)
    assert set_status(known, tmp_path).state == "present"
    assert not (tmp_path / "food-101").exists()
    write_tree(tmp_path / "food-101", food_files())
    assert set_status(known, tmp_path).detail.startswith("in part: 3 of 101")
    assert set_status(known, tmp_path).size == sum(map(len, food_files().values()))


def test_status_covers_every_known_set_and_needs_no_data(tmp_path):
    states = {s.known.name: s.state for s in status(tmp_path)}
    assert states.pop("digits") == states.pop("synthetic-r20") == "present"
    assert set(states.values()) == {"absent"}
    assert set(states) == {
        "mnist",
        "fashion-mnist",
        "cifar10",
        "cifar10n",
        "cifar100",
        "cifar100-coarse",
        "food101",
    }


def test_every_known_set_names_its_licence_and_citation():
    for name, known in KNOWN.items():
        assert known.name == name
        assert known.licence
        assert known.citation
        for one in known.published:
            named = one.address.endswith(one.file.rpartition("/")[2])
            assert one.by_hand or (one.address.startswith("http") and named)


def test_labels_by_people_are_copied_by_hand_and_checked_array_by_array(tmp_path, monkeypatch):
    here = write_unpacked(tmp_path)
    known = dataclasses.replace(KNOWN["cifar10n"], published=(TINY.published[0], HUMAN.published))
    with pytest.raises(InputError, match=r"cifar-10n\.npz is not in .*copy it into"):
        load_set(known, data_dir=tmp_path)  # and nothing is downloaded
    labels = {name: np.array([0, 1, 1, 1, 0], dtype=np.int8) for name in HUMAN.sums}
    labels["worse_label"][0] = 1
    np.savez(tmp_path / "cifar-10n.npz", **labels)
    with pytest.raises(InputError, match="not as published"):
        load_set(known, data_dir=tmp_path)
    for name, array in labels.items():
        monkeypatch.setitem(HUMAN.sums, name, hashlib.sha256(array.tobytes()).hexdigest())
    data = load_set(known, data_dir=tmp_path)
    assert here.is_dir()
    assert {name: given.tolist() for name, given in data.given.items()} == {
        "aggregate": [0, 1, 1, 1, 0],
        "random1": [0, 1, 1, 1, 0],
        "worse": [1, 1, 1, 1, 0],
    }
