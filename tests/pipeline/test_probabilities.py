"""Probabilities of somebody else's model in place of proxies: what is read, refused and decided."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dris.core.errors import InputError
from dris.data.labelled import LabelledData
from dris.pipeline.ensemble import scores_of
from dris.pipeline.probabilities import (
    Probabilities,
    as_probabilities,
    import_probabilities,
    read_probabilities,
)
from dris.pipeline.route import decide
from dris.pipeline.settings import Settings
from dris.pipeline.wording import change


def world(n=300, seed=0):
    """Three classes in two columns, a tenth of the labels wrong, a model that sees the truth."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    x = rng.normal(size=(n, 2)) + 4 * np.stack((truth == 1, truth == 2), axis=1)
    given = truth.copy()
    given[:30] = (truth[:30] + 1) % 3
    p = 0.9 * np.eye(3)[truth] + 0.1 * rng.dirichlet(np.ones(3), n)
    return LabelledData.of(x, given, classes=("a", "b", "c")), p / p.sum(axis=1, keepdims=True)


def test_a_models_probabilities_give_suspects_and_no_limit():
    data, p = world()
    decision = decide(data, probabilities=p, check_harm=False)
    assert sorted(decision.suspects.positions.tolist()) == list(range(30))
    assert (decision.rule, decision.kept.size, decision.limit) == ("clean", 270, None)
    assert decision.suspects.suggested.tolist() == (decision.suspects.positions % 3).tolist()
    assert "rank_variance" not in scores_of(decision.ensemble.dynamics)
    assert any("no limit and no rank variance" in note for note in decision.notes)


def test_what_is_measured_is_the_very_rows_that_are_kept_which_flatters():
    data, p = world()
    decision = decide(data, probabilities=p)
    assert decision.harm.says == "helps"
    assert decision.harm.flatters
    own = decide(data, settings=Settings(models=("mlp",), epochs=4), workers=1)
    assert not own.harm.flatters  # the twin: our own decide again in each fold


def test_a_model_that_says_nothing_drops_nothing_and_nothing_changes():
    data, p = world()
    decision = decide(data, probabilities=np.full_like(p, 1 / 3))
    assert (decision.kept.size, decision.harm, decision.as_given) == (300, None, True)
    assert change(decision) == ""


def test_a_model_that_takes_two_classes_for_each_other_is_set_right():
    data, p = world()
    decision = decide(data, probabilities=p[:, [1, 0, 2]], check_harm=False)
    dropped = np.flatnonzero(~decision.mask)
    assert 0 < dropped.size < 60
    assert (dropped < 30).mean() > 0.8  # these are wrong


def test_columns_in_another_order_than_the_classes_are_suspected():
    data, p = world()
    assert not any("order" in note for note in import_probabilities(data, p).notes)
    notes = import_probabilities(data, p[:, [2, 0, 1]]).notes
    assert any("fewer than by chance" in note for note in notes)
    never = np.eye(3)[(data.labels + 1) % 3]
    with pytest.raises(InputError, match="in the order of the classes a, b, c"):
        decide(data, probabilities=never)


def test_a_share_that_such_a_model_chooses_worse_than_lots_is_drawn_by_lot():
    data, p = world()
    swapped = p[:, [1, 0, 2]]
    assert decide(data, probabilities=swapped, keep=0.1, rule="aum").rule == "random"
    assert decide(data, probabilities=p, keep=0.1, rule="aum").rule == "aum"


def test_labels_that_such_a_model_changes_are_part_of_what_is_measured():
    data, p = world()
    dropped, fixed = (decide(data, probabilities=p, fix=fix) for fix in (False, True))
    assert fixed.changed.sum() > 0
    assert fixed.harm.change != dropped.harm.change
    assert fixed.harm.change.points > 0


