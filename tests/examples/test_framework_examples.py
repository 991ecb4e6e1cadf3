"""The examples of the frameworks, run as a user would; what they print is what they promise."""

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
    environment["PYTHONPATH"] = str(Path(dris.__file__).parents[1])
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


@pytest.mark.parametrize(
    ("name", "package", "kept", "better"),
    [
        ("lightning_record.py", "lightning", "kept 75 %", "trained on the kept"),
        ("huggingface_text.py", "transformers", "kept 67 %", "trained on the kept"),
    ],
)
def test_the_lowest_scores_are_wrong_labels_and_leaving_them_out_helps(name, package, kept, better):
    pytest.importorskip(package)
    text = printed_by(name)
    # By chance a fifth or a quarter; both networks reach nearly all.
    assert share(text, "in the lowest tenth") > 80
    assert share(text, f"in the {kept}") < 10
    assert share(text, better) > share(text, "trained on everything")
