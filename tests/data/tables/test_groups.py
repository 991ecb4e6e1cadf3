"""Which rows belong together: named, found by the column's name, or given as an array."""

import numpy as np
import pandas as pd
import pytest

from dris.core.errors import InputError
from dris.data.reader import read_data

N = 600


def frame(**more):
    rng = np.random.default_rng(0)
    who = rng.permutation(np.arange(N) % 60)
    base = {"x": rng.normal(size=N), "z": rng.normal(size=N), "label": np.arange(N) % 2}
    return pd.DataFrame({**base, **{name: make(who) for name, make in more.items()}}), who


def same(codes, who):
    pairs = len(np.unique(np.stack([codes, who]), axis=1).T)
    return pairs == len(np.unique(codes)) == len(np.unique(who))


def text(who):
    return np.char.add("p", who.astype(str))


@pytest.mark.parametrize("make", [np.asarray, text, np.float64], ids=["whole", "text", "float"])
@pytest.mark.parametrize("name", ["patient", "shop_id", "customerID", "user nr", "PATIENT_NBR"])
def test_a_column_that_is_plainly_an_id_of_several_rows_is_used(name, make):
    table, who = frame(**{name: make})
    data = read_data(table)
    assert same(data.groups, who)
    assert (data.origin.group, data.feature_names) == (name, ("x", "z"))
    assert any("`group='none'`" in note for note in data.notes)
    without = read_data(table, group="none")
    assert without.groups is None
    assert without.feature_names == ("x", "z")  # nor is it learned from
    assert [leak.shared for leak in without.leaks] == [True]


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("age", lambda who: who),  # its name says nothing
        ("shop_id", lambda who: who % 9),  # a category by its number
        ("session", lambda who: who % 3),
        ("subject", lambda who: [f"re: the offer of day {i}" for i in who]),  # of a letter
        ("patient", lambda who: np.arange(N)),  # names the rows
        ("patient", lambda who: who + 0.5),
    ],
)
def test_any_other_column_is_not(name, make):
    table, _ = frame(**{name: make})
    data = read_data(table)
    assert data.groups is None
    assert not any(leak.shared for leak in data.leaks)


def test_of_several_columns_the_one_is_used_that_holds_the_others():
    table, _ = frame(visit_id=lambda who: who * 10 + np.arange(N) % 3, patient=text)
    assert read_data(table).origin.group == "patient"
    table, _ = frame(patient=text, doctor_id=lambda who: np.arange(N) % 70)
    data = read_data(table)
    assert data.groups is None
    assert [leak.column for leak in data.leaks] == ["patient, doctor_id"]
    named = read_data(table, group="patient")
    assert same(named.groups, frame()[1])
    assert (named.leaks, named.feature_names) == ((), ("x", "z"))


def test_a_class_of_few_groups_would_be_unknown_in_some_fold_so_they_are_not_used():
    table, who = frame(speaker=text)
    table["label"] = np.where(who < 3, "rare", np.where(who % 2, "a", "b"))
    assert read_data(table).groups is None
    table["label"] = np.where(who < 4, "rare", np.where(who % 2, "a", "b"))
    assert read_data(table).groups is not None


def test_every_door_reads_the_same_groups(tmp_path):
    table, who = frame(patient=text)
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    x, y = table[["x", "z"]].to_numpy(), table["label"].to_numpy()
    np.savez(tmp_path / "a.npz", x=x, label=y, patient=who)
    np.savez(tmp_path / "b.npz", x=x, label=y, patient=text(who))
    for name, values in {"x": x, "y": y, "who": who}.items():
        np.save(tmp_path / f"{name}.npy", values)
    arrays = {"label": str(tmp_path / "y.npy"), "group": str(tmp_path / "who.npy")}
    for data in (
        read_data(table),
        *(read_data(tmp_path / name) for name in ("a.csv", "a.parquet", "a.npz", "b.npz")),
        read_data(tmp_path / "x.npy", **arrays),
        read_data(x, y, group=who),
        read_data(table[["x", "z"]], y, group=table["patient"]),
        read_data(table, group=who.tolist()),
    ):
        assert same(data.groups, who)
        assert data.x.shape == (N, 2)
        assert not data.leaks


def test_rows_without_a_group_stand_for_themselves_and_rows_without_a_label_have_none():
    table, who = frame(patient=lambda who: np.where(who < 3, None, text(who).astype(object)))
    table.loc[:9, "label"] = None
    data = read_data(table, group="patient")
    own = who[10:]
    assert len(data.groups) == N - 10
    assert len(np.unique(data.groups)) == len(np.unique(own[own >= 3])) + (own < 3).sum()


@pytest.mark.parametrize(
    ("group", "words"),
    [("pateint", "did you mean 'patient'"), ("one", "one group"), (np.arange(4), "groups, got 4")],
)
def test_groups_that_cannot_be_are_refused(group, words):
    table, _ = frame(patient=text, one=lambda who: 1)
    with pytest.raises(InputError, match=words):
        read_data(table, group=group)


def owners(near, n=2000, each=10, seed=0):
    """Rows of owners that resemble each other, or do not, in a column whose name says nothing."""
    rng = np.random.default_rng(seed)
    who = rng.permutation(n) // each
    centre = rng.normal(size=(n // each, 4))
    x = centre[who] + (0.1 if near else 3.0) * rng.normal(size=(n, 4))
    y = (x[:, 0] + rng.normal(size=n) > 0).astype(int)
    table = {f"x{i}": x[:, i] for i in range(4)}
    return table | {"owner": [f"B{w:03d}" for w in who], "label": y}


def test_rows_that_resemble_their_owners_others_are_named_as_a_group_whatever_the_name():
    data = read_data(owners(near=True))
    assert [(leak.column, leak.shared) for leak in data.leaks] == [("owner", True)]
    assert any(note.startswith("owner: several rows share") for note in data.notes)
    assert read_data(owners(near=False)).leaks == ()
    assert read_data(owners(near=True), group="owner").leaks == ()


def test_copies_and_a_place_that_other_columns_name_too_are_no_groups():
    table = owners(near=False)
    table |= {"street": table["owner"], "town": [f"T{int(w[1:]) // 2}" for w in table["owner"]]}
    twice = {name: [*column, *column] for name, column in table.items()}
    assert read_data(table).leaks == read_data(twice).leaks == ()
