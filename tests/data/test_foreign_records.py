"""Dynamics that others recorded, and the same values from their own packages."""

import numpy as np
import pytest

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.formulas import SCORES
from dris.data.foreign_records import import_records

LOSS = np.random.default_rng(0).random((3, 7))


@pytest.mark.parametrize("kind", ["npy", "npz", "csv", "csv with a header"])
def test_a_loss_matrix_in_any_form_gives_the_same_scores(tmp_path, kind):
    path = tmp_path / f"loss.{kind[:3]}"
    ids = None
    if kind == "npy":
        np.save(path, LOSS)
    elif kind == "npz":
        ids = [f"e{i}" for i in range(7)]
        np.savez(path, loss=LOSS, ids=np.array(ids))
    elif kind == "csv":
        np.savetxt(path, LOSS, delimiter=",", fmt="%.17g")
    else:
        ids = list(range(10, 17))
        rows = [[i, *column] for i, column in zip(ids, LOSS.T.tolist(), strict=True)]
        lines = [["id", "a", "b", "c"], *rows]
        path.write_text(
            "".join(",".join(map(repr, row)) + "\n" for row in lines).replace("'", ""),
            encoding="utf-8",
        )
    dynamics = import_records(path)
    assert isinstance(dynamics, Dynamics)
    assert dynamics.snapshot("loss").tolist() == LOSS.tolist()
    assert dynamics.ids.tolist() == (ids or list(range(7)))
    direct = SCORES["rank_variance"](Dynamics.from_losses(LOSS))
    assert (SCORES["rank_variance"](dynamics) == direct).all()


def test_losses_over_epochs_are_read_too(tmp_path):
    np.save(tmp_path / "loss.npy", np.ones((2, 5, 9)))
    assert import_records(tmp_path / "loss.npy").epochs == (1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("loss.npy", None, "loss.npy does not exist"),
        ("loss.txt", "1", "no record"),
        (".", None, "no record"),
        ("loss.csv", "", "empty"),
        ("loss.csv", "1,2,3\n4,5\n", "line 2 of .* must be 3 finite"),
        ("loss.csv", "1,2\n4,5\n6,7\n", "transpose them"),
        ("loss.csv", "id,a\nu,1\nv,x\n", "line 3 of"),
        ("loss.csv", "id,a\nu,1\nu,2\n", "'u' is in line 2 .* again in line 3"),
        ("aum_values.csv", "sample_id,aum\n1,0.5\n2,-1\n", "a score"),
    ],
)
def test_bad_records_are_one_sentence(tmp_path, name, content, says):
    path = tmp_path / name
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=says) as caught:
        import_records(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["run.dynamics", "run.safetensors", "run"])
@pytest.mark.parametrize("form", ["whole", "summary"])
def test_what_dynamics_save_wrote_comes_back_as_it_was(tmp_path, name, form):
    logits = np.random.default_rng(0).normal(size=(2, 4, 5, 3))
    made = Dynamics.from_logits(logits, [0, 1, 2, 1, 0], ids=list("pqrst"), scored_epoch=2)
    made = made.summary() if form == "summary" else made
    found = import_records(made.save(tmp_path / name))
    assert (found.ids.tolist(), found.epochs, found.scored_epoch) == (list("pqrst"), made.epochs, 2)
    assert np.array_equal(found.labels, made.labels)
    for column in made.columns:
        assert np.array_equal(found.column(column), made.column(column))
    assert np.array_equal(SCORES["aum_mean"](found), SCORES["aum_mean"](made))


def test_saved_proxies_of_several_files_are_joined_and_a_damaged_one_is_refused(tmp_path):
    one = Dynamics.from_losses([[0.1, 0.2]], ids=["a", "b"]).save(tmp_path / "one")
    two = Dynamics.from_losses([[0.4, 0.3]], ids=["b", "a"]).save(tmp_path / "two")
    assert import_records([one, two]).column("loss").tolist() == [[[0.1, 0.2]], [[0.3, 0.4]]]
    whole = bytearray(one.read_bytes())
    whole[-1] ^= 1
    one.write_bytes(whole)
    with pytest.raises(InputError) as error:
        import_records(one)
    assert "\n" not in str(error.value)