def test_rows_and_columns_go_by_their_names():
    data, p = world()
    order = np.random.default_rng(1).permutation(300)
    named = Probabilities(p[order][:, [2, 0, 1]], ("c", "a", "b"), data.ids[order])
    expected = import_probabilities(data, p).assessment.given.wrong
    assert import_probabilities(data, named).assessment.given.wrong == pytest.approx(expected)
    frame = {"id": data.ids[order], "c": p[order, 2], "a": p[order, 0], "b": p[order, 1]}

    class Frame(dict):
        columns = property(lambda self: list(self))

    assert as_probabilities(Frame(frame)).classes == ("c", "a", "b")
    framed = import_probabilities(data, Frame(frame))
    assert framed.assessment.given.wrong == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "printed"),
    [
        (lambda p: p[:-1], "must be 300 rows by 3 classes"),
        (lambda p: p[:, :2], "must be 300 rows by 3 classes"),
        (lambda p: 2 * p, "sum to 1 in every row"),
        (lambda p: np.where(p > 2, p, np.nan), "must be finite"),
        (lambda p: Probabilities(p, ("a", "b", "z")), "name the columns like the labels"),
        (lambda p: Probabilities(p, None, np.arange(300) + 5), "not those of the data"),
    ],
)
def test_what_does_not_fit_the_data_is_refused(change, printed):
    data, p = world()
    with pytest.raises(InputError, match=printed):
        decide(data, probabilities=change(p))


def test_probabilities_and_dynamics_are_not_taken_together():
    data, p = world()
    ensemble = import_probabilities(data, p)
    with pytest.raises(InputError, match="pass one"):
        decide(data, probabilities=p, dynamics=ensemble.dynamics)


def test_files_of_probabilities_are_told_from_losses(tmp_path):
    _, p = world()
    np.save(tmp_path / "p.npy", p)
    np.save(tmp_path / "loss.npy", np.ones((3, 300)))
    np.save(tmp_path / "tall.npy", np.ones((300, 3)))
    pq.write_table(pa.table({"a": p[:, 0], "b": p[:, 1], "c": p[:, 2]}), tmp_path / "p.parquet")
    assert read_probabilities([tmp_path / "p.npy"]).values == pytest.approx(p)
    assert read_probabilities([tmp_path / "p.parquet"]).classes == ("a", "b", "c")
    for name in ("loss.npy", "tall.npy"):
        assert read_probabilities([tmp_path / name]) is None
    pq.write_table(pa.table({"a": ["x"]}), tmp_path / "words.parquet")
    with pytest.raises(InputError, match="a column of numbers for each class"):
        read_probabilities([tmp_path / "words.parquet"])


def write_csv(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.mark.parametrize("kind", ["npy", "csv"])
def test_the_command_begins_from_a_file_of_them(tmp_path, dris, kind):
    data, p = world()
    rows = ([*row, data.names[k]] for row, k in zip(data.x.tolist(), data.labels, strict=True))
    path = write_csv(tmp_path / "data.csv", ["u", "v", "y"], rows)
    if kind == "npy":
        np.save(tmp_path / "p.npy", p)
    else:
        write_csv(tmp_path / "p.csv", ["a", "b", "c"], p.tolist())
    words = ["--label", "y", "--skip-harm-check", "--no-report", "--json"]
    words += ["--from", tmp_path / f"p.{kind}", "--out", tmp_path / "out"]
    code, printed, told = dris("clean", path, *words)
    assert code == 0, told
    values = json.loads(printed)
    assert (values["kept"], values["limits"], values["proxies"]["imported"]) == (270, [], 1)


def test_labels_alone_are_enough_where_a_model_has_judged_them(tmp_path, dris):
    data, p = world()
    lines = ["y", *(data.names[k] for k in data.labels)]
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    np.save(tmp_path / "p.npy", p)
    words = ["clean", str(tmp_path / "labels.csv"), "--label", "y", "--out", str(tmp_path / "out")]
    code, printed, told = dris(*words, "--from", str(tmp_path / "p.npy"))
    assert code == 0, told
    assert "probably wrong" in printed
    code, _, told = dris(*words)  # the twin
    assert (code, "no column to learn from" in told) == (1, True)
    np.save(tmp_path / "nan.npy", np.where(p > 2, p, np.nan))
    code, _, told = dris(*words, "--from", str(tmp_path / "nan.npy"), "--force")
    assert (code, "must be finite" in told) == (1, True)


@pytest.mark.parametrize(
    ("cell", "says"), [("0.9", "sum to 1"), ("x", "a column of numbers for each class")]
)
def test_columns_named_like_the_classes_are_probabilities_and_never_losses(tmp_path, cell, says):
    path = tmp_path / "p.csv"
    path.write_text(f"id,a,b\nr0,0.5,{cell}\nr1,0.2,0.8\n", encoding="utf-8")
    data = LabelledData.of(np.eye(2), [0, 1], classes=("a", "b"), ids=["r0", "r1"])
    with pytest.raises(InputError, match=says):
        import_probabilities(data, read_probabilities([path], data.names))
    # The twin: losses of two proxies, for all we know.
    assert read_probabilities([path], ("cat", "dog")) is None
