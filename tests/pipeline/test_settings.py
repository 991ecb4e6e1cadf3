"""Everything that decides the result beside the data: what it is by itself, what is refused."""

import pytest

from dris.core.errors import InputError
from dris.pipeline.settings import DEFAULTS, Settings


def test_what_is_documented_is_what_nobody_has_to_ask_for():
    assert Settings() == DEFAULTS
    asked = (DEFAULTS.proxies, DEFAULTS.epochs, DEFAULTS.folds, DEFAULTS.scored_epoch)
    assert asked == (3, 20, 4, None)
    assert (DEFAULTS.models, DEFAULTS.seed, DEFAULTS.matrix) == ((), 0, None)
    assert (DEFAULTS.canaries, DEFAULTS.share, DEFAULTS.at_most) == (("uniform",), 0.04, 0.5)


@pytest.mark.parametrize(
    "edge",
    [
        {"proxies": 2},
        {"epochs": 1},
        {"folds": 2},
        {"folds": None},
        {"scored_epoch": 1},
        {"scored_epoch": 20},
        {"at_most": 0.5},
        {"at_most": 1e-6},
        {"canaries": ()},
        {"canaries": ("uniform", "confusable")},
        {"canaries": ("matrix",), "matrix": ((0.5, 0.5), (0.5, 0.5))},
    ],
)
def test_every_edge_is_taken(edge):
    made = Settings(**edge)
    assert {name: getattr(made, name) for name in edge} == edge


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"proxies": 1}, "`proxies` must be at least 2"),
        ({"proxies": 10_001}, "`proxies` must be at most 10,000"),
        ({"epochs": 0}, "`epochs` must be at least 1"),
        ({"epochs": 10**400}, "`epochs` must be at most 100,000"),
        ({"folds": 1}, "`folds` must be at least 2"),
        ({"scored_epoch": 0}, "`scored_epoch` must be in 1..20"),
        ({"scored_epoch": 21}, "`scored_epoch` must be in 1..20"),
        ({"at_most": 0}, "`at_most` must be in"),
        ({"at_most": 0.51}, "`at_most` must be in"),
        ({"canaries": ("uniform", "uniform")}, "different kinds of"),
        ({"canaries": ("nothing",)}, "different kinds of"),
        ({"canaries": ("matrix",)}, "go together"),
        ({"matrix": ((1.0,),)}, "go together"),
    ],
)
def test_one_step_beyond_is_refused(wrong, says):
    with pytest.raises(InputError, match=says):
        Settings(**wrong)


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(InputError, match=r"2 problems: .*`proxies`.*`folds`"):
        Settings(proxies=1, folds=1)
