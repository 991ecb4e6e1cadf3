import numpy as np
import pytest

from dris import InputError
from experiments.datasets.food101 import decode_images, read_food101
from experiments.tests.datasets.made_archives import food_files, jpeg, write_tree


def names(paths):
    return ["/".join(path.split("/")[-2:]) for path in paths]


@pytest.mark.parametrize("drop", [".json", ".txt"])
def test_a_partial_tree_gives_what_the_split_lists_and_the_disk_holds(tmp_path, drop):
    files = {name: blob for name, blob in food_files().items() if not name.endswith(drop)}
    splits = read_food101(write_tree(tmp_path, files))
    assert splits.classes == ("pie", "rice", "soup")  # zebra has a test image only
    assert names(splits.train_x) == ["pie/1.jpg", "pie/2.jpg", "rice/3.jpg", "soup/4.jpg"]
    assert splits.train_y.tolist() == [0, 0, 1, 2]
    assert names(splits.test_x) == ["pie/5.jpg", "rice/6.jpg"]
    assert splits.test_y.tolist() == [0, 1]


def test_the_note_says_what_is_there(tmp_path):
    note = read_food101(write_tree(tmp_path, food_files())).note
    assert note == (
        "in part: 3 of 101 classes (pie, rice, soup), 4 of 75,750 train and 2 of 25,250 test images"
    )


def test_a_whole_tree_needs_no_note(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.datasets.food101._CLASSES", 3)
    monkeypatch.setattr("experiments.datasets.food101._TRAIN", 4)
    monkeypatch.setattr("experiments.datasets.food101._TEST", 2)
    assert read_food101(write_tree(tmp_path, food_files())).note == ""


def test_all_classes_but_not_all_images_is_still_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.datasets.food101._CLASSES", 3)
    note = read_food101(write_tree(tmp_path, food_files())).note
    assert note.startswith("in part: 3 of 3 classes, 4 of 75,750 train")


def test_fewer_than_two_classes_is_refused(tmp_path):
    files = {k: v for k, v in food_files().items() if "images" not in k or "pie" in k}
    with pytest.raises(InputError, match="training images of 1 classes; at least two"):
        read_food101(write_tree(tmp_path, files))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"pie/1\n../../secret\n", r"must list class/id, got '\.\./\.\./secret'"),
        (b"pie/1.jpg\n", "must list class/id"),
        (b"\xff\xfe\x00", "not Food-101's list of train images"),
    ],
)
def test_a_list_of_anything_else_is_refused_by_its_name(tmp_path, text, message):
    root = write_tree(tmp_path, {**food_files(), "meta/train.txt": text})
    with pytest.raises(InputError, match=rf"train\.txt .*{message}"):
        read_food101(root)


@pytest.mark.parametrize("text", [b"{", b"[1]", b'{"pie": 3}', b'{"pie": [3]}'])
def test_a_broken_json_list_is_refused_by_its_name(tmp_path, text):
    files = {**food_files(), "meta/train.json": text}
    del files["meta/train.txt"]
    with pytest.raises(InputError, match=r"train\.json "):
        read_food101(write_tree(tmp_path, files))


def test_a_missing_list_is_named(tmp_path):
    files = {k: v for k, v in food_files().items() if "test." not in k}
    with pytest.raises(InputError, match=r"test\.json is not Food-101's list of test images"):
        read_food101(write_tree(tmp_path, files))


def test_decoding_gives_channels_first_bytes_at_the_size_asked(tmp_path):
    write_tree(tmp_path, {"a.jpg": jpeg((250, 10, 10)), "b.jpg": jpeg((10, 10, 250), 9, 30)})
    images = decode_images([str(tmp_path / "a.jpg"), str(tmp_path / "b.jpg")], size=8)
    assert images.shape == (2, 3, 8, 8)
    assert images.dtype == np.uint8
    # JPEG at quality 95 keeps a flat colour within a few levels.
    assert np.abs(images[0].mean((1, 2)) - [250, 10, 10]).max() < 6
    assert np.abs(images[1].mean((1, 2)) - [10, 10, 250]).max() < 6


def test_decoding_takes_the_middle_square(tmp_path):
    from PIL import Image

    stripes = np.zeros((10, 30, 3), dtype=np.uint8)
    stripes[:, 10:20] = 200
    Image.fromarray(stripes).save(tmp_path / "s.png")
    image = decode_images([str(tmp_path / "s.png")], size=10)[0]
    assert (image == 200).all()


def test_a_grey_image_becomes_three_channels(tmp_path):
    from PIL import Image

    Image.new("L", (6, 6), 90).save(tmp_path / "g.png")
    assert (decode_images([str(tmp_path / "g.png")], size=3) == 90).all()


@pytest.mark.parametrize("harm", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"text"])
def test_a_damaged_image_is_named(tmp_path, harm):
    write_tree(tmp_path, {"broken.jpg": harm(jpeg((1, 2, 3), 64, 64))})
    with pytest.raises(InputError, match=r"broken\.jpg cannot be decoded"):
        decode_images([str(tmp_path / "broken.jpg")], size=8)


def test_a_missing_image_is_named_and_a_size_below_one_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.jpg cannot be decoded"):
        decode_images([str(tmp_path / "none.jpg")], size=8)
    with pytest.raises(InputError, match="size must be at least 1 pixel, got 0"):
        decode_images([], size=0)
