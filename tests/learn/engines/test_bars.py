"""Progress where nobody watches: a plain line now and then, never more."""

import pytest

import dris.learn.engines.processes as bars


@pytest.fixture
def now(monkeypatch):
    """A clock that is set by hand."""
    clock = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: clock[0])
    return clock


def told(now, capsys, seconds, steps):
    """What a pipe is told when each of the steps takes so many seconds."""
    with bars.bar("proxies") as progress:
        for done in range(steps + 1):
            progress(done, steps)
            now[0] += seconds
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(("seconds", "steps", "lines"), [(0.4, 20, 0), (1, 60, 1), (60, 0, 0)])
def test_a_phase_below_a_hundred_seconds_says_one_line_at_most(now, capsys, seconds, steps, lines):
    assert len(told(now, capsys, seconds, steps)) == lines


def test_long_work_says_when_it_ends_after_ten_times_as_long_again(now, capsys):
    assert told(now, capsys, seconds=10, steps=200) == [
        "proxies: 1 of 200, about 1990 s left",
        "proxies: 10 of 200, about 1900 s left",
        "proxies: 100 of 200, about 1000 s left",
    ]


def test_each_phase_has_its_name_and_its_seconds(now, capsys):
    with bars.bar("proxies") as progress:
        now[0] = 5.0
        bars.enter_phase(progress, "trees")
        for done in range(3):
            progress(done, 2)
            now[0] += 10
        bars.enter_phase(progress, "")
        bars.enter_phase(print, "no watch, no phase")
    assert progress.seconds == {"proxies": 5.0, "trees": 30.0}
    assert capsys.readouterr().err == "trees: 1 of 2, about 10 s left\n"
