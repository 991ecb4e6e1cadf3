"""`dris review` on the command line: begins, goes on, exports, takes in, refuses in a sentence."""

import json
import sys
import types

import pytest

import dris as package
from dris.review_app import review
from made_review import made_table, rows_of

FAST = "--label kind --id name --model sgd_log --epochs 2 --proxies 2 --workers 1 --out o"
WORDS = ("review", "animals.csv", *FAST.split())


@pytest.fixture
def here(tmp_path, monkeypatch):
    made_table(tmp_path, n=120)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_begins_once_and_goes_on_without_training(dris, here):
    code, printed, noted = dris(*WORDS, "--export", "a.csv")
    assert code == 0, noted
    assert "begins in animals.review.jsonl" in printed
    code, printed, noted = dris(*WORDS, "--export", "b.csv")
    assert code == 0, noted
    assert "goes on in animals.review.jsonl" in printed
    assert noted == ""
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()


def test_the_suspects_are_those_of_dris_clean_in_the_same_order(dris, here):
    assert dris(*WORDS, "--export", "a.csv", "--sample", "0")[0] == 0
    code, _, noted = dris("clean", *WORDS[1:], "--skip-harm-check", "--no-report", "--verbose")
    assert code == 0, noted
    assert "2 found" in noted  # the same proxies

    files = "a.csv", "o/issues.csv"
    asked, listed = ([(row["id"], row["suggested"]) for row in rows_of(one)] for one in files)
    assert asked == listed
    assert len(asked) > 5


def test_python_reviews_as_the_command_does(dris, here):
    assert dris(*WORDS, "--export", "a.csv")[0] == 0
    settings = package.Settings(epochs=2, proxies=2, models=("sgd_log",))
    how = {"settings": settings, "workers": 1, "store": "o/runs", "check_harm": False}
    decision = package.clean("animals.csv", label="kind", id="name", **how)
    done = package.review(decision, answers="two.jsonl", export_to="b.csv", tell=str)
    assert (done.answers.name, done.files[0].name, done.imported) == ("two.jsonl", "b.csv", 0)
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()


def test_what_another_tool_says_is_taken_in_and_written_into_the_data(dris, here):
    dris(*WORDS, "--export", "tasks.json", "--as", "argilla")
    records = json.loads((here / "tasks.json").read_text(encoding="utf-8"))
    given = {record["id"]: record["metadata"]["given"] for record in records[:3]}
    for record in records[:3]:
        record["responses"]["label"] = [{"value": "cat", "user_id": "ben"}]
    (here / "back.json").write_text(json.dumps(records), encoding="utf-8")
    code, printed, noted = dris(*WORDS, "--import", "back.json", "--as", "argilla", "--json")
    assert code == 0, noted
    told = json.loads(printed)
    assert (told["imported"], told["left"]) == (3, len(records) - 3)
    assert (told["answers"], told["trusted"]) == ("animals.review.jsonl", 3)
    assert told["corrected"] == sum(label != "cat" for label in given.values())
    lines = (here / "animals.review.jsonl").read_text(encoding="utf-8").splitlines()
    assert all('"who":"ben"' in line for line in lines[1:])
    rows = {row["name"]: row for row in rows_of(here / "o/corrected.csv")}
    assert all((rows[name]["kind"], rows[name]["trusted"]) == ("cat", "true") for name in given)
    code, printed, noted = dris(*WORDS, "--import", "back.json", "--as", "argilla", "--force")
    assert code == 0, noted
    assert "0 new answers" in printed  # twice is once


def test_a_sheet_that_a_person_fills_in_corrects_the_data_and_other_lines_keep_their_bytes(
    dris, here
):
    sheet = "id,given,suggested,answer,corrected\nr0,cat,dog,wrong,dog\nr1,dog,,wrong,\n"
    (here / "sheet.csv").write_text(sheet, encoding="utf-8")
    code, _, noted = dris(*WORDS, "--import", "sheet.csv")
    assert code == 0, noted
    old = (here / "animals.csv").read_text(encoding="utf-8").splitlines()
    new = (here / "o/corrected.csv").read_text(encoding="utf-8").splitlines()
    assert new[0] == old[0] + ",trusted"
    assert new[1] == old[1].replace("cat", "dog") + ",true"
    assert new[2:] == [line + ",false" for line in old[3:]]  # r1 is wrong, and nobody knows more


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--as", "excel"), "label-studio"),
        (("--reviewer", "  "), "needs a name"),
        (("--import", "absent.csv"), "no such file"),
        (("--answers", "animals.csv", "--export", "a.csv"), "never replaced"),
        (("--port", "70000", "--export", "a.csv"), "65535"),
    ],
)
def test_what_cannot_be_is_one_sentence(dris, here, words, why):
    before = (here / "animals.csv").read_bytes()
    if "--export" not in words:
        words = (*words, "--export", "a.csv")
    code, _, printed = dris(*WORDS, *words)
    assert code == 1
    last = printed.splitlines()[-1]
    assert last.startswith("dris: ")
    assert why in last
    assert (here / "animals.csv").read_bytes() == before


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_a_missing_extra_is_named_before_anything_is_read_and_leaves_nothing_behind(
    missing, dris, here, monkeypatch
):
    for module in ("starlette", "uvicorn"):
        present = None if module == missing else types.ModuleType(module)
        monkeypatch.setitem(sys.modules, module, present)
    before = sorted(here.iterdir())
    code, _, printed = dris("review", "absent.csv", *WORDS[2:], "--no-open")
    assert code == 1
    assert 'pip install ".[review]"' in printed
    assert sorted(here.iterdir()) == before
    # The twin: what does not serve needs no extra.
    assert dris(*WORDS, "--export", "a.csv")[0] == 0
    assert (here / "a.csv").is_file()


def test_it_serves_once_the_address_was_told_and_names_the_way_to_go_on(dris, here, monkeypatch):
    told = {}

    def served(session, *, finish, tell, **how):
        told.update(how)
        tell("http://127.0.0.1:1/token/")
        session.answer("ana", int(session.worklist.positions[0]), "right")
        told["done"] = finish(True)

    monkeypatch.setattr(review, "serve_review", served)
    for module in ("starlette", "uvicorn"):
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
    code, printed, noted = dris(*WORDS, "--no-open", "--port", "8123", "--reviewer", "ana")
    assert code == 0, noted
    assert "open http://127.0.0.1:1/token/" in printed
    assert "go on: dris" in printed
    assert (told["port"], told["open_browser"], told["who"]) == (8123, False, "ana")
    assert told["done"]["trusted"] == 1
    assert (here / "o/corrected.csv").is_file()
    assert told["done"]["again"][-1].endswith("o/again/report.html")
