"""The app as a process of its own: real sockets, real files that other programs move."""

import http.client
import json
import os
import shutil
import signal
import socket
import time
from pathlib import Path

import pytest
from PIL import Image

from commands import run_dris, start_dris, until
from made_review import NAMES, made_session, made_table

pytestmark = pytest.mark.frameworks

ANIMALS = ("review", "animals.csv", "--label", "kind", "--id", "name", "--reviewer", "ana")
LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)); "


class Served:
    """`dris review`, and requests to it."""

    def __init__(self, folder, *words, before=""):
        words = (*(words or ANIMALS), "--no-open", "--out", "out")
        self.process = start_dris(*words, cwd=folder, before=before, OMP_NUM_THREADS="1")
        address = next(
            (line.split()[1] for line in self.process.stdout if line.startswith("open ")), None
        )
        assert address, self.process.stderr.read()
        self.host, self.token = address.removeprefix("http://").rstrip("/").split("/")

    def ask(self, path, sent=None, **headers):
        """Status and body of one request, by a connection of its own."""
        host = headers.get("host", self.host)
        told = {"host": host, "origin": f"http://{host}", "content-type": "application/json"}
        way = http.client.HTTPConnection(self.host, timeout=5)
        try:
            body = None if sent is None else json.dumps(sent)
            way.request("GET" if sent is None else "POST", f"/{self.token}{path}", body, told)
            answer = way.getresponse()
            return answer.status, answer.read()
        finally:
            way.close()

    def answer(self, at):
        return self.ask("/answer", {"at": [at], "answer": "right", "label": [-1]})

    def end(self, how=signal.SIGINT):
        """What it said on its way out."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.communicate(timeout=20)[1]


@pytest.fixture
def served(tmp_path):
    """Start the app on a review that was begun, or on what is named."""
    running = []

    def start(*words, **how):
        if not words:
            made_session(tmp_path).journal.close()
        running.append(Served(tmp_path, *words, **how))
        return running[-1]

    yield start
    for one in running:
        one.end(signal.SIGKILL)


def answered(path):
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    return [json.loads(line)["at"] for line in lines]


def copy_over(path):
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


def test_a_copy_moved_over_the_answers_loses_none(served, tmp_path):
    app, path = served(), tmp_path / "animals.review.jsonl"
    for at, change in enumerate((lambda path: None, copy_over, type(path).unlink, copy_over)):
        change(path)
        assert app.answer(at)[0] == 200
    assert answered(path) == [[0], [1], [2], [3]]


@pytest.mark.parametrize("how", ["written to", "cut", "replaced"])
def test_answers_that_another_program_changed_are_kept_apart_and_nothing_more_is_taken(
    served, tmp_path, how
):
    app, path = served(), tmp_path / "animals.review.jsonl"
    assert app.answer(0)[0] == 200
    own = path.read_bytes()
    theirs = {"written to": own + b"{}\n", "cut": own[:-9], "replaced": own[:-9]}[how]
    if how == "replaced":
        path.unlink()
    path.write_bytes(theirs)
    for at in (1, 2):
        status, body = app.answer(at)
        assert status == 400
        assert b"animals.review.1.jsonl" in body
    assert path.read_bytes() == theirs
    assert (tmp_path / "animals.review.1.jsonl").read_bytes() == own
    assert json.loads(app.ask("/progress")[1])["summary"]["mine"] == 1
    # The twin: where nobody touches it, the next one is taken.
    app.end()
    path.write_bytes(own)
    assert served().answer(1)[0] == 200


def test_no_second_app_starts_on_answers_that_were_moved(served, tmp_path):
    app, path = served(), tmp_path / "animals.review.jsonl"
    for _ in range(2):
        second = run_dris(*ANIMALS, "--no-open", cwd=tmp_path, timeout=20)
        assert second.returncode == 1
        assert "another dris review" in second.stderr
        copy_over(path)
    app.end()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["animals.csv", path.name]
    assert served().answer(0)[0] == 200


def test_a_label_that_is_no_class_is_refused_before_the_app_starts(served, tmp_path):
    app, path = served(), tmp_path / "animals.review.jsonl"
    app.end()
    begun = path.read_bytes()
    for at, label in ((0, 99), (10**6, 0), (0, -7)):
        entry = {"entry": "answer", "who": "a", "at": [at], "answer": "wrong", "label": [label]}
        path.write_bytes(begun + json.dumps(entry).encode() + b"\n")
        told = run_dris(*ANIMALS, "--no-open", cwd=tmp_path)
        assert told.returncode == 1
        assert "line 2" in told.stderr
        assert "Traceback" not in told.stderr


def test_the_token_is_in_no_list_of_processes(served, tmp_path):
    """A browser that is a program of ours writes down what it was called with."""
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/called\nsleep 3\n')
    browser.chmod(0o755)
    made_session(tmp_path).journal.close()
    words = [word for word in ANIMALS if word != "--no-open"]
    process = start_dris(*words, cwd=tmp_path, BROWSER=f"{browser} %s")
    try:
        token = next(line.split("/")[3] for line in process.stdout if line.startswith("open http"))
        called = tmp_path / "called"
        until(lambda: called.exists() and called.read_text())
        address = called.read_text().strip()
        assert token not in address
        file = Path(address.removeprefix("file://"))
        assert token in file.read_text(encoding="utf-8")
        assert file.stat().st_mode & 0o777 == 0o600
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert not file.exists()
    finally:
        process.kill()
        process.communicate()


def test_idle_connections_neither_stop_the_app_nor_fill_its_log(served):
    app = served(before=LIMITED)
    name, port = app.host.split(":")
    idle = []
    try:
        for _ in range(400):
            idle.append(socket.create_connection((name, int(port)), timeout=5))
            idle[-1].sendall(b"GET / HTTP/1.1\r\n")  # and never the rest
        assert app.ask("/opening")[0] == 200
        assert app.answer(0)[0] == 200
    finally:
        for one in idle:
            one.close()
    assert app.end().splitlines() == ["dris: interrupted"]


def test_a_picture_that_became_a_pipe_is_refused(served, tmp_path):
    for c, name in enumerate(NAMES):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(20):
            image = Image.new("RGB", (8, 8), (60 * c + i, 40, 9 * i))
            image.save(tmp_path / "photos" / name / f"{i}.png")
    fast = ("--epochs", "2", "--proxies", "2", "--model", "sgd_log", "--workers", "1")
    app = served("review", "photos", "--reviewer", "ana", *fast)
    at = json.loads(app.ask("/opening")[1])["at"][:2]
    assert app.ask(f"/picture/{at[0]}/320")[0] == 200
    (card,) = json.loads(app.ask(f"/cards?at={at[1]}")[1])
    path = tmp_path / "photos" / card["id"]
    path.unlink()
    os.mkfifo(path)
    status, body = app.ask(f"/picture/{at[1]}/320")
    assert status == 400
    assert b"pipe" in body


def test_an_interrupt_while_it_decides_again_ends_it_without_a_traceback(served, tmp_path):
    made_table(tmp_path, n=3000)
    app = served(*ANIMALS, "--epochs", "3")
    app.answer(0)
    way = http.client.HTTPConnection(app.host, timeout=60)
    told = {"origin": f"http://{app.host}", "content-type": "application/json"}
    way.request("POST", f"/{app.token}/finish", json.dumps({"again": True}), told)
    until((tmp_path / "out" / "corrected.csv").exists)
    time.sleep(0.5)
    begin = time.monotonic()
    assert "Traceback" not in app.end()
    assert time.monotonic() - begin < 10
    assert app.process.returncode in (0, 130, -signal.SIGINT)
    way.close()
