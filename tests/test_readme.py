"""The README's example runs as printed there, and its commands exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
MAKEFILE = (Path(__file__).parents[1] / "Makefile").read_text()
NUMBER = re.compile(r"\d+\.\d+|\d+")


def alike(ours: str, printed: str) -> bool:
    """Same words; numbers within a tenth or three units: BLAS builds differ in the last bits."""
    if NUMBER.sub("#", ours).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(NUMBER.findall(ours), NUMBER.findall(printed), strict=True)
    return all(abs(float(a) - float(b)) <= max(3, 0.1 * float(b)) for a, b in pairs)


EXAMPLES = re.findall(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", README, re.S)


def test_the_readme_has_its_two_examples():
    assert len(EXAMPLES) == README.count("```python") == 2


@pytest.mark.parametrize(("code", "printed"), EXAMPLES, ids=["decide", "scores"])
def test_the_python_examples_print_what_the_readme_says(code, printed, tmp_path):
    (tmp_path / "example.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert len(code.strip().splitlines()) <= 20
    assert alike(done.stdout, printed), done.stdout


def test_the_comparison_notices_another_number_and_another_word():
    assert alike("keeps 449, 8.7 %", "keeps 449, 9.9 %")
    assert not alike("keeps 449, 8.7 %", "keeps 449, 30.0 %")
    assert not alike("drops 449", "keeps 449")


@pytest.mark.parametrize("target", sorted(set(re.findall(r"^ +make (\w+)", README, re.M))))
def test_every_make_command_of_the_readme_exists(target):
    assert re.search(rf"^{target}:", MAKEFILE, re.M)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([\w/.-]+\.\w+)\)", README))))
def test_every_link_of_the_readme_leads_somewhere(path):
    assert (Path(__file__).parents[1] / path).exists()
