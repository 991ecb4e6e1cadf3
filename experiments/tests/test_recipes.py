"""The paper's recipes have the numbers of its appendix, and say which of theirs are not in it."""

import pytest

from experiments import recipes
from experiments.dris_internals import Recipe
from experiments.questions import OPEN, questions
from experiments.results.publish import ROOT

STATED = ("epochs", "batch_size", "learning_rate", "weight_decay")
# These as the appendix states them; None: not stated there.
APPENDIX = {
    "CIFAR_PROXY": (40, 128, 0.05, 5e-4),
    "CIFAR_ATTACKER": (20, None, None, None),
    "CIFAR10_TARGET": (160, 128, 0.1, 5e-4),
    "CIFAR100_TARGET": (200, 128, 0.1, 5e-4),
    "MNIST_PROXY": (10, None, 0.05, 5e-4),
    "FOOD_PROBE": (6, 4096, 0.01, 1e-4),
    "FOOD_TARGET_NATURAL": (50, 64, 0.01, 1e-4),
    "FOOD_TARGET_ATTACKED": (25, 64, 0.01, 1e-4),
    "RHO_REFERENCE": (30, None, None, None),
}


@pytest.mark.parametrize("name", sorted(APPENDIX))
def test_the_papers_recipes_are_those_of_its_appendix(name):
    result = getattr(recipes, name)
    told = recipes.ATTRIBUTIONS[name]
    assert told.recipe == result
    for field, stated in zip(STATED, APPENDIX[name], strict=True):
        assert stated is None or getattr(result, field) == stated
        assert (field in told.stated) == (stated is not None)
    # Every field is either stated, with its place, or inferred, with a reason.
    assert sorted([*told.stated, *told.inferred]) == sorted(recipes.FIELDS)
    assert all([told.place, *told.inferred.values()])
    assert result.momentum == 0.9
    assert result.mixed_precision


def test_every_named_recipe_is_checked_and_augmentation_is_stated_of_none():
    named = {n for n, value in vars(recipes).items() if isinstance(value, Recipe)}
    assert named == set(APPENDIX) == set(recipes.ATTRIBUTIONS)
    assert not any("augment" in told.stated for told in recipes.ATTRIBUTIONS.values())


def test_every_unstated_setting_is_a_question():
    text = questions()
    for name, told in recipes.ATTRIBUTIONS.items():
        for field in told.inferred:
            assert f"| `{name}` | {field} |" in text
    pages = {page.name[:2] for page in (ROOT / "docs/decisions").glob("*.md")}
    assert {page for _, _, page in OPEN} <= pages


def test_the_papers_scored_epochs():
    assert recipes.CIFAR_PROXY.scored == 20
    assert recipes.FOOD_PROBE.scored == 5
    # The attacker's norms are those of the trained model.
    assert recipes.CIFAR_ATTACKER.scored == recipes.CIFAR_ATTACKER.stop == 20


def test_features_and_digits_are_not_augmented():
    assert not recipes.FOOD_PROBE.augment
    assert not recipes.MNIST_PROXY.augment
    assert recipes.CIFAR_PROXY.augment
