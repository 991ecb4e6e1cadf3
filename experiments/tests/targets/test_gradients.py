import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dris import InputError  # noqa: E402
from experiments.dris_internals import Recipe, attacker_norms  # noqa: E402
from experiments.dris_torch import TensorSource, build_model  # noqa: E402
from experiments.targets.gradients import attack_all_weights, gradient_norms  # noqa: E402


def test_norms_over_all_weights_are_those_of_one_backward_pass_each():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 255, (70, 3, 8, 8), dtype=np.uint8), rng.integers(0, 4, 70)
    model = build_model("small_cnn", (3, 8, 8), 4, seed=0)
    norms = gradient_norms(model, x, y)
    source = TensorSource(x, torch.device("cpu"))
    for at, batch in enumerate(source.batches([np.array([i]) for i in range(3)])):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(batch), torch.tensor(y[at : at + 1])).backward()
        squares = sum(float(p.grad.square().sum()) for p in model.parameters())
        assert norms[at] == pytest.approx(squares**0.5, rel=1e-4)


def test_the_attacker_reads_the_last_layer_or_all_weights():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 5)).astype(np.float32), np.arange(40) % 2
    how = {"model": "fc", "recipe": Recipe(1, 128, 0.05), "seed": 0}
    last, every = attacker_norms(x, y, **how), attack_all_weights(x, y, **how)
    assert last.shape == every.shape == (40,)
    assert (last != every).any()
    with pytest.raises(InputError, match="needs a network"):
        attack_all_weights(x, y, **{**how, "model": "sgd_log"})
