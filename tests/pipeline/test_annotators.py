"""Labels of several people through every door."""

import csv

import numpy as np
import pandas as pd
import pytest

import dris
from commands import run_dris

PEOPLE = ("ana", "bo", "cy")
NAMES = np.array(["cat", "dog", "owl"])
READ = {"id": "id", "annotators": PEOPLE}


def people_frame(n=240):
    """Three blobs that three people label, the third of them badly, with gaps; and the truth."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    x = rng.normal(size=(n, 3)) + 2.5 * np.eye(3)[truth]
    table = np.where(
        rng.random((n, 3)) < (0.9, 0.85, 0.5), truth[:, None], rng.integers(3, size=(n, 3))
    )
    words = np.where(rng.random((n, 3)) < 0.2, None, NAMES[table])
    words[:, 0] = np.where((words == None).all(axis=1), NAMES[truth], words[:, 0])  # noqa: E711
    words[0] = None  # a row that nobody labelled
    frame = pd.DataFrame(
        {"id": [f"r{i}" for i in range(n)], **{f"f{j}": x[:, j] for j in range(3)}}
    )
    return frame.assign(**dict(zip(PEOPLE, words.T, strict=True))), NAMES[truth]


@pytest.fixture(scope="module")
def decision():
    frame, _ = people_frame()
    return dris.clean(frame, workers=1, check_harm=False, **READ)


def test_p_wrong_follows_the_answers_and_the_proxies(decision):
    frame, truth = people_frame()
    given, wrong = decision.data.given(), decision.data.given() != truth[1:]
    votes = frame[list(PEOPLE)].mode(axis=1)[0].to_numpy()[1:]
    assert wrong.mean() <= (votes != truth[1:]).mean()
    assert decision.p_wrong[wrong].mean() > 5 * decision.p_wrong[~wrong].mean()
    people = decision.annotators
    assert people.names == PEOPLE
    assert people.quality.argmin() == 2
    answers = frame.loc[1:, list(PEOPLE)]
    right = answers.eq(truth[1:], axis=0).where(answers.notna())
    true = right.mean().to_numpy(float)
    assert np.abs(people.quality - true).max() < 0.08
    assert (decision.p_wrong[people.needs_opinion] >= 0.1).all()
    same = answers.eq(given, axis=0).where(answers.notna())
    assert np.allclose(people.agreement, same.mean(axis=1).to_numpy(float))
    assert decision.data.unlabelled.ids.tolist() == ["r0"]


def test_every_door_gives_the_same_decision(decision, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame, _ = people_frame()
    frame.to_csv("wide.csv", index=False)
    frame.to_parquet("wide.parquet")
    frame.drop(columns=list(PEOPLE)).to_csv("alone.csv", index=False)
    long = frame.melt("id", list(PEOPLE), "who", "label").dropna()
    long.sample(frac=1, random_state=0).to_csv("answers.csv", index=False)
    matrix = frame[list(PEOPLE)].to_numpy()
    how = {"workers": 1, "check_harm": False}
    others = [
        dris.clean("wide.csv", **READ, **how),
        dris.clean("wide.parquet", **READ, **how),
        dris.clean("alone.csv", id="id", annotators="answers.csv", **how),
        dris.clean(
            frame.drop(columns=list(PEOPLE)), id="id", annotators=frame[list(PEOPLE)], **how
        ),
    ]
    for other in others:
        assert (other.data.given() == decision.data.given()).all()
        assert np.allclose(other.p_wrong, decision.p_wrong, atol=1e-6)
    array = dris.read_data(frame[["f0", "f1", "f2"]].to_numpy(), annotators=matrix)
    assert (array.given() == decision.data.given()).all()


def test_the_command_writes_people_rows_to_ask_again_and_the_consensus(tmp_path):
    people_frame()[0].to_csv(tmp_path / "wide.csv", index=False)
    reading = ("--annotators", "ana,bo,cy", "--id", "id", "--workers", "1", "--skip-harm-check")
    done = run_dris("clean", "wide.csv", *reading, cwd=tmp_path)
    assert done.returncode == 0
    assert "annotators" in done.stdout
    out = tmp_path / "dris-out"
    rows = {
        name: list(csv.DictReader((out / f"{name}.csv").read_text("utf-8").splitlines()))
        for name in ("annotators", "opinions", "issues", "cleaned")
    }
    assert [row["annotator"] for row in rows["annotators"]][-1] == "cy"
    assert all(float(row["p_wrong"]) >= 0.1 for row in rows["opinions"])
    assert all("annotators said" in row["reason"] for row in rows["issues"] if row["given"])
    assert {row["consensus"] for row in rows["cleaned"]} == set(NAMES)
    assert 'id="annotators"' in (out / "report.html").read_text("utf-8")
    again = dris.read_data(out / "cleaned.csv", label="consensus", without=PEOPLE, id="id")
    assert len(again) == len(rows["cleaned"])


@pytest.mark.parametrize(
    ("keywords", "word"),
    [
        ({"annotators": PEOPLE, "label": "ana"}, "`label`"),
        ({"annotators": ("ana",)}, "file"),
        ({"annotators": ("ana", "bob")}, "'bob'"),
        ({"annotators": ("ana", "id"), "id": "id"}, "different"),
        ({"annotators": np.zeros((7, 2))}, "240"),
        ({"annotators": np.zeros(240)}, "two columns"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(keywords, word):
    with pytest.raises(dris.InputError, match=word):
        dris.read_data(people_frame()[0], **keywords)


def test_a_file_of_answers_must_name_rows_that_are_there(tmp_path):
    frame, _ = people_frame()
    frame.drop(columns=list(PEOPLE)).to_csv(tmp_path / "alone.csv", index=False)
    for text, word in (("id,who,label\nr9999,ana,cat\n", "r9999"), ("id,label\nr1,cat\n", "three")):
        (tmp_path / "answers.csv").write_text(text)
        with pytest.raises(dris.InputError, match=word):
            dris.read_data(
                tmp_path / "alone.csv", id="id", annotators=str(tmp_path / "answers.csv")
            )
