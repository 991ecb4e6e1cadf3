"""The examples of the frameworks, run as a user would; what they print is what they promise."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dris

pytestmark = pytest.mark.frameworks
ROOT = Path(__file__).parents[2]


def printed_by(name: str) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    path = [str(Path(dris.__file__).parents[1]), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    run = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=900,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def share(text: str, line: str) -> float:
    return float(re.search(rf"{line}\s+([\d.]+)%", text)[1])


def test_in_lightning_the_lowest_scores_are_wrong_labels_and_leaving_them_out_helps():
    pytest.importorskip("lightning")
    text = printed_by("lightning_record.py")
    assert share(text, "in the lowest tenth") > 80  # by chance 20
    assert share(text, "in the kept 75 %") < 5
    assert share(text, "trained on the kept") > share(text, "trained on everything")


def test_in_hugging_face_the_lowest_scores_are_wrong_labels():
    pytest.importorskip("transformers")
    text = printed_by("huggingface_text.py")
    assert share(text, "in the lowest tenth") > 80  # by chance 25
    assert share(text, "in the kept 67 %") < 5
    for name in ("everything", "the kept", "weighted draws"):
        assert share(text, f"trained on {name}") > 85


@pytest.mark.parametrize(
    ("name", "module"), [("keras_record.py", "keras"), ("jax_record.py", "flax")]
)
def test_in_keras_and_jax_the_lowest_scores_are_wrong_labels(name, module):
    if importlib.util.find_spec(module) is None:  # to import keras would choose its backend
        pytest.skip(f"{module} is missing")
    text = printed_by(name)
    assert "3 proxies, 8 epochs, 1797 examples" in text
    assert share(text, "in the lowest tenth") > 80  # by chance 20
