"""Work in processes: order, progress, import folders and errors cross over; the count is exact."""

import os
import subprocess
import sys

import pytest

from dris.core.errors import InputError
from dris.learn.engines.tasks import devices_of, run_all


def double(value, tick):
    for _ in range(value):
        tick()
    return 2 * value, os.getpid()


def refusing(value, tick):
    if value == 1:
        raise InputError(f"value must not be 1, got {value}; use 2")
    return value


def importing(name, tick):
    return __import__(name).ANSWER


@pytest.mark.parametrize("workers", [1, 2, None])
def test_results_come_in_the_order_of_the_tasks(workers):
    result = run_all(double, [(3,), (0,), (2,), (1,)], workers=workers)
    assert [value for value, _ in result] == [6, 0, 4, 2]
    assert (os.getpid() in {pid for _, pid in result}) == (workers == 1 or os.cpu_count() == 1)


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_never_falls_and_ends_at_the_total(workers):
    seen = []
    run_all(
        double,
        [(3,), (4,), (5,)],
        workers=workers,
        progress=lambda done, total: seen.append((done, total)),
        total=12,
    )
    counts = [done for done, _ in seen]
    assert counts == sorted(counts)
    assert seen[-1] == (12, 12)
    assert {total for _, total in seen} == {12}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_a_worker_is_its_one_sentence(workers):
    with pytest.raises(InputError) as caught:
        run_all(refusing, [(0,), (1,), (2,)], workers=workers)
    assert str(caught.value) == "value must not be 1, got 1; use 2"


def test_the_counter_goes_away_also_after_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(InputError):
        run_all(refusing, [(1,)], workers=1, progress=lambda done, total: None, total=1)
    assert not list(tmp_path.glob("dris-progress-*"))


def test_workers_find_modules_of_folders_added_after_they_were_started(tmp_path, monkeypatch):
    run_all(double, [(1,), (2,)], workers=2)
    (tmp_path / "late_module_of_a_user.py").write_text("ANSWER = 42\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert run_all(importing, [("late_module_of_a_user",)] * 2, workers=2) == [42, 42]
    assert sys.path.count(str(tmp_path)) == 1


FORKED = """
import os
from dris.learn.engines.tasks import run_all

def pick(value, tick):
    return value

if __name__ == "__main__":
    assert run_all(pick, [(1,), (2,)], workers=2) == [1, 2]
    child = os.fork()
    if child == 0:
        os._exit(0 if run_all(pick, [(3,), (4,)], workers=2) == [3, 4] else 1)
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked there")
def test_a_fork_of_a_process_with_workers_has_workers_of_its_own(tmp_path):
    (tmp_path / "forked.py").write_text(FORKED, encoding="utf-8")
    words = [sys.executable, "-W", "ignore", "forked.py"]
    assert subprocess.run(words, cwd=tmp_path, timeout=120).returncode == 0


@pytest.mark.parametrize("workers", [0, -1, 1.5, True])
def test_the_number_of_workers_is_checked(workers):
    with pytest.raises(InputError, match="workers must"):
        run_all(double, [(1,)], workers=workers)


def test_devices():
    assert devices_of("cpu") == ["cpu"]
    with pytest.raises(InputError, match="device must be cpu, cuda"):
        devices_of("tpu")
    torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')
    count = torch.cuda.device_count()
    if count == 0:
        with pytest.raises(InputError, match="no CUDA device is visible"):
            devices_of("cuda")
    else:
        assert devices_of("cuda") == [f"cuda:{i}" for i in range(count)]
    assert devices_of("cuda:0") == ["cuda:0"] if count else True
