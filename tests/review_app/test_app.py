"""The app behind its door: who is let in, what is answered, what a browser may do with it."""

import asyncio
import errno
import json

import numpy as np
import pytest
from PIL import Image

from dris.core.errors import InputError
from dris.data.reader import read_data
from dris.data.writer import Writer
from dris.review_app.journal import Journal
from dris.review_app.review import listen_on
from dris.review_app.session import ReviewSession
from dris.review_app.worklist import worklist_of
from made_review import made_decision, made_session

pytestmark = pytest.mark.frameworks

TOKEN, PORT = "a-token-nobody-guesses", 4321
HOST = f"127.0.0.1:{PORT}"
OWN = {"host": HOST, "origin": f"http://{HOST}"}


class Asked:
    """An app to ask without a network: status, headers and body of each answer."""

    def __init__(self, app):
        self.app = app

    def __call__(self, path, *, method="GET", sent=None, token=TOKEN, headers=None):
        target, _, query = path.partition("?")
        body = (
            b"" if sent is None else sent if isinstance(sent, bytes) else json.dumps(sent).encode()
        )
        given = dict(OWN if headers is None else headers)
        given.setdefault("content-type", "application/json")
        scope = {
            "type": "http",
            "method": "POST" if sent is not None else method,
            "path": f"/{token}{target}",
            "raw_path": f"/{token}{target}".encode(),
            "query_string": query.encode(),
            "headers": [(k.encode(), v.encode()) for k, v in given.items()],
            "server": ("127.0.0.1", PORT),
            "scheme": "http",
            "http_version": "1.1",
            "root_path": "",
        }
        parts = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            parts.append(message)

        asyncio.run(self.app(scope, receive, send))
        self.headers = {k.decode(): v.decode() for k, v in parts[0]["headers"]}
        self.body = b"".join(p.get("body", b"") for p in parts[1:])
        return parts[0]["status"], self.body

    def json(self, path, **how):
        status, body = self(path, **how)
        assert status == 200, body
        return json.loads(body)


@pytest.fixture
def session(tmp_path):
    made = made_session(tmp_path, suspects=120, sample=10)
    yield made
    made.journal.close()


@pytest.fixture
def ask(session, tmp_path):
    from dris.review_app.app import review_app

    def finish(again):
        path = tmp_path / "corrected.csv"
        done = session.write_corrected(path, trusted=None, writer=Writer(force=True))
        return {"corrected": done.corrected, "again": again}

    return Asked(review_app(session, title="animals", who="ana", token=TOKEN, finish=finish))


@pytest.mark.parametrize(
    ("path", "how", "why"),
    [
        ("/opening", {"token": "another-token-altogeth"}, "another token"),
        ("/opening", {"token": ""}, "another token"),
        ("/opening", {"headers": {"host": "evil.example"}}, "127.0.0.1 only"),
        ("/opening", {"headers": {"host": "127.0.0.1.evil.example:80"}}, "127.0.0.1 only"),
        ("/opening", {"headers": {"host": "localhost:80:1"}}, "127.0.0.1 only"),
        ("/opening", {"headers": {}}, "127.0.0.1 only"),
        ("/opening", {"headers": {**OWN, "origin": "https://evil.example"}}, "another page"),
        ("/opening", {"headers": {**OWN, "origin": "null"}}, "another page"),
        ("/opening", {"headers": {**OWN, "sec-fetch-site": "cross-site"}}, "another page"),
        ("/answer", {"sent": {}, "headers": {"host": HOST}}, "another page"),
        (
            "/answer",
            {"sent": {}, "headers": {**OWN, "origin": "http://localhost:1"}},
            "another page",
        ),
        ("/x", {"sent": {}, "headers": {"host": HOST, "sec-fetch-mode": "navigate"}}, "another"),
    ],
)
def test_strangers_get_nothing_but_the_reason(ask, session, path, how, why):
    before = session.journal.path.read_bytes()
    status, body = ask(path, **how)
    assert status == 403
    assert why.encode() in body
    assert b"cat" not in body
    assert session.journal.path.read_bytes() == before


def test_the_owner_is_let_in_by_either_name_of_this_machine(ask):
    local = f"localhost:{PORT}"
    for host in (HOST, local, "127.0.0.1", "localhost", "localhost:9000", "[::1]:9000"):
        assert ask("/opening", headers={"host": host})[0] == 200
    assert ask("/undo", sent={}, headers={"host": local, "origin": f"http://{local}"})[0] == 200


def test_every_answer_forbids_what_is_not_its_own(ask):
    for path in ("/", "/review.js", "/review.css", "/opening", "/nowhere"):
        ask(path)
        policy = ask.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy
        assert ask.headers["x-content-type-options"] == "nosniff"
        assert ask.headers["referrer-policy"] == "no-referrer"


def test_the_page_holds_nothing_of_the_data(ask):
    _, page = ask("/")
    assert b"word1" not in page
    assert b"<script>" not in page
    assert b"style=" not in page


def test_only_this_machine_can_be_listened_on():
    with listen_on(0) as one:
        assert one.getsockname()[0] == "127.0.0.1"
        with pytest.raises(InputError, match="is not available"):
            listen_on(one.getsockname()[1])


