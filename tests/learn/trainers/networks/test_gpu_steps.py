"""Steps on a GPU that is not there: what is copied to it, when it is looked at."""

from contextlib import nullcontext

import pytest

from oracles_networks import images

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils._pytree import tree_leaves  # noqa: E402

from dris.learn.recipe import Recipe  # noqa: E402
from dris.learn.trainers.networks import loop  # noqa: E402
from dris.learn.trainers.networks.loop import Network  # noqa: E402
from dris.learn.trainers.networks.sources import TensorSource  # noqa: E402

# A device without memory stands for a GPU: it takes copies, and nothing can be read from it.
META = torch.device("meta")


class Copies(TorchDispatchMode):
    """Counts what reads a tensor of the host and gives one of the device."""

    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        read, given = (
            {t.device.type for t in tree_leaves(each) if isinstance(t, torch.Tensor)}
            for each in ((args, kwargs), out)
        )
        self.count += "cpu" in read and "meta" in given
        return out


def followed(monkeypatch, batch, source=None, **how):
    """Copies to the device in an epoch of 90 images, and the steps after which it was looked at."""
    x, y = images(n=90, size=12)
    recipe = Recipe(1, batch, 0.1, **how)
    source = (source or TensorSource)(x, META)
    trained = Network("linear", source, y, 3, recipe, seed=0, stream=("x",), device=META)
    looked = []

    def look(losses, epoch, step):
        looked.append(step)
        losses.clear()
        return 0.0

    monkeypatch.setattr(loop, "_sum_of_finite", look)
    monkeypatch.setattr(trained, "_precision", nullcontext)  # no autocast for such a device
    with Copies() as copies:
        trained.train_epoch(1)
    return copies.count, looked


class StepByStep(TensorSource):
    """The twin: positions moved batch by batch."""

    def batches(self, positions):
        for at in positions:
            yield from super().batches([at])


@pytest.mark.parametrize(("augment", "copies"), [(True, 3), (False, 2)])
def test_what_an_epoch_needs_is_moved_to_a_gpu_at_once_however_many_steps_it_has(
    monkeypatch, augment, copies
):
    for batch, steps in ((45, 2), (2, 45)):
        assert followed(monkeypatch, batch, augment=augment)[0] == copies
        twin = followed(monkeypatch, batch, StepByStep, augment=augment)[0]
        assert twin == copies - 1 + steps


def test_a_gpu_is_looked_at_every_32_steps_and_at_the_end(monkeypatch):
    assert followed(monkeypatch, 2)[1] == [32, 45]
    monkeypatch.setattr(loop, "_STEPS_UNSEEN", 1)  # the twin
    assert followed(monkeypatch, 2)[1] == list(range(1, 46))
