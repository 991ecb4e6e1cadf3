"""What several tests need: the command line, in this process; a harm check done once."""

import pickle
import sys
from hashlib import sha256

import pytest

from dris.cli import main
from dris.pipeline import route


@pytest.fixture
def dris(monkeypatch, capsys):
    """Run a command; its exit code, stdout and stderr."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["dris", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    return run


@pytest.fixture(autouse=True)
def words_alone(monkeypatch):
    """Text is read the same way on a machine that has the sentence model."""
    monkeypatch.setattr("dris.data.text.sentences.MAX_TEXTS", 0)


@pytest.fixture
def harm_not_measured(monkeypatch):
    """In tests of something else: measuring takes longer than all the rest of a decision."""
    monkeypatch.setattr(route, "_measure", lambda *_: None)


@pytest.fixture(scope="module")
def harm_measured_once():
    """Of the same decision on the same data: a contract over many doors asks for it at each."""
    known, measure = {}, route._measure

    def measured(decision, ensemble, estimator):
        data, dynamics = ensemble.data, ensemble.dynamics
        asked = (decision.kept, decision.labels, decision.keep, decision.rule, decision.used)
        given = (data.labels, data.ids, data.trusted, data.groups, ensemble.table, estimator)
        own = (dynamics.columns, ensemble.settings, ensemble.trees, ensemble.only_assessed)
        key = sha256(pickle.dumps((asked, given, own))).digest()
        if key not in known:
            known[key] = measure(decision, ensemble, estimator)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(route, "_measure", measured)
        yield
