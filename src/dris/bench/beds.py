"""The beds of the experiments that leave the shared grid, by scale."""

from dris.bench.scales import SCALES, Bed
from dris.bench.spec import Ensemble, Source, Target
from dris.learn.recipe import Recipe


def _hinge(epochs: int) -> Recipe:
    return Recipe(epochs, 1, 0.01, momentum=0.0, weight_decay=0.1, augment=False)


def _synthetic(examples: int, tests: int, epochs: int) -> Bed:
    how = _hinge(epochs)
    return Bed(
        "Synthetic",
        Source("hyperplane", examples, tests),
        Ensemble(("hinge",), 4, how, "hinge", how),
        Target("hinge", how),
    )


SYNTHETIC = {
    "smoke": _synthetic(100, 200, 2),
    "cpu": _synthetic(2_000, 1_000, 200),
    "paper": _synthetic(2_000, 1_000, 200),
}


def _plain(epochs: int, *, last: bool = False) -> Recipe:
    return Recipe(epochs, 128, 0.05, scored_epoch=epochs if last else None, augment=False)


ONLINE = {
    "smoke": Bed(
        "Digits",
        Source("digits", 200, 100),
        Ensemble(("linear", "fc"), 2, _plain(2), "linear", _plain(1, last=True)),
        Target("linear", _plain(3)),
    ),
    "cpu": Bed(
        "Fashion-MNIST",
        Source("fashion-mnist", 10_000, 5_000),
        Ensemble(
            ("linear", "fc", "small_cnn"), 3, _plain(10), "small_cnn", _plain(5, last=True)
        ),
        Target("fc", _plain(40)),
    ),
    "paper": SCALES["paper"].beds[0],
}
