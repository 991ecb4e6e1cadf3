"""What others wrote: read in one place, shown as text."""

from pathlib import Path

import numpy as np

from dris.core import sanitize as words
from dris.data.labelled import LabelledData
from made_review import made_decision


def bare_loads(folder):
    """The modules below a folder that parse JSON by themselves."""
    return [p.name for p in sorted(folder.rglob("*.py")) if "json.loads(" in p.read_text("utf-8")]


def test_json_is_read_in_one_place_which_knows_of_deep_nesting(tmp_path):
    assert bare_loads(Path(words.__file__).parents[1]) == ["sanitize.py"]
    (tmp_path / "other.py").write_text(
        "import json\njson.loads('[]')\n", encoding="utf-8"
    )  # the twin
    assert bare_loads(tmp_path) == ["other.py"]


EVIL = ("<script>x</script>", "<img src=y onerror=z>", "& dog")


def test_a_decision_shows_what_was_found_and_its_first_suspects_as_text():
    n = 60
    data = LabelledData.of(np.zeros((n, 1)), np.arange(n) % 3, classes=EVIL)
    decision = made_decision(data, suspects=9)
    text = decision._repr_html_()
    assert text.startswith("<b>Decision</b>")
    assert "<th>found</th><td>9 " in text
    assert text.count("<tr>") == len(decision.lines()) + 1 + 5
    assert "<script" not in text
    assert "<img" not in text
    assert "&lt;script&gt;" in text
