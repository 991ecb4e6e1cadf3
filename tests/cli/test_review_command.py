"""`dris review` on the command line: begins, goes on, exports, takes in, refuses in a sentence."""

import csv
import json
import sys

import pytest

from dris.review_app import serve
from made_review import made_table

FAST = "--label kind --id name --model sgd_log --epochs 2 --proxies 2 --workers 1 --out o"
WORDS = ("review", "animals.csv", *FAST.split())


@pytest.fixture
def here(tmp_path, monkeypatch):
    made_table(tmp_path, n=120)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_begins_once_and_goes_on_without_training(dris, here):
    code, said, noted = dris(*WORDS, "--export", "a.csv")
    assert code == 0, noted
    assert "the review begins in animals.review.jsonl" in said
    assert "2 trained" in noted
    code, said, noted = dris(*WORDS, "--export", "b.csv")
    assert code == 0, noted
    assert "the review goes on in animals.review.jsonl" in said
    assert noted == ""
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()


def test_the_suspects_are_those_of_dris_clean_in_the_same_order(dris, here):
    assert dris(*WORDS, "--export", "a.csv", "--sample", "0")[0] == 0
    code, _, noted = dris("clean", *WORDS[1:], "--no-harm", "--no-report")
    assert code == 0, noted
    assert "2 found" in noted  # the same proxies

    def column(path, name):
        with path.open(newline="", encoding="utf-8") as file:
            return [row[name] for row in csv.DictReader(file)]

    asked, listed = here / "a.csv", here / "o/issues.csv"
    assert column(asked, "id") == column(listed, "id")
    assert column(asked, "proposed") == column(listed, "suggested")
    assert len(column(asked, "id")) > 5


def test_what_another_tool_says_is_taken_in_and_counted(dris, here):
    dris(*WORDS, "--export", "tasks.json", "--as", "argilla")
    records = json.loads((here / "tasks.json").read_text(encoding="utf-8"))
    for record in records[:3]:
        record["responses"]["label"] = [{"value": "cat", "user_id": "ben"}]
    (here / "back.json").write_text(json.dumps(records), encoding="utf-8")
    code, said, noted = dris(*WORDS, "--import", "back.json", "--as", "argilla", "--json")
    assert code == 0, noted
    told = json.loads(said)
    assert (told["taken"], told["left"]) == (3, len(records) - 3)
    assert told["ticks"] == "animals.review.jsonl"
    lines = (here / "animals.review.jsonl").read_text(encoding="utf-8").splitlines()
    assert all('"who":"ben"' in line for line in lines[1:])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--as", "excel"), "--as must be label-studio, argilla, csv, got 'excel'"),
        (("--reviewer", "  "), "a reviewer needs a name"),
        (("--import", "absent.csv"), "no such file"),
        (("--ticks", "animals.csv"), "never replaced"),
        (("--port", "70000", "--no-open"), "`port` must be 0"),
    ],
)
def test_what_cannot_be_is_one_sentence(dris, here, words, why):
    pytest.importorskip("uvicorn") if "--port" in words else None
    before = (here / "animals.csv").read_bytes()
    code, _, said = dris(*WORDS, *words)
    assert code == 1
    last = said.splitlines()[-1]
    assert last.startswith("dris: ")
    assert why in last
    assert (here / "animals.csv").read_bytes() == before


def test_without_the_extra_it_says_what_to_install(dris, here, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    code, _, said = dris(*WORDS, "--no-open")
    assert code == 1
    assert 'pip install "dris[review]"' in said


def test_it_serves_once_the_address_was_told_and_names_the_way_to_go_on(dris, here, monkeypatch):
    told = {}

    def served(desk, *, finishing, tell, **how):
        told.update(how)
        tell("http://127.0.0.1:1/token/")
        at = int(desk.worklist.positions[0])
        desk.tick("ana", at, "right")
        told["file"], told["done"] = finishing.write()
        told["again"] = finishing.again(told["file"], told["done"])

    monkeypatch.setattr(serve, "serve_review", served)
    code, said, noted = dris(*WORDS, "--no-open", "--port", "8123", "--reviewer", "ana")
    assert code == 0, noted
    assert "open http://127.0.0.1:1/token/" in said
    assert "Ctrl-C ends it; to go on: dris" in said
    assert (told["port"], told["open_browser"], told["who"]) == (8123, False, "ana")
    assert told["done"].trusted == 1
    assert (here / "o/corrected.csv").is_file()
    assert told["again"][-1].startswith("wrote o/again/report.html")
