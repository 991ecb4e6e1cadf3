"""A missing framework is one sentence that names the extra; a present one is imported."""

import subprocess
import sys

import pytest

# Runs in a process of its own: this one may hold the packages already, and must keep them.
WITHOUT = """
import sys
sys.modules[{package!r}] = None  # what Python itself uses to say: there is no such module
try:
    import {module}
except ImportError as error:
    print(type(error).__name__, "|", error)
"""


def error_of(module: str, package: str) -> str:
    code = WITHOUT.format(module=module, package=package)
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    return run.stdout.strip()


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("dris.integrations.lightning", "lightning", "lightning"),
        ("dris.integrations.huggingface", "transformers", "huggingface"),
        ("dris.integrations.passes", "torch", "torch"),
    ],
)
def test_a_missing_package_names_its_extra(module, package, extra):
    sentence = f'{package} is not installed; get it with: pip install "dris[{extra}]"'
    assert error_of(module, package) == f"MissingExtraError | {sentence}"


@pytest.mark.frameworks
@pytest.mark.parametrize("name", ["lightning", "huggingface"])
def test_the_check_says_nothing_when_all_is_there(name):
    assert error_of(f"dris.integrations.{name}", "no_such_package") == ""


def test_the_integrations_themselves_need_none_of_them():
    packages = ("torch", "lightning", "transformers", "datasets", "ray")
    code = f"import sys; sys.modules.update(dict.fromkeys({packages})); import dris.integrations"
    subprocess.run([sys.executable, "-c", code], check=True)
