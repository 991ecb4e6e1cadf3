"""A missing optional package is one sentence that names the extra."""

import subprocess
import sys

import pytest

from dris.core.errors import InputError
from dris.learn.extras import MissingExtraError, require

# Runs in a process of its own: this one may hold torch already, and must keep it.
WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # what Python itself uses to say: there is no such module
try:
    {statement}
except Exception as error:
    print(type(error).__name__, "|", error)
"""


def test_a_missing_module_names_the_extra():
    with pytest.raises(MissingExtraError) as caught:
        require("no_such_package.inner", "ray")
    assert str(caught.value) == (
        'no_such_package is not installed; get it with: pip install "dris[ray]"'
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
    "statement",
    [
        "import dris.learn.trainers.networks.models",
        "import dris.learn.trainers.networks.samplers",
        "import dris; dris.ImportanceSampler",
    ],
)
def test_without_torch_every_way_to_what_needs_it_gives_the_sentence(statement):
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH.format(statement=statement)],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert run.stdout.strip() == (
        'MissingExtraError | torch is not installed; get it with: pip install "dris[torch]"'
    )


def test_learn_itself_needs_no_torch():
    code = 'import sys; sys.modules["torch"] = None; import dris.learn, dris.learn.extras'
    subprocess.run([sys.executable, "-c", code], check=True)