def test_an_answer_moves_the_counts_and_is_in_the_file(ask, session):
    at = int(session.worklist.positions[0])
    told = ask.json("/answer?who=ben", sent={"at": [at], "answer": "right", "label": [-1]})
    assert (told["left"], told["mine"], told["people"]) == (129, 1, {"ben": 1})
    assert '"who":"ben"' in session.journal.path.read_text(encoding="utf-8")
    assert ask.json("/progress?who=ben")["answers"][0] == [["right", -1], "right"]
    assert ask.json("/progress?who=ana")["answers"][0] == [None, "right"]
    assert ask.json("/undo?who=ben", sent={})["reopened"] == [at]


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/answer", {"at": ["x"], "answer": "right", "label": [-1]}),
        ("/answer", {"at": [10**9], "answer": "right", "label": [-1]}),
        ("/answer", {"at": [0], "answer": "<script>", "label": [-1]}),
        ("/answer", {"at": [True], "answer": "right", "label": [-1]}),
        ("/answer", {"at": [0, 0], "answer": "right", "label": [-1, -1]}),
        ("/answer", [1, 2]),
        ("/answer", b"{"),
        ("/answer", b"[" + b" " * 2_000_000),
        ("/answer", b"[" * 100_000),
        ("/accept", {"cell": [0, 0]}),
        ("/finish", {}),
        ("/cards?at=x", None),
        ("/similar?at=1000000", None),
        ("/check?cell=0,0", None),
        ("/check", None),
        ("/export/pickle", None),
        ("/picture/0/320", None),
    ],
)
def test_nonsense_is_refused_in_a_sentence_and_nothing_is_written(ask, session, path, sent):
    before = session.journal.path.read_bytes()
    status, body = ask(path, sent=sent)
    assert status == 400
    assert json.loads(body)["error"]
    assert session.journal.path.read_bytes() == before


def test_a_cell_is_checked_then_accepted_then_given_back(ask, session):
    now = ask.json("/check?cell=0,1")
    assert (now["checked"], now["ready"], now["most"]) == (0, False, None)
    for at in now["drawn"]:
        ask.json("/answer", sent={"at": [at], "answer": "wrong", "label": [1]})
    now = ask.json("/check?cell=0,1")
    assert now["ready"]
    assert 0 < now["share"] <= 0.2
    told = ask.json("/accept", sent={"cell": [0, 1]})
    assert told["accepted"] == now["open"]
    assert len(ask.json("/undo", sent={})["reopened"]) == now["open"]


def test_the_limit_does_not_tell_a_card_of_the_sample_from_a_suspect(ask, session):
    seen = set()
    for at in session.worklist.positions.tolist():
        told = ask.json("/answer", sent={"at": [at], "answer": "right", "label": [-1]})
        seen.add((told["limit"] is None, told["sample"]))
        if told["limit"] is not None:
            break
    assert seen == {(True, 10), (False, 10)}
    assert at == session.worklist.sample[-1]
    hidden = [p is None for p in ask.json("/opening")["pWrong"]]
    assert hidden == session.worklist.blind.tolist()
    cards = session.cards(session.worklist.positions.tolist())
    assert not any(card["likely"] for card, blind in zip(cards, hidden, strict=True) if blind)


def test_cards_search_and_similar_examples(ask):
    (card,) = ask.json("/cards?at=5")
    assert card["fields"][0] == ["says", "word5 of row 5"]
    assert 5 in ask.json("/search?words=row%205")
    assert ask.json("/similar?at=5") != []


def test_finish_writes_a_new_file_and_asks_to_decide_again_where_that_is_wished(ask, session):
    at = int(session.worklist.suspects[0])
    ask.json("/answer", sent={"at": [at], "answer": "wrong", "label": [1]})
    done = ask.json("/finish", sent={"again": True})
    assert done == {"corrected": 1, "again": True}
    assert ask.json("/finish", sent={})["again"] is False


@pytest.mark.parametrize("kind", ["csv", "label-studio", "argilla"])
def test_an_export_is_a_download_and_never_a_page(ask, kind):
    assert ask(f"/export/{kind}")[0] == 200
    assert ask.headers["content-type"] == "application/octet-stream"
    assert ask.headers["content-disposition"].startswith("attachment")


def test_pictures_come_from_the_datas_own_folder_and_are_made_anew(tmp_path):
    from dris.review_app.app import review_app

    photos, secret = tmp_path / "photos", tmp_path / "secret.png"
    Image.new("RGB", (20, 20), "red").save(secret)
    for name in ("cat", "dog"):
        (photos / name).mkdir(parents=True)
        for i in range(4):
            image = np.full((20, 20, 3), 40 * i, dtype=np.uint8)
            Image.fromarray(image).save(photos / name / f"{i}.png")
    stolen = photos / "cat" / "0.png"
    data = read_data(photos)
    made = worklist_of(made_decision(data, suspects=4), sample=2)
    with Journal(tmp_path / "a.jsonl", lambda: made) as journal:
        session = ReviewSession(data, journal)
        ask = Asked(review_app(session, title="t", who="ana", token=TOKEN, finish=None))
        status, body = ask("/picture/1/320")
        assert (status, ask.headers["content-type"]) == (200, "image/webp")
        assert body[:4] == b"RIFF"
        assert ask("/picture/1/5000")[0] == 400
        assert ask("/picture/99/320")[0] == 400
        stolen.unlink()
        stolen.symlink_to(secret)
        status, body = ask("/picture/0/320")
        assert status == 400
        assert b"outside the data's own folder" in body


def test_a_disk_that_does_not_answer_is_a_sentence_too(ask, session, monkeypatch):
    def gone(positions):
        raise OSError(errno.EIO, "Input/output error", "animals.csv")

    monkeypatch.setattr(session, "cards", gone)
    status, body = ask("/cards?at=0")
    assert status == 400
    assert "animals.csv: Input/output error" in json.loads(body)["error"]
