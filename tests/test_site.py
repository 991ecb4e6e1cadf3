"""The site: its first page followed to the letter, its examples, its reference, its notebooks."""

import json
import re
from pathlib import Path

import pytest

import dris
from commands import run_python
from follow import follow, steps

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NEW = [
    "distributed-weighted-random-sampler.md",
    pytest.param("guides/check-in-ci.md", marks=pytest.mark.slow),
    "guides/noisy-test-sets.md",
    "guides/prune-and-weight.md",
    "guides/score-new-rows.md",
    "guides/watching.md",
]
SHOWN = re.compile(r"```python\n((?:(?!```).)*)```\n\nprints\n\n```\n(.*?)```", re.S)
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("name", NEW)
def test_the_examples_of_a_guide_print_what_it_says(name, tmp_path):
    if name.startswith("distributed"):
        pytest.importorskip("torch")
    text = (DOCS / name).read_text(encoding="utf-8")
    result = SHOWN.findall(text)
    assert len(result) == text.count("```python")
    for code, printed in result:
        assert run_python("-c", code, cwd=tmp_path) == printed


def undocumented(source: str, page: str) -> set[str]:
    """Loggers that code asks for and the table of a page does not list."""
    asked = set(re.findall(r'getLogger\("(dris[\w.]*)"\)', source))
    return asked - set(re.findall(r"^\| `(dris[\w.]*)` \|", page, re.M))


def test_every_logger_is_in_the_guide():
    page = (DOCS / "guides" / "watching.md").read_text(encoding="utf-8")
    modules = [p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py")]
    assert undocumented("\n".join(modules), page) == set()
    assert not [text for text in modules if "getLogger(__name__)" in text]
    assert undocumented('getLogger("dris.new"), getLogger("dris.store")', page) == {"dris.new"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["docs/index.md", "README.md"])
def test_a_page_does_what_it_says_when_followed_to_the_letter(name, tmp_path):
    assert follow(ROOT / name, tmp_path) == []


def test_a_page_that_says_something_else_is_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint(7 * 6)\n```\n\nprints\n\n```\n63\n```\n\n    $ dris nothing\n",
        encoding="utf-8",
    )
    printed, ended = follow(page, tmp_path)
    assert "example.py printed\n42\n\nnot\n63" in printed
    assert "dris nothing ended with 2" in ended


def test_the_first_page_has_five_steps_the_last_of_them_in_python():
    result = steps((DOCS / "index.md").read_text(encoding="utf-8"))
    assert [step.command.split()[0] for step in result] == [
        "make_data.py",
        *3 * ["dris"],
        "example.py",
    ]
    assert all(step.shown for step in result[1:])


def test_the_reference_has_every_public_name_once():
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^::: (dris\.[\w.]+)\.(\w+)$", page, re.M)
    assert sorted(name for _, name in named) == sorted(dris._HOMES)
    assert all(dris._HOMES[name] == home for home, name in named)


def test_every_page_of_the_menu_exists_and_nothing_comes_from_elsewhere():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = re.findall(r": ([\w/-]+\.md)$", menu, re.M)
    assert len(pages) == len(set(pages)) > 20
    assert [page for page in pages if not (DOCS / page).exists()] == []
    assert "font: false" in menu
    assert "http" not in menu.partition("theme:")[2]
    assert (DOCS / "site" / "iframe-worker.js").exists()


def test_there_is_a_notebook_for_each_kind_of_data_without_outputs():
    assert [path.stem for path in NOTEBOOKS] == ["images", "table", "text"]
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert all(cell.get("outputs", []) == [] for cell in cells)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs_from_its_first_cell_to_its_last(path, tmp_path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    (tmp_path / "notebook.py").write_text(code, encoding="utf-8")
    run_python("notebook.py", cwd=tmp_path)
