"""The README's example runs as printed there, and its commands exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from follow import alike, steps

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
MAKEFILE = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", README, re.S)


@pytest.mark.parametrize(("code", "printed"), EXAMPLES, ids=["decide", "scores"])
def test_the_python_examples_print_what_the_readme_says(code, printed, tmp_path):
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert len(code.strip().splitlines()) <= 20
    assert alike(done.stdout, printed), done.stdout


def test_the_readme_has_a_command_and_two_examples_to_follow():
    assert [step.command.split()[0] for step in steps(README)] == [
        "dris",
        "example.py",
        "example.py",
    ]
    assert all(step.shown for step in steps(README))
    assert len(EXAMPLES) == README.count("```python") == 2


@pytest.mark.parametrize("target", sorted(set(re.findall(r"^ +make (\w+)", README, re.M))))
def test_every_make_command_of_the_readme_exists(target):
    assert re.search(rf"^{target}:", MAKEFILE, re.M)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([\w/.-]+\.\w+)\)", README))))
def test_every_link_of_the_readme_leads_somewhere(path):
    assert (Path(__file__).parents[1] / path).exists()
