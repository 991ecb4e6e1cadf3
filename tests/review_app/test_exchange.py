"""Out to another tool and back: the answers that come back are the answers that were given."""

import json

import pytest

from dris.core.errors import InputError
from dris.review_app.exchange import EXCHANGES, exported, taken_in
from made_review import made_desk


@pytest.fixture
def answered(tmp_path):
    (tmp_path / "one").mkdir()
    desk = made_desk(tmp_path / "one", suspects=12, sample=4)
    at = desk.worklist.positions.tolist()
    desk.tick("ana", at[0], "right")
    desk.tick("ana", at[1], "unsure")
    for k in (2, 3):
        desk.tick("ana", at[k], "wrong", int(desk.worklist.suggested[k]))
    yield desk
    desk.journal.close()


def fresh(tmp_path):
    (tmp_path / "two").mkdir()
    return made_desk(tmp_path / "two", suspects=12, sample=4)


@pytest.mark.parametrize("kind", EXCHANGES)
def test_a_round_trip_brings_every_answer_back_under_its_name(kind, answered, tmp_path):
    file = tmp_path / f"out{EXCHANGES[kind].suffix}"
    file.write_bytes(exported(answered, kind))
    other = fresh(tmp_path)
    assert taken_in(other, file, kind, "ana") == 4
    assert other.standing.said == answered.standing.said
    assert taken_in(other, file, kind, "ana") == 0  # twice is once
    other.journal.close()


@pytest.mark.parametrize("kind", ["label-studio", "argilla"])
def test_two_people_come_back_as_two(kind, answered, tmp_path):
    at = answered.worklist.positions.tolist()
    answered.tick("ben", at[0], "unsure")
    file = tmp_path / "out.json"
    file.write_bytes(exported(answered, kind))
    other = fresh(tmp_path)
    assert taken_in(other, file, kind, "nobody") == 5
    assert other.summary("ana")["people"] == {"ana": 4, "ben": 1}
    other.journal.close()


def test_label_studio_gets_tasks_with_predictions_and_annotations(answered):
    tasks = json.loads(exported(answered, "label-studio"))
    assert len(tasks) == 16
    first = tasks[0]
    assert {"id", "given", "suggested", "field_says", "text"} <= set(first["data"])
    (prediction,) = first["predictions"]
    (result,) = prediction["result"]
    assert result["value"]["choices"] == [first["data"]["suggested"]]
    assert (result["type"], result["from_name"]) == ("choices", "label")
    assert first["annotations"][0]["completed_by"] == {"email": "ana"}


def test_argilla_gets_records_as_its_own_client_writes_them(answered):
    records = json.loads(exported(answered, "argilla"))
    assert set(records[0]) == {
        *("id", "fields", "metadata", "suggestions", "responses", "vectors", "status")
    }
    assert set(records[0]["suggestions"]["label"]) == {"value", "score", "agent"}
    assert records[0]["responses"]["label"][0]["user_id"] == "ana"


def test_the_csv_file_is_one_that_dris_audit_apply_reads(answered, tmp_path):
    from dris.pipeline.answers import read_ticks
    from dris.pipeline.corrections import review_of

    file = tmp_path / "out.csv"
    file.write_bytes(exported(answered, "csv"))
    review = review_of(read_ticks(file), answered.data)
    assert review.verdicts == ("right", "unsure", "wrong", "wrong")


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
            "'zz', which is not on this worklist",
        ),
        (
            "argilla",
            '[{"id": "r0", "responses": {"label": [{"value": "cow"}]}}]',
            "'cow', which is no class of this data",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_refused_whole(kind, text, message, answered, tmp_path):
    file = tmp_path / "in.json"
    file.write_text(text, encoding="utf-8")
    before = answered.journal.path.read_bytes()
    with pytest.raises(InputError, match=message):
        taken_in(answered, file, kind, "ana")
    assert answered.journal.path.read_bytes() == before


def test_a_file_that_is_not_there_is_named(answered, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        taken_in(answered, tmp_path / "absent.json", "argilla", "ana")


def test_a_name_comes_in_as_it_is_written_down_and_is_not_repeated(answered, tmp_path):
    at = int(answered.worklist.positions[-1])
    name, given = str(answered.data.ids[at]), answered.data.names[int(answered.data.labels[at])]
    picked = {"value": {"choices": [given]}}
    path = tmp_path / "back.json"
    for who in ("Zoe  Li", " "):
        task = {"data": {"id": name}, "annotations": [{"completed_by": who, "result": [picked]}]}
        path.write_text(json.dumps([task]), encoding="utf-8")
        assert taken_in(answered, path, "label-studio", "cy") == 1
        assert taken_in(answered, path, "label-studio", "cy") == 0
    assert {"Zoe Li", "cy"} <= set(answered.standing.said[at])
