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
    from dris.core.dynamics.dynamics import Dynamics as Dynamics
    from dris.core.errors import InputError as InputError
    from dris.core.noise.canaries import plant_canaries as plant_canaries
    from dris.core.noise.flips import flip_labels as flip_labels
    from dris.core.scores.formulas import SCORES as SCORES
    from dris.core.scores.ranks import normalized_ranks as normalized_ranks
    from dris.core.scores.ranks import rank_variance as rank_variance
    from dris.core.select.importance import importance as importance
    from dris.core.select.rules import RULES as RULES
    from dris.core.select.rules import Rule as Rule
    from dris.core.select.selection import keep_top as keep_top
    from dris.data.labelled import LabelledData as LabelledData
    from dris.data.reader import read_data as read_data
    from dris.integrations.sklearn import RobustClassifier as RobustClassifier
    from dris.integrations.sklearn import RobustSelector as RobustSelector
    from dris.learn.attack import targeted_noise as targeted_noise
    from dris.learn.proxies import train_proxies as train_proxies
    from dris.learn.record.recorder import Recorder as Recorder
    from dris.learn.trainers.networks.samplers import ImportanceSampler as ImportanceSampler
    from dris.pipeline.decision import Decision as Decision
    from dris.pipeline.route import check as check
    from dris.pipeline.route import clean as clean
    from dris.pipeline.route import prune as prune
    from dris.pipeline.route import weights as weights
    from dris.pipeline.settings import Settings as Settings
    from dris.report_page.page import report as report
    from dris.review_app.review import review as review

__version__ = "0.1.0"

_HOMES = {
    "Decision": "dris.pipeline.decision",
    "Dynamics": "dris.core.dynamics.dynamics",
    "ImportanceSampler": "dris.learn.trainers.networks.samplers",
    "InputError": "dris.core.errors",
    "LabelledData": "dris.data.labelled",
    "RULES": "dris.core.select.rules",
    "Recorder": "dris.learn.record.recorder",
    "RobustClassifier": "dris.integrations.sklearn",
    "RobustSelector": "dris.integrations.sklearn",
    "Rule": "dris.core.select.rules",
    "SCORES": "dris.core.scores.formulas",
    "Settings": "dris.pipeline.settings",
    "certify": "dris.core.certify.separation",
    "check": "dris.pipeline.route",
    "clean": "dris.pipeline.route",
    "flip_labels": "dris.core.noise.flips",
    "importance": "dris.core.select.importance",
    "keep_top": "dris.core.select.selection",
    "normalized_ranks": "dris.core.scores.ranks",
    "plant_canaries": "dris.core.noise.canaries",
    "prune": "dris.pipeline.route",
    "rank_variance": "dris.core.scores.ranks",
    "read_data": "dris.data.reader",
    "report": "dris.report_page.page",
    "review": "dris.review_app.review",
    "targeted_noise": "dris.learn.attack",
    "train_proxies": "dris.learn.proxies",
    "weights": "dris.pipeline.route",
}

__all__ = sorted(_HOMES)

if importlib.util.find_spec("torch") is None:  # so that `from dris import *` works without it
    __all__.remove("ImportanceSampler")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dris' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
