"""The paper's recipes have the numbers of its appendix."""

import pytest

from experiments import recipes
from experiments.dris_internals import Recipe

# (epochs, batch, learning rate, weight decay) as the appendix states them; None: not stated there.
APPENDIX = {
    "PAPER_CIFAR_PROXY": (40, 128, 0.05, 5e-4),
    "PAPER_CIFAR_ATTACKER": (20, None, None, None),
    "PAPER_CIFAR10_TARGET": (160, 128, 0.1, 5e-4),
    "PAPER_CIFAR100_TARGET": (200, 128, 0.1, 5e-4),
    "PAPER_MNIST_PROXY": (10, None, 0.05, 5e-4),
    "PAPER_FOOD_PROBE": (6, 4096, 0.01, 1e-4),
    "PAPER_FOOD_TARGET_NATURAL": (50, 64, 0.01, 1e-4),
    "PAPER_FOOD_TARGET_ATTACKED": (25, 64, 0.01, 1e-4),
}


@pytest.mark.parametrize("name", sorted(APPENDIX))
def test_the_papers_recipes_are_those_of_its_appendix(name):
    result = getattr(recipes, name)
    values = (result.epochs, result.batch_size, result.learning_rate, result.weight_decay)
    for mine, stated in zip(values, APPENDIX[name], strict=True):
        assert stated is None or mine == stated
    assert result.momentum == 0.9
    assert result.mixed_precision


def test_every_named_recipe_is_checked_against_the_appendix():
    named = {n for n, value in vars(recipes).items() if isinstance(value, Recipe)}
    assert named == set(APPENDIX)


def test_the_papers_scored_epochs():
    assert recipes.PAPER_CIFAR_PROXY.scored == 20
    assert recipes.PAPER_FOOD_PROBE.scored == 5
    # The attacker's norms are those of the trained model.
    assert recipes.PAPER_CIFAR_ATTACKER.scored == recipes.PAPER_CIFAR_ATTACKER.stop == 20


def test_features_and_digits_are_not_augmented():
    assert not recipes.PAPER_FOOD_PROBE.augment
    assert not recipes.PAPER_MNIST_PROXY.augment
    assert recipes.PAPER_CIFAR_PROXY.augment
