"""Every run writes its options down, and the file does it again."""

import os
import tomllib
from pathlib import Path

import pytest

from dris.cli.data_options import recipe_text
from made_people import write_people

FAST = ["--epochs", "3", "--workers", "1", "--skip-harm-check", "--no-report"]


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.csv"
    write_people(path, 200)
    return path


def test_a_run_writes_its_recipe_and_the_recipe_does_it_again(dris, people, tmp_path):
    once, twice = tmp_path / "once", tmp_path / "twice"
    words = ["--label", "income", "--id", "person", "--at-most", "40%", *FAST]
    assert dris("clean", people, *words, "--out", once)[0] == 0
    recipe = tomllib.loads((once / "clean.toml").read_text(encoding="utf-8"))
    assert recipe["command"] == "clean"
    assert (recipe["label"], recipe["epochs"], recipe["at_most"]) == ("income", 3, 0.4)
    code, _, printed = dris("clean", "--config", once / "clean.toml", "--out", twice)
    assert code == 0, printed
    assert (once / "cleaned.csv").read_bytes() == (twice / "cleaned.csv").read_bytes()
    again = tomllib.loads((twice / "clean.toml").read_text(encoding="utf-8"))
    assert {**recipe, "out": 0} == {**again, "out": 0}


def test_what_is_typed_goes_before_what_the_file_says(dris, people, tmp_path):
    (tmp_path / "dris.toml").write_text(
        f'data = ["{people}"]\nlabel = "income"\nseed = 5\n', encoding="utf-8"
    )
    words = ["--config", tmp_path / "dris.toml", "--seed", "7", "--out", tmp_path / "out", *FAST]
    assert dris("clean", *words)[0] == 0
    assert tomllib.loads((tmp_path / "out" / "clean.toml").read_text(encoding="utf-8"))["seed"] == 7


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('lable = "income"', "did you mean label?"),
        ("label = income", "is not TOML"),
        ('[clean]\nlabel = "y"', "is a table"),
        ("force = true", "no option 'force'"),
        ("a = " + "[" * 20_000, "is not TOML"),
        ('command = "prune"\nkeep = 0.2', "type dris prune --config"),
        (b"\xff\xfe\x00label", "is not TOML"),
        ("epochs = [1]", "epochs must be"),
        ("epochs = 2000-01-01", "epochs must be"),
        ("data = 3", "data must be"),
    ],
)
def test_a_bad_recipe_is_one_sentence(text, says, dris, tmp_path):
    (tmp_path / "dris.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    code, _, printed = dris("clean", "--config", tmp_path / "dris.toml")
    assert (code, printed.count("\n")) == (1, 1)
    assert says in printed


@pytest.mark.skipif(os.name != "posix", reason="names of files are text there")
@pytest.mark.parametrize("option", ["--out", "--store"])
def test_a_name_that_is_no_text_is_refused_before_anything_trains(option, dris, people, tmp_path):
    name = os.fsdecode(bytes(tmp_path / "o") + b"\xff")
    code, _, printed = dris("clean", people, "--label", "income", *FAST, option, name)
    assert (code, printed.count("\n")) == (1, 1)
    assert "UTF-8" in printed
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_recipe_that_never_ends_is_refused(dris, tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    for name in (tmp_path / "pipe.toml", Path("/dev/zero")):
        code, _, printed = dris("clean", "--config", name)
        assert (code, printed.count("\n")) == (1, 1)
        assert "a pipe" in printed


def test_a_recipe_that_a_person_edited_is_never_replaced(dris, people, tmp_path):
    words = ["clean", people, "--label", "income", "--id", "person", *FAST, "--out", tmp_path]
    assert dris(*words)[0] == 0
    recipe = tmp_path / "clean.toml"
    recipe.write_text(recipe.read_text(encoding="utf-8") + "# my note\n", encoding="utf-8")
    code, _, printed = dris(*words, "--force")
    assert code == 1
    assert "clean.toml was changed" in printed
    assert recipe.read_text(encoding="utf-8").endswith("# my note\n")


def test_values_of_every_kind_come_back_as_they_were(tmp_path):
    values = {
        "records": ["a b", 'ü"\\'],
        "seed": 3,
        "cpus": 0.5,
        "skip_harm_check": True,
        "id": None,
    }
    recipe = tomllib.loads(recipe_text("clean", values, tmp_path))
    assert recipe["from"] == ["a b", 'ü"\\']
    assert (recipe["seed"], recipe["cpus"], recipe["skip_harm_check"]) == (3, 0.5, True)
    assert "id" not in recipe
