"""The public verbs: `clean`, `prune` and `weights` read the data if need be, and decide."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.select.rules import RECOMMENDED, Rule
from dris.data.labelled import LabelledData
from dris.data.options import ReadKeywords
from dris.data.reader import read_data
from dris.learn.engines.engine import Engine
from dris.learn.engines.processes import Progress
from dris.learn.store.run_store import Store
from dris.pipeline.decision import Decision, check_weighting
from dris.pipeline.route import decide
from dris.pipeline.settings import Settings


class Options(ReadKeywords, total=False):
    """What every verb takes besides its own parameters: this, and the keywords of `read_data`.

    Attributes:
        seed: Of everything random, unless `settings` hold another.
        settings: Of proxies and canaries; the defaults suit most data.
        dynamics: What a `Recorder` filled or a file holds, in place of training proxies. Its ids
            must be those of the data. There are no canaries then, and no limit.
        probabilities: Of your own cross-validated model in place of proxies: (N, C) in the order
            of `data.classes`, or a frame with a column for each. No limit, no rank variance.
        workers: Processes to train in; all cores unless given.
        device: "cpu", "cuda" or "cuda:1".
        store: Folder that keeps finished proxies.
        engine: "local" or "ray".
        progress: Called with (epochs done, epochs in all).
        check_harm: Measure whether following the decision helps; where models lose by it, drop
            nothing.
        estimator: A scikit-learn classifier to include in that measurement.
    """

    seed: int
    settings: Settings | None
    dynamics: Dynamics | None
    probabilities: Any
    workers: int | None
    device: str
    store: Store | str | Path | None
    engine: Engine | str
    progress: Progress | None
    check_harm: bool
    estimator: Any


def clean(data: Any, y: Any = None, *, fix: bool = False, **options: Unpack[Options]) -> Decision:
    """Drop the labels that look wrong, and only those.

    Args:
        data: What `dris.read_data` takes or returns: a path, a frame, arrays, a data set.
        y: The labels of arrays and lists, one a row.
        fix: Keep a suspect with its suggested label where the proxies are sure of that
            (`decision.labels`); no limit covers a changed label.
        **options: Of training and of the harm check (see `Options`), and of `dris.read_data`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> x = rng.normal(size=(400, 3)) + 4 * y[:, None]
    >>> given = np.where(np.arange(400) < 40, 1 - y, y)  # a tenth is wrong
    >>> decision = clean(x, given, workers=1)
    >>> bool((given != y)[decision.kept].mean() < 0.02)
    True
    """
    source, how = _prepare("clean", data, y, options)
    return decide(source, fix=fix, **how)


def prune(
    data: Any,
    y: Any = None,
    *,
    keep: float,
    rule: str | Rule = RECOMMENDED,
    **options: Unpack[Options],
) -> Decision:
    """Keep a share of the examples, those most worth training on.

    Args:
        data: What `dris.read_data` takes or returns: a path, a frame, arrays, a data set.
        y: The labels of arrays and lists, one a row.
        keep: α, the largest share of the examples to keep.
        rule: "recommended" for the data, a name in `dris.RULES`, or a `dris.Rule`.
        **options: Of training and of the harm check (see `Options`), and of `dris.read_data`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> decision = prune(rng.normal(size=(400, 3)) + y[:, None], y, keep=0.25, workers=1)
    >>> decision.kept.size <= 100
    True
    """
    source, how = _prepare("prune", data, y, options)
    return decide(source, keep=keep, rule=rule, **how)


def weights(
    data: Any,
    y: Any = None,
    *,
    score: str = "rank_variance",
    smoothing: float = 0.1,
    exponent: float = 1.0,
    **options: Unpack[Options],
) -> Decision:
    """Weight the examples by a score instead of dropping any (paper, eq. 7).

    The decision is that of `clean`; its `weighting` says how often to draw each example and how
    much it counts. Canaries get 0 and 0, for their labels were flipped.

    Args:
        data: What `dris.read_data` takes or returns: a path, a frame, arrays, a data set.
        y: The labels of arrays and lists, one a row.
        score: One of `dris.SCORES`.
        smoothing: ξ, towards uniform draws.
        exponent: Of the weights: 1 is unbiased, 0 counts every draw alike.
        **options: Of training and of the harm check (see `Options`), and of `dris.read_data`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> x = rng.normal(size=(400, 3)) + y[:, None]
    >>> decision = weights(x, y, workers=1, check_harm=False)
    >>> decision.weighting.probabilities.sum().round(6)
    np.float64(1.0)
    """
    check_weighting(score, smoothing=smoothing, exponent=exponent)
    source, how = _prepare("weights", data, y, options)
    decision = decide(source, **how)
    weighting = decision.weigh(score, smoothing=smoothing, exponent=exponent, of="all")
    return replace(decision, weighting=weighting)


_READING = frozenset(ReadKeywords.__annotations__)
_DECIDING = frozenset(Options.__annotations__) - _READING


def _prepare(
    verb: str, data: Any, y: Any, options: Mapping[str, Any]
) -> tuple[LabelledData, dict[str, Any]]:
    """Read the data unless that is done, and return the options that are left for `decide`."""
    unknown = sorted(set(options) - _READING - _DECIDING)
    if unknown:
        raise TypeError(f"dris.{verb} has no parameter {', '.join(unknown)}")
    reading = {name: value for name, value in options.items() if name in _READING}
    deciding = {name: value for name, value in options.items() if name in _DECIDING}
    if not isinstance(data, LabelledData):
        return read_data(data, y, **reading), deciding
    if reading or y is not None:
        given = ", ".join(sorted(reading)) or "y"
        raise InputError(f"the data is read already; pass {given} to dris.read_data instead")
    return data, deciding
