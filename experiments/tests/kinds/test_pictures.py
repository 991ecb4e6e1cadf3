"""Pictures from files: in memory or in a file of bytes, decoded once."""

import threading

import numpy as np
import pytest

pytest.importorskip("torch")
from torch import nn

from experiments import workspace as workspace_module
from experiments.kinds import pictures
from experiments.kinds.pictures import Resized, features_by, pictures_of
from experiments.spec import Source
from experiments.workspace import Workspace

SIDE = 8


@pytest.fixture
def paths(tmp_path):
    image = pytest.importorskip("PIL.Image")
    result = []
    for i in range(3):
        result.append(str(tmp_path / f"{i}.png"))
        image.fromarray(np.full((10, 12, 3), 40 * i, dtype=np.uint8)).save(result[-1])
    return np.array(result)


@pytest.fixture
def decoded(monkeypatch):
    """How many pictures were decoded, of which none is to be held in memory."""
    real, many = pictures.decode_images, []
    monkeypatch.setattr(pictures, "AT_ONCE", 0)
    monkeypatch.setattr(
        pictures, "decode_images", lambda some, side: many.append(len(some)) or real(some, side)
    )
    return many


def test_past_the_limit_they_are_decoded_once_into_a_file(paths, tmp_path, request):
    held = pictures_of(paths, SIDE, tmp_path)
    assert isinstance(held, np.ndarray)
    decoded = request.getfixturevalue("decoded")
    for _ in range(2):
        lazy = pictures_of(paths, SIDE, tmp_path)
        assert isinstance(lazy, Resized)
        assert [np.array_equal(lazy[i], held[i]) for i in range(len(lazy))] == [True] * 3
    assert decoded == [3]
    pictures_of(paths[:2], SIDE, tmp_path)  # the twin: other pictures are other files
    assert decoded == [3, 2]


def test_lanes_that_ask_at_once_decode_once_and_use_up_what_a_killed_one_left(
    paths, tmp_path, decoded
):
    mark = pictures_of(paths, SIDE, tmp_path / "other").mark
    left = tmp_path / "pictures" / f"{mark}.part"
    left.parent.mkdir()
    left.write_bytes(b"half of it")
    decoded.clear()
    lanes = [threading.Thread(target=pictures_of, args=(paths, SIDE, tmp_path)) for _ in range(4)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join(30)
    assert decoded == [3]
    assert {p.name for p in left.parent.iterdir()} == {"lock", f"{mark}.npy"}


def test_features_of_a_file_are_kept_by_its_mark_and_are_those_of_memory(
    paths, tmp_path, monkeypatch, decoded
):
    network = nn.Sequential(nn.AvgPool2d(SIDE), nn.Flatten())
    lazy = pictures_of(paths, SIDE, tmp_path)
    seen = features_by(network, lazy, device="cpu", store=tmp_path / "runs")
    monkeypatch.setattr(Resized, "__getitem__", None)  # neither read nor hashed again
    assert np.array_equal(features_by(network, lazy, device="cpu", store=tmp_path / "runs"), seen)
    monkeypatch.setattr(pictures, "AT_ONCE", 1 << 20)
    held = pictures_of(paths, SIDE, tmp_path)
    assert np.array_equal(features_by(network, held, device="cpu", store=tmp_path / "others"), seen)


def test_a_cell_whose_pictures_do_not_fit_reads_their_features_from_the_file(
    paths, tmp_path, decoded
):
    source = Source("food101", side=SIDE, backbone="experiments.networks.backbones:random_narrow")
    workspace = Workspace(tmp_path)
    for _ in range(2):
        assert len(workspace_module._prepared(paths, source, workspace)) == 3
    assert decoded == [3]
