"""A missing optional package is one sentence that names the extra."""

import pytest

from commands import run_python
from dris.core.errors import InputError
from dris.learn.extras import MissingExtraError, require

# Runs in a process of its own: this one may hold the package already, and must keep it.
WITHOUT = """
import sys
sys.modules[{package!r}] = None  # what Python itself uses to say: there is no such module
try:
    {statement}
except Exception as error:
    print(type(error).__name__, "|", error)
"""


def printed_without(package: str, statement: str) -> str:
    return run_python("-c", WITHOUT.format(package=package, statement=statement)).strip()


def test_a_missing_module_names_the_extra():
    with pytest.raises(MissingExtraError) as caught:
        require("no_such_package.inner", "ray")
    assert str(caught.value) == (
        'no_such_package is not installed; in the clone of dris: pip install ".[ray]"'
    )
    assert caught.value.name == "no_such_package"
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, ModuleNotFoundError)


def test_a_package_that_is_there_but_lacks_something_else_raises_its_own_error(
    tmp_path, monkeypatch
):
    (tmp_path / "half_installed.py").write_text("import its_missing_dependency\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError) as caught:
        require("half_installed", "ray")
    assert not isinstance(caught.value, InputError)
    assert caught.value.name == "its_missing_dependency"


@pytest.mark.parametrize(
    ("statement", "package", "extra"),
    [
        ("import dris.learn.trainers.networks.models", "torch", "torch"),
        ("import dris.learn.trainers.networks.samplers", "torch", "torch"),
        ("import dris; dris.ImportanceSampler", "torch", "torch"),
        ("import dris.integrations.passes", "torch", "torch"),
        ("import dris.integrations.lightning", "lightning", "lightning"),
        ("import dris.integrations.huggingface", "transformers", "huggingface"),
    ],
)
def test_every_way_to_what_needs_a_missing_package_gives_the_sentence(statement, package, extra):
    sentence = f'{package} is not installed; in the clone of dris: pip install ".[{extra}]"'
    assert printed_without(package, statement) == f"MissingExtraError | {sentence}"


def test_learn_and_the_integrations_themselves_need_none_of_them():
    packages = ("torch", "lightning", "transformers", "datasets", "ray")
    code = f"import sys; sys.modules.update(dict.fromkeys({packages})); import dris.integrations"
    run_python("-c", f"{code}, dris.learn, dris.learn.extras")
