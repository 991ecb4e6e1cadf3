"""Recipes: bad values, and a horizon that stopping does not move."""

import numpy as np
import pytest

from dris.core.errors import InputError
from dris.learn.recipe import Recipe

GOOD = {"epochs": 10, "batch_size": 32, "learning_rate": 0.1}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"epochs": 0}, "epochs"),
        ({"batch_size": 0}, "batch_size"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"momentum": 1.0}, "momentum"),
        ({"weight_decay": -1e-9}, "weight_decay"),
        ({"scored_epoch": 0}, "scored_epoch"),
        ({"scored_epoch": 11}, "scored_epoch"),
        ({"scored_epoch": 8, "stop_epoch": 7}, "scored_epoch"),
        ({"stop_epoch": 11}, "stop_epoch"),
    ],
)
def test_bad_values_are_refused_by_name(changed, named):
    Recipe(**GOOD)  # the twin: what is left unchanged is fine
    with pytest.raises(InputError, match=f"^{named} must"):
        Recipe(**{**GOOD, **changed})


def test_numpys_whole_numbers_become_pythons_so_that_a_recipe_is_plain_json():
    made = Recipe(
        epochs=np.int64(4),
        batch_size=np.int32(8),
        learning_rate=np.float32(0.5),
        scored_epoch=np.int64(2),
        stop_epoch=np.int64(3),
    )
    assert made == Recipe(4, 8, 0.5, scored_epoch=2, stop_epoch=3)
    for value in (made.epochs, made.batch_size, made.scored_epoch, made.stop_epoch):
        assert type(value) is int
    assert type(made.learning_rate) is float


@pytest.mark.parametrize(("epochs", "scored"), [(1, 1), (2, 1), (3, 2), (10, 5), (40, 20)])
def test_half_of_the_epochs_is_scored_unless_given(epochs, scored):
    assert Recipe(epochs, 8, 0.1).scored == scored


def test_stopping_early_keeps_the_scored_epoch_within_what_is_trained():
    assert Recipe(40, 8, 0.1, stop_epoch=20).scored == 20
    assert Recipe(40, 8, 0.1, stop_epoch=5).scored == 5
    assert Recipe(40, 8, 0.1).stop == 40


def test_stopping_at_the_scored_epoch_does_not_move_the_cosine():
    pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')
    from dris.learn.trainers.networks.loop import cosine

    long, short = Recipe(40, 8, 0.05), Recipe(40, 8, 0.05, stop_epoch=20)
    rates = [[cosine(r, step, 400) for step in range(200)] for r in (long, short)]
    assert rates[0] == rates[1]
    # After half of all steps half of the rate is left: the horizon is 40, not 20.
    assert cosine(short, 200, 400) == pytest.approx(0.025)
