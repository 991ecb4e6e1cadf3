"""The examples of the frameworks, run as a user would; what they print is what they promise."""

import importlib.util
import re
from pathlib import Path

import pytest

from commands import run_python

pytestmark = pytest.mark.frameworks
ROOT = Path(__file__).parents[2]


def printed_by(name: str, *launched: str) -> str:
    path = ROOT / "examples" / name
    return run_python(*launched, path, timeout=900, OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")


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


@pytest.mark.parametrize(
    "launched",
    [(), ("-m", "torch.distributed.run", "--nproc_per_node", "2")],
    ids=["one process", "two"],
)
def test_in_a_loop_of_accelerate_every_example_is_recorded_once_and_fewer_wrong_ones_drawn(
    launched,
):
    pytest.importorskip("accelerate")
    text = printed_by("accelerate_loop.py", *launched)
    assert text.count("3 proxies, 8 epochs, 1300 examples") == 1  # one process speaks
    assert share(text, "in the lowest tenth") > 80  # by chance 20
    assert share(text, "among the draws") < 10
    assert share(text, "test accuracy") > 80


def test_in_trl_the_lowest_scores_are_swapped_pairs():
    if importlib.util.find_spec("trl") is None:  # to import it takes seconds
        pytest.skip("trl is missing")
    text = printed_by("trl_rewards.py")
    assert "3 proxies, 4 epochs, 600 examples" in text
    assert share(text, "in the lowest tenth") > 80  # by chance 20
