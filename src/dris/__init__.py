"""Choose what to train on when the labels cannot be trusted.

The names below are the whole public surface; each is imported when first used, so that
`import dris` stays fast and the base install needs no torch.

>>> import dris
>>> losses = [[0.1, 0.2, 0.9, 0.4], [0.9, 0.2, 0.8, 0.1], [0.5, 0.1, 0.9, 0.2]]
>>> score = dris.rank_variance(losses)
>>> dris.keep_top(score, fraction=0.5).indices.tolist()
[0, 3]
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dris.core.certify.separation import certify as certify
    from dris.core.choose.importance import importance as importance
    from dris.core.choose.selection import keep_top as keep_top
    from dris.core.dynamics.history import Dynamics as Dynamics
    from dris.core.errors import InputError as InputError
    from dris.core.judge.judgement import judge as judge
    from dris.core.noise.canaries import plant_canaries as plant_canaries
    from dris.core.noise.flips import flip_labels as flip_labels
    from dris.core.scores.formulas import SCORES as SCORES
    from dris.core.scores.ranks import normalized_ranks as normalized_ranks
    from dris.core.scores.ranks import rank_variance as rank_variance
    from dris.data.reader import read_data as read_data
    from dris.decide.decision import Decision as Decision
    from dris.decide.route import decide as decide
    from dris.decide.settings import Settings as Settings
    from dris.integrations.sklearn import RobustClassifier as RobustClassifier
    from dris.integrations.sklearn import RobustSelector as RobustSelector
    from dris.learn.attack import targeted_noise as targeted_noise
    from dris.learn.networks.samplers import ImportanceSampler as ImportanceSampler
    from dris.learn.online import train_online as train_online
    from dris.learn.proxies import train_proxies as train_proxies
    from dris.learn.record.recorder import Recorder as Recorder
    from dris.learn.targets import train_target as train_target
    from dris.report.decision_page import report as report

__version__ = "0.1.0"

_HOMES = {
    "Decision": "dris.decide.decision",
    "Dynamics": "dris.core.dynamics.history",
    "ImportanceSampler": "dris.learn.networks.samplers",
    "InputError": "dris.core.errors",
    "Recorder": "dris.learn.record.recorder",
    "RobustClassifier": "dris.integrations.sklearn",
    "RobustSelector": "dris.integrations.sklearn",
    "SCORES": "dris.core.scores.formulas",
    "Settings": "dris.decide.settings",
    "certify": "dris.core.certify.separation",
    "decide": "dris.decide.route",
    "flip_labels": "dris.core.noise.flips",
    "importance": "dris.core.choose.importance",
    "judge": "dris.core.judge.judgement",
    "keep_top": "dris.core.choose.selection",
    "normalized_ranks": "dris.core.scores.ranks",
    "plant_canaries": "dris.core.noise.canaries",
    "rank_variance": "dris.core.scores.ranks",
    "read_data": "dris.data.reader",
    "report": "dris.report.decision_page",
    "targeted_noise": "dris.learn.attack",
    "train_online": "dris.learn.online",
    "train_proxies": "dris.learn.proxies",
    "train_target": "dris.learn.targets",
}

__all__ = [
    "SCORES",
    "Decision",
    "Dynamics",
    "ImportanceSampler",
    "InputError",
    "Recorder",
    "RobustClassifier",
    "RobustSelector",
    "Settings",
    "certify",
    "decide",
    "flip_labels",
    "importance",
    "judge",
    "keep_top",
    "normalized_ranks",
    "plant_canaries",
    "rank_variance",
    "read_data",
    "report",
    "targeted_noise",
    "train_online",
    "train_proxies",
    "train_target",
]

if importlib.util.find_spec("torch") is None:  # so that `from dris import *` works without it
    __all__.remove("ImportanceSampler")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dris' has no attribute {name!r}")
    home = _HOMES[name]
    # `dris.decide` and `dris.report` are packages that can be called.
    own = home.split(".")[1] == name
    value = importlib.import_module(f"dris.{name}" if own else home)
    value = value if own else getattr(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
