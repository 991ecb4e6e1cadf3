"""Help finds a command by what it is for, and an option by what it is about."""

import inspect

import pytest
import typer

from dris.cli import GROUPS, PANELS, app, sort_into
from dris.data.formats import FORMATS


def commands():
    return typer.main.get_command(app).commands


def test_every_command_stands_in_a_group_your_data_first(dris):
    _, printed, _ = dris("--help")
    titles = [line[:-1] for line in printed.splitlines() if line.endswith(":") and line[0] != " "]
    assert titles == ["Options", *GROUPS]
    for name in commands():
        assert f"\n  {name} " in printed
    assert "..." not in printed.partition("Your data:")[2]  # what a command does is printed whole


def test_a_command_in_no_group_would_be_listed_last_and_noticed():
    """The twin: what nobody sorted is shown all the same, under a title of its own."""
    there = [*commands(), "newcomer"]
    assert list(sort_into(there, GROUPS, "More"))[-1] == ("More", ["newcomer"])


def test_every_panel_names_options_that_exist():
    there = {p.name for p in commands()["clean"].params}
    assert {name for names in PANELS.values() for name in names} <= there


@pytest.mark.parametrize(
    ("typed", "meant", "code"),
    [
        (["claen"], "clean", 2),
        (["clean", "x.csv", "--lable", "y"], "--label", 2),
        (["people.csv"], "dris clean people.csv", 2),
        (["peolpe.csv", "--label", "y"], "dris clean people.csv", 2),
        (["clean", "poeple.csv", "--label", "y"], "did you mean people.csv", 1),
    ],
)
def test_a_slip_of_the_finger_is_told_what_was_meant(
    typed, meant, code, dris, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("x,y\n", encoding="utf-8")
    ended, _, printed = dris(*typed)
    assert ended == code
    assert meant in printed.splitlines()[-1]


def test_a_mistake_is_wrapped_at_words_on_a_terminal_and_one_line_in_a_pipe(monkeypatch, capsys):
    from dris.cli.output import say_problem

    monkeypatch.setenv("COLUMNS", "40")
    sentence = "dris: column 'age' holds 55 different numbers, as a quantity does"
    say_problem(sentence)
    assert capsys.readouterr().err == f"{sentence}\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    say_problem(sentence)
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(lines) == sentence


def test_help_lists_every_format_of_the_registry(dris):
    for command in ("clean", "prune", "weights"):
        printed = " ".join(dris(command, "--help")[1].split())
        assert all(entry.title in printed for entry in FORMATS)
        assert "FORMATS" not in printed


@pytest.mark.parametrize("keep", ["25", "1.5", "0", "250%", "nan", "a quarter"])
def test_a_share_that_is_none_is_refused_before_anything_is_read(keep, dris):
    code, _, printed = dris("prune", "absent.csv", "--keep", keep)
    assert code == (2 if keep == "a quarter" else 1)
    assert "--keep" in printed
    assert "25%" in printed or "must be in (0, 1]" in printed
    assert "absent.csv" not in printed


def test_corrupt_knows_every_noise_and_the_options_every_canary():
    from dris.cli import data_commands, data_options
    from dris.core.noise.canaries import CANARY_KINDS
    from dris.core.noise.flips import NOISE_KINDS

    assert set(data_commands.KINDS) == set(NOISE_KINDS)
    source = inspect.getsource(data_options)
    assert [kind for kind in CANARY_KINDS if kind not in source] == []
