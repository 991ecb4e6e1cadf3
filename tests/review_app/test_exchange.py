"""Out to another tool and back: the answers that come back are the answers that were given."""

import csv
import json

import pytest

from dris.core.errors import InputError
from dris.pipeline.audit import COLUMNS, read_answers
from dris.review_app.exchange import EXCHANGES, export_cards, import_answers
from made_review import made_session

HEAD = ",".join(COLUMNS) + "\n"


@pytest.fixture
def answered(tmp_path):
    (tmp_path / "one").mkdir()
    session = made_session(tmp_path / "one", suspects=12, sample=4)
    at = session.worklist.positions.tolist()
    session.answer("ana", at[0], "right")
    session.answer("ana", at[1], "unsure")
    for k in (2, 3):
        session.answer("ana", at[k], "wrong", int(session.worklist.suggested[k]))
    yield session
    session.journal.close()


def fresh(tmp_path):
    (tmp_path / "two").mkdir()
    return made_session(tmp_path / "two", suspects=12, sample=4)


@pytest.mark.parametrize("kind", EXCHANGES)
def test_a_round_trip_brings_every_answer_back_under_its_name(kind, answered, tmp_path):
    file = tmp_path / f"out{EXCHANGES[kind].suffix}"
    file.write_bytes(export_cards(answered, kind))
    other = fresh(tmp_path)
    assert import_answers(other, [*EXCHANGES[kind].read(file)], file, "ana") == 4
    assert other.state.given == answered.state.given
    assert import_answers(other, [*EXCHANGES[kind].read(file)], file, "ana") == 0  # twice is once
    other.journal.close()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_sheet_comes_back_however_a_spreadsheet_saved_it(answered, tmp_path, encoding, separator):
    rows = [*csv.reader(export_cards(answered, "csv").decode().splitlines())]
    file, head = tmp_path / "back.csv", "sep=;\r\n" if separator == ";" else ""
    with file.open("w", encoding=encoding, newline="") as out:
        out.write(head)
        table = csv.writer(out, delimiter=separator)
        table.writerow([*rows[0], "grün"])
        table.writerows([*row[:3], row[3].upper(), *row[4:], "größer; kleiner"] for row in rows[1:])
    other = fresh(tmp_path)
    assert import_answers(other, [*EXCHANGES["csv"].read(file)], file, "ana") == 4
    assert other.state.given == answered.state.given
    other.journal.close()


@pytest.mark.parametrize("data", [HEAD.encode() + b"\x81\n", HEAD.encode("utf-16")[:-1], b"\xff"])
def test_a_sheet_that_is_no_text_is_refused(tmp_path, data):
    file = tmp_path / "back.csv"
    file.write_bytes(data)
    with pytest.raises(InputError, match=r"cannot be read|first line"):
        [*EXCHANGES["csv"].read(file)]


@pytest.mark.parametrize("kind", ["label-studio", "argilla"])
def test_two_people_come_back_as_two(kind, answered, tmp_path):
    at = answered.worklist.positions.tolist()
    answered.answer("ben", at[0], "unsure")
    file = tmp_path / "out.json"
    file.write_bytes(export_cards(answered, kind))
    other = fresh(tmp_path)
    assert import_answers(other, [*EXCHANGES[kind].read(file)], file, "nobody") == 5
    assert other.summary("ana")["people"] == {"ana": 4, "ben": 1}
    other.journal.close()


def test_argilla_gets_records_as_its_own_client_writes_them(answered):
    records = json.loads(export_cards(answered, "argilla"))
    assert set(records[0]) == {
        *("id", "fields", "metadata", "suggestions", "responses", "vectors", "status")
    }
    assert set(records[0]["suggestions"]["label"]) == {"value", "score", "agent"}
    assert records[0]["responses"]["label"][0]["user_id"] == "ana"


def test_a_wrong_label_without_another_one_and_any_row_of_the_data_come_back_by_csv(
    answered, tmp_path
):
    file = tmp_path / "in.csv"
    lines = ["r6,cat,,wrong,", "r199,dog,,wrong,eel", "r198,cat,,unsure,", "r197,eel,,,"]
    file.write_text("\n".join((",".join(COLUMNS), *lines)) + "\n", encoding="utf-8")
    assert import_answers(answered, [*EXCHANGES["csv"].read(file)], file, "ben") == 3
    taken = [answered.state.by("ben", at)[:2] for at in (6, 199, 198)]
    assert taken == [("wrong", -1), ("wrong", 2), ("unsure", -1)]
    file.write_bytes(export_cards(answered, "csv"))
    assert {line.answer for line in read_answers(file)} == {"right", "wrong", "unsure"}


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("label-studio", "{", "is not JSON"),
        ("label-studio", "{}", "must be a list"),
        ("label-studio", '[{"data": {}}]', "is not Label Studio's JSON export"),
        ("argilla", '[{"responses": {"label": [{}]}}]', "is not Argilla's"),
        (
            "argilla",
            '[{"id": "zz", "responses": {"label": [{"value": "cat"}]}}]',
            "'zz', which is no id of this data",
        ),
        (
            "argilla",
            '[{"id": "r0", "responses": {"label": [{"value": "cow"}]}}]',
            "'cow', which is no class of this data",
        ),
        ("csv", f"{HEAD}r0,cat,dog,wrong,bird\n", "no class"),
        ("csv", f"{HEAD}r0,cat,dog,wrong,cat\n", "the label it has"),
        ("csv", f"{HEAD}r0,cat,dog,right,dog\n", "only a wrong label"),
        ("csv", f"{HEAD}r0,dog,cat,right,\n", "review this data"),
        ("csv", f"{HEAD}r0,cat,dog,perhaps,\n", "answer must be"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_whole(kind, text, message, answered, tmp_path):
    file = tmp_path / "in.json"
    file.write_text(text, encoding="utf-8")
    before = answered.journal.path.read_bytes()
    with pytest.raises(InputError, match=message):
        import_answers(answered, [*EXCHANGES[kind].read(file)], file, "ana")
    assert answered.journal.path.read_bytes() == before


def test_a_name_comes_in_as_it_is_written_down_and_is_not_repeated(answered, tmp_path):
    at = int(answered.worklist.positions[-1])
    name, given = str(answered.data.ids[at]), answered.data.names[int(answered.data.labels[at])]
    picked = {"value": {"choices": [given]}}
    path = tmp_path / "back.json"
    for who in ("Zoe  Li", " "):
        task = {"data": {"id": name}, "annotations": [{"completed_by": who, "result": [picked]}]}
        path.write_text(json.dumps([task]), encoding="utf-8")
        assert import_answers(answered, [*EXCHANGES["label-studio"].read(path)], path, "cy") == 1
        assert import_answers(answered, [*EXCHANGES["label-studio"].read(path)], path, "cy") == 0
    assert {"Zoe Li", "cy"} <= set(answered.state.given[at])
