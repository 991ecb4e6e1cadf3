import gzip
from dataclasses import replace

import pytest

from dris import InputError
from experiments.datasets.archives import LocalFile, find, read_parts, search_folders, unpack_tree
from experiments.tests.datasets.made_archives import (
    CIFAR_PARTS,
    IDX_PARTS,
    cifar_archive,
    food_files,
    tar_gz,
    tiny_cifar,
    tiny_food,
    tiny_idx,
    write_idx,
    write_unpacked,
)

ARCHIVE = cifar_archive()
TINY = tiny_cifar(ARCHIVE).published[0]


def files_under(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def test_the_argument_comes_before_dris_data_before_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DRIS_DATA", str(tmp_path / "env"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    want = (tmp_path / "arg", tmp_path / "env", tmp_path / "xdg" / "dris")
    assert search_folders(tmp_path / "arg") == want
    assert search_folders() == want[1:]
    monkeypatch.delenv("DRIS_DATA")
    assert search_folders() == want[2:]


def test_without_xdg_the_cache_is_in_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert search_folders() == (tmp_path / ".cache" / "dris",)
    assert search_folders("~/sets")[0] == tmp_path / "sets"


def test_a_folder_named_twice_is_searched_once(monkeypatch, tmp_path):
    monkeypatch.setenv("DRIS_DATA", str(tmp_path))
    assert search_folders(tmp_path).count(tmp_path) == 1


def test_the_first_folder_that_holds_the_file_wins(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    write_unpacked(two)
    assert find(TINY, (one, two)).path == two / "tiny-bin"
    (one / "tiny.tar.gz").write_bytes(ARCHIVE)
    assert find(TINY, (one, two)) == LocalFile(TINY, one / "tiny.tar.gz", packed=True)
    write_unpacked(one)
    assert find(TINY, (one, two)) == LocalFile(TINY, one / "tiny-bin", packed=False)


def test_a_folder_that_lacks_a_part_does_not_count_as_unpacked(tmp_path):
    (write_unpacked(tmp_path) / "test_batch.bin").unlink()
    assert find(TINY, (tmp_path,)) is None
    (tmp_path / "tiny.tar.gz").write_bytes(ARCHIVE)
    assert find(TINY, (tmp_path,)).packed


def test_packed_and_unpacked_give_the_same_bytes_and_their_size(tmp_path):
    write_unpacked(tmp_path / "u")
    (tmp_path / "tiny.tar.gz").write_bytes(ARCHIVE)
    unpacked, packed = (find(TINY, (folder,)) for folder in (tmp_path / "u", tmp_path))
    assert read_parts(unpacked) == read_parts(packed) == CIFAR_PARTS
    assert unpacked.size == sum(map(len, CIFAR_PARTS.values()))
    assert packed.size == len(ARCHIVE)


@pytest.mark.parametrize("part", CIFAR_PARTS)
def test_one_changed_byte_in_an_unpacked_part_is_refused_by_its_name(tmp_path, part):
    file = write_unpacked(tmp_path) / part
    blob = bytearray(file.read_bytes())
    blob[1234] ^= 1
    file.write_bytes(blob)
    with pytest.raises(InputError, match=rf"{part} is damaged \(checksum \w+, published \w+\)"):
        read_parts(find(TINY, (tmp_path,)))
    assert file.read_bytes() == blob  # neither mended nor deleted


def test_an_archive_with_another_md5_is_refused_and_kept(tmp_path):
    other = cifar_archive(**{"tiny-bin/extra.txt": b"x"})
    (tmp_path / "tiny.tar.gz").write_bytes(other)
    with pytest.raises(InputError, match=r"tiny\.tar\.gz is damaged \(checksum") as caught:
        read_parts(find(TINY, (tmp_path,)))
    assert TINY.address in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (tmp_path / "tiny.tar.gz").read_bytes() == other


def test_an_archive_with_the_right_md5_but_other_parts_is_refused(tmp_path):
    wrong = tar_gz({f"tiny-bin/{name}": b"0" * 3073 for name in CIFAR_PARTS})
    (tmp_path / "tiny.tar.gz").write_bytes(wrong)
    with pytest.raises(InputError, match="is damaged"):
        read_parts(find(tiny_cifar(wrong).published[0], (tmp_path,)))


def test_an_archive_that_lacks_a_part_is_refused(tmp_path):
    short = tar_gz({"tiny-bin/test_batch.bin": CIFAR_PARTS["test_batch.bin"]})
    (tmp_path / "tiny.tar.gz").write_bytes(short)
    with pytest.raises(InputError, match=r"is damaged \(it lacks data_batch_1\.bin\)"):
        read_parts(find(tiny_cifar(short).published[0], (tmp_path,)))


@pytest.mark.parametrize("keep", [0, 5, 200, len(ARCHIVE) // 2, len(ARCHIVE) - 400])
def test_a_truncated_tar_is_damaged_even_when_no_md5_is_published(tmp_path, keep):
    (tmp_path / "tiny.tar.gz").write_bytes(ARCHIVE[:keep])
    with pytest.raises(InputError, match=r"tiny\.tar\.gz is damaged"):
        read_parts(find(replace(TINY, md5=None), (tmp_path,)))


@pytest.mark.parametrize("level", [1, 6, 9])
def test_a_gz_packed_anew_still_passes_by_its_content(tmp_path, level):
    write_idx(tmp_path, level)
    read = {}
    for published in tiny_idx().published:
        read |= read_parts(find(published, (tmp_path,)))
    assert read == IDX_PARTS


def test_idx_files_may_lie_there_unpacked(tmp_path):
    (tmp_path / "small").mkdir()
    for name, blob in IDX_PARTS.items():
        (tmp_path / "small" / name).write_bytes(blob)
    for published in tiny_idx().published:
        assert not find(published, (tmp_path,)).packed
        assert read_parts(find(published, (tmp_path,))).items() <= IDX_PARTS.items()


def garbled(blob):
    return blob[:15] + b"\xff" * 8 + blob[23:]


@pytest.mark.parametrize(
    "harm",
    [
        lambda blob: blob[:-9],
        lambda blob: blob[:3],
        lambda blob: b"<html>not found</html>",
        lambda blob: b"",
        garbled,
        lambda blob: gzip.compress(b"other"),
    ],
    ids=["truncated", "stub", "html", "empty", "garbled", "other content"],
)
def test_a_damaged_gz_is_refused_by_its_name(tmp_path, harm):
    published = tiny_idx().published[0]
    file = write_idx(tmp_path) / "train-images-idx3-ubyte.gz"
    file.write_bytes(harm(file.read_bytes()))
    with pytest.raises(InputError, match=r"train-images-idx3-ubyte\.gz is damaged"):
        read_parts(find(published, (tmp_path,)))


EVIL = ["../evil.txt", "/tmp/evil.txt", "tiny-bin/../../evil.txt", "elsewhere/evil.txt"]


@pytest.mark.parametrize("name", EVIL)
def test_a_tar_with_an_entry_outside_its_folder_is_refused(tmp_path, name):
    archive = cifar_archive(**{name: b"evil"})
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "tiny.tar.gz").write_bytes(archive)
    with pytest.raises(InputError, match=r"tiny\.tar\.gz holds the unexpected entry"):
        read_parts(find(tiny_cifar(archive).published[0], (tmp_path / "in",)))
    assert files_under(tmp_path) == {"in/tiny.tar.gz"}


def food_archive(links=None, **more):
    members = {f"food-101/{name}": blob for name, blob in food_files().items()}
    return tar_gz({**members, **more}, links)


def test_a_tree_is_unpacked_whole_and_only_with_the_kinds_of_file_it_should_hold(tmp_path):
    odd = {
        "food-101/run.sh": b"echo",
        "food-101/images/pie/._1.jpg": b"",
        "food-101/README.txt": b"r",
    }
    archive = food_archive(**odd)
    (tmp_path / "food-101.tar.gz").write_bytes(archive)
    local = find(tiny_food(archive).published[0], (tmp_path,))
    assert unpack_tree(local) == tmp_path / "food-101"
    want = {f"food-101/{name}" for name in food_files()} | {"food-101/README.txt"}
    assert files_under(tmp_path) == want | {"food-101.tar.gz"}
    assert (tmp_path / "food-101/images/pie/1.jpg").read_bytes() == food_files()["images/pie/1.jpg"]


@pytest.mark.parametrize("name", ["../evil.jpg", "/evil.jpg", "food-101/images/../../../evil.jpg"])
def test_a_tree_with_an_entry_outside_is_refused_and_nothing_is_left(tmp_path, name):
    archive = food_archive(**{name: b"evil"})
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "food-101.tar.gz").write_bytes(archive)
    with pytest.raises(InputError, match="holds the unexpected entry"):
        unpack_tree(find(tiny_food(archive).published[0], (tmp_path / "in",)))
    assert [p.name for p in (tmp_path / "in").iterdir()] == ["food-101.tar.gz"]
    assert files_under(tmp_path) == {"in/food-101.tar.gz"}


def test_a_tree_with_a_link_is_refused(tmp_path):
    archive = food_archive(links={"food-101/images/pie/8.jpg": "/etc/hostname"})
    (tmp_path / "food-101.tar.gz").write_bytes(archive)
    with pytest.raises(InputError, match=r"unexpected entry 'food-101/images/pie/8\.jpg'"):
        unpack_tree(find(tiny_food(archive).published[0], (tmp_path,)))


def test_a_damaged_tree_archive_is_refused_before_anything_is_written(tmp_path):
    archive = food_archive()
    (tmp_path / "food-101.tar.gz").write_bytes(archive[:-20])
    with pytest.raises(InputError, match=r"food-101\.tar\.gz is damaged"):
        unpack_tree(find(tiny_food(archive).published[0], (tmp_path,)))
    assert files_under(tmp_path) == {"food-101.tar.gz"}


def test_a_truncated_tree_with_no_published_md5_leaves_nothing(tmp_path):
    (tmp_path / "food-101.tar.gz").write_bytes(food_archive()[:-400])
    published = replace(tiny_food(b"").published[0], md5=None)
    with pytest.raises(InputError, match=r"food-101\.tar\.gz is damaged"):
        unpack_tree(find(published, (tmp_path,)))
    assert [p.name for p in tmp_path.iterdir()] == ["food-101.tar.gz"]


def test_a_tree_archive_without_meta_is_refused(tmp_path):
    archive = tar_gz({"food-101/images/pie/1.jpg": b"x"})
    (tmp_path / "food-101.tar.gz").write_bytes(archive)
    with pytest.raises(InputError, match="it lacks meta"):
        unpack_tree(find(tiny_food(archive).published[0], (tmp_path,)))
    assert not (tmp_path / "food-101").exists()


def test_a_tree_is_never_unpacked_over_a_folder_that_is_there(tmp_path):
    archive = food_archive()
    (tmp_path / "food-101.tar.gz").write_bytes(archive)
    (tmp_path / "food-101" / "images").mkdir(parents=True)
    with pytest.raises(InputError, match=r"move .*food-101 away"):
        unpack_tree(find(tiny_food(archive).published[0], (tmp_path,)))
    assert files_under(tmp_path) == {"food-101.tar.gz"}
