"""Engines without a cluster: wishes are checked, what is missing is said in a sentence."""

import sys
import time

import pytest

from dris.cli import main
from dris.core.errors import InputError
from dris.learn.engines.tasks import Engine, connect, run_all

NOBODY = "127.0.0.1:1"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"name": "spark"}, "engine must be one of local, ray, got 'spark'"),
        ({"address": NOBODY}, "are for Ray, the engine is local"),
        ({"gpus": 1}, "are for Ray, the engine is local"),
        ({"name": "ray", "cpus": 0}, "cpus must be above 0, got 0"),
        ({"name": "ray", "gpus": 1.5}, "gpus must be a share of one or a whole number, got 1.5"),
        ({"name": "ray", "retries": -1}, "retries must"),
    ],
)
def test_what_is_asked_of_an_engine_is_checked(asked, says):
    with pytest.raises(InputError, match=says):
        Engine(**asked)


def test_devices_on_ray_are_those_that_a_task_sees():
    assert Engine("ray").devices("cpu") == ["cpu"]
    assert Engine("ray", gpus=1).devices("cuda") == ["cuda:0"]
    with pytest.raises(InputError, match="ask for gpus=1"):
        Engine("ray").devices("cuda")
    with pytest.raises(InputError, match="device must be cpu or cuda on Ray"):
        Engine("ray", gpus=1).devices("cuda:1")


def test_the_local_engine_needs_no_ray_and_a_missing_ray_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run_all(lambda a, tick: a + 1, [(1,)], workers=1, engine="local") == [2]
    with pytest.raises(InputError) as caught:
        run_all(lambda a, tick: a + 1, [(1,)], workers=1, engine="ray")
    assert str(caught.value) == 'ray is not installed; in the clone of dris: pip install ".[ray]"'


@pytest.fixture
def pretended(monkeypatch):
    """A Ray that is installed and fails the test when it is asked to connect."""

    class Pretended:
        def is_initialized(self):
            return False

        def init(self, **how):
            raise AssertionError("the address was to be refused before")

    monkeypatch.setitem(sys.modules, "ray", Pretended())
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


@pytest.mark.parametrize("address", ["nonsense", "host:", ":6379", "host:port", "1.2.3.4:99999"])
def test_an_address_that_is_none_is_an_error(pretended, address):
    with pytest.raises(InputError, match="address must be host:port, ray://host:port or auto"):
        connect(Engine("ray", address))


@pytest.mark.parametrize("address", [NOBODY, f"ray://{NOBODY}"])
def test_an_address_where_nobody_answers_is_said_soon(pretended, address):
    begin = time.monotonic()
    with pytest.raises(InputError, match=f"no Ray cluster can be reached at {address} .Connection"):
        connect(Engine("ray", address))
    assert time.monotonic() - begin < 10


def test_the_command_line_says_it_in_a_sentence_before_it_reads_the_data(
    pretended, monkeypatch, capsys, tmp_path
):
    words = ["clean", "absent.csv", "--engine", "ray", "--address", NOBODY, "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["dris", *words])
    with pytest.raises(SystemExit) as end:
        main()
    text = capsys.readouterr().err
    assert end.value.code == 1
    assert text.startswith(f"dris: no Ray cluster can be reached at {NOBODY}")
    assert text.count("\n") == 1
