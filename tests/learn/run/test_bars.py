"""Progress where nobody watches: a plain line now and then, never more."""

import dris.learn.run.bars as bars


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
