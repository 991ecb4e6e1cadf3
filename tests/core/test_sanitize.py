"""What others wrote: read in one place, shown in one way."""

from pathlib import Path

from dris.core import sanitize as words


def bare_loads(folder):
    """The modules below a folder that parse JSON by themselves."""
    return [p.name for p in sorted(folder.rglob("*.py")) if "json.loads(" in p.read_text("utf-8")]


def test_json_is_read_in_one_place_which_knows_of_deep_nesting(tmp_path):
    assert bare_loads(Path(words.__file__).parents[1]) == ["sanitize.py"]
    (tmp_path / "other.py").write_text(
        "import json\njson.loads('[]')\n", encoding="utf-8"
    )  # the twin
    assert bare_loads(tmp_path) == ["other.py"]
