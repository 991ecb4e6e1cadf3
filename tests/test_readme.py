"""What the README names exists; tests/test_site.py follows it to the letter."""

import re
from pathlib import Path

import pytest

from follow import steps

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
MAKEFILE = (Path(__file__).parents[1] / "Makefile").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", README, re.S)


def test_the_readme_has_a_command_and_two_examples_to_follow():
    assert [step.command.split()[0] for step in steps(README)] == [
        "dris",
        "example.py",
        "example.py",
    ]
    assert all(step.shown for step in steps(README))
    assert len(EXAMPLES) == README.count("```python") == 2
    assert all(len(code.strip().splitlines()) <= 20 for code, _ in EXAMPLES)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make (\w+)`", README))))
def test_every_make_command_of_the_readme_exists(target):
    assert re.search(rf"^{target}:", MAKEFILE, re.M)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([\w/.-]+\.\w+)\)", README))))
def test_every_link_of_the_readme_leads_somewhere(path):
    assert (Path(__file__).parents[1] / path).exists()
