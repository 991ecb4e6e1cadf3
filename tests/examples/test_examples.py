"""Every file of examples/ runs as a user would run it, and prints what it is there to show.

A new example adds a line to SHOWN: its name, the extras it needs beyond `pip install dris` (as the
modules they bring), and words that it prints.
"""

import importlib.util
import json
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

from commands import run_python

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PAGE = (ROOT / "docs" / "integrations.md").read_text(encoding="utf-8")

SHOWN: dict[str, tuple[list[str], list[str]]] = {
    "sklearn_robust_classifier.py": (
        [],
        ["labels are probably wrong", "by clean", "wrong labels:", "test accuracy:"],
    ),
    "pytorch_loop.py": (
        ["torch"],
        ["3 proxies, 10 epochs", "wrong labels among the draws:", "test accuracy, by disagreement"],
    ),
}


def printed_by(path: Path, folder: Path) -> str:
    """What a file prints when it is run in an empty folder."""
    return run_python("-W", "error", path, cwd=folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_the_example_runs_and_prints_what_it_shows(name, tmp_path):
    needs, words = SHOWN[name]
    missing = [module for module in needs if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is missing")
    printed = printed_by(EXAMPLES / name, tmp_path)
    assert [w for w in words if w not in printed] == [], printed


def test_the_quickstarts_data_are_wrong_where_the_truth_says(tmp_path):
    printed_by(EXAMPLES / "quickstart_data.py", tmp_path)
    wrong = json.loads((tmp_path / "truth.json").read_text(encoding="utf-8"))
    made = np.load(tmp_path / "embeddings.npz")
    assert np.flatnonzero(made["label"] != made["true"]).tolist() == wrong["embeddings.npz"]
    assert len(wrong["people.csv"]) == 1200
    assert all((tmp_path / "digits" / name).is_file() for name in wrong["digits"])


def test_no_example_is_left_out():
    """Those of the frameworks and of the walk-through are run by tests of their own."""
    tests = "".join(
        path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].rglob("test_*.py")
    )
    names = [path.name for path in EXAMPLES.glob("*.py")]
    assert [name for name in names if f'"{name}"' not in tests] == []
    assert '"no_such_' + 'example.py"' not in tests  # the search can fail


def test_the_runner_fails_with_the_examples_own_words(tmp_path):
    (tmp_path / "bad.py").write_text(
        "import dris\ndris.keep_top([1.0], fraction=2)", encoding="utf-8"
    )
    with pytest.raises(AssertionError, match=r"fraction must be in \(0, 1\], got 2"):
        printed_by(tmp_path / "bad.py", tmp_path)


def blocks(page: str) -> list[str]:
    """The Python of a page."""
    return re.findall(r"```python\n(.*?)```", page, re.S)


def in_an_example(code: str) -> bool:
    """Whether a block stands in an example as it is, at whatever depth; blank lines aside."""
    plain = textwrap.dedent(code).strip("\n")
    for path in EXAMPLES.glob("*.py"):
        source = path.read_text(encoding="utf-8")
        for spaces in ("", " " * 4, " " * 8):
            if textwrap.indent(plain, spaces) in source:
                return True
    return False


def test_every_block_of_the_page_stands_in_an_example():
    assert len(blocks(PAGE)) >= 3
    assert [code for code in blocks(PAGE) if not in_an_example(code)] == []


def test_the_check_of_blocks_sees_another_word():
    code = blocks(PAGE)[0]
    assert in_an_example(code)
    assert not in_an_example(code.replace("(", "( ", 1))
