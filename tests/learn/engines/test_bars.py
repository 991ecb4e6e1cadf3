"""Progress where nobody watches: a plain line now and then, never more."""

import dris.learn.engines.processes as bars


def told(monkeypatch, capsys, seconds, steps):
    """What a pipe is told when each of the steps takes so many seconds."""
    now = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    with bars.bar("proxies") as progress:
        for done in range(steps + 1):
            progress(done, steps)
            now[0] += seconds
    return capsys.readouterr().err.splitlines()


def test_slow_work_says_every_tenth_and_the_time_left(monkeypatch, capsys):
    lines = told(monkeypatch, capsys, seconds=10, steps=20)
    assert len(lines) == 10
    assert lines[0] == "proxies: 2 of 20, about 180 s left"
    assert lines[-1] == "proxies: 20 of 20, about 0 s left"


def test_quick_work_says_nothing_and_middling_work_a_line_in_ten_seconds(monkeypatch, capsys):
    assert told(monkeypatch, capsys, seconds=0.4, steps=20) == []
    assert len(told(monkeypatch, capsys, seconds=1, steps=60)) == 6


def test_no_work_at_all_is_no_error(monkeypatch, capsys):
    assert told(monkeypatch, capsys, seconds=60, steps=0) == []


def test_what_went_before_the_first_step_does_not_count_into_the_time_left(monkeypatch, capsys):
    """Pictures are read for a minute before the first epoch of any proxy."""
    now = [0.0]
    monkeypatch.setattr(bars.time, "monotonic", lambda: now[0])
    with bars.bar("proxies") as progress:
        now[0] = 60.0
        for done in range(2, 21, 2):
            progress(done, 20)
            now[0] += 10
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "proxies: 2 of 20"
    assert lines[1] == "proxies: 4 of 20, about 80 s left"
