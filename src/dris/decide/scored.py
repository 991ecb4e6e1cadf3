"""From a user's data to dynamics with canaries in them: what every command about data begins with.

Canaries are planted first, in the given labels that nobody vouches for; the proxies then train on
the planted labels and never see the others.
"""

import importlib.util
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.data_limit import CorruptionLimit, corruption_limit
from dris.core.certify.subset_limit import ContaminationLimit, contamination_limit
from dris.core.checks import checked_count
from dris.core.choose.rules import choose
from dris.core.choose.selection import Subset
from dris.core.dynamics.history import Dynamics
from dris.core.errors import InputError
from dris.core.judge.judgement import Judgement, judge
from dris.core.noise.canaries import KINDS, Canaries, plant_canaries
from dris.core.scores.formulas import SCORES, aum_mean
from dris.core.scores.suggestions import pilot_views, suggested_labels
from dris.core.streams import rng_for
from dris.data.labelled import LabelledData
from dris.learn.proxies import train_proxies
from dris.learn.run.engine import Engine
from dris.learn.run.processes import Progress
from dris.learn.store.run_store import Store

LARGE = 5_000_000  # values per column (K·E·N) above which only the scored epoch is kept
LINEAR_FROM = 200_000  # examples above which tables get linear proxies unless others are named
ENOUGH, MOST_SHARE = 290, 0.1  # canaries of a kind on small data, but never more than this share
_PILOTED = ("hard", "confusable")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides the result, beside the data.

    Attributes:
        proxies: K.
        epochs: Passes over the data; proxies are scored after half of them.
        models: Names of models, or classifiers of scikit-learn, dealt out to the proxies; chosen
            by the data when empty. A recipe can hold names only.
        seed: Of every random stream.
        canaries: Kinds of canaries, the first one for the checks; no certificate without any.
        matrix: Of the kind "matrix": the share of each true class (row) given each label.
        share: Of the labels that become canaries of each kind; up to 0.1 on small data, so that
            a gate can be set.
        at_most: A share of wrong labels that is surely not exceeded; certificates assume it.
    """

    proxies: int = 3
    epochs: int = 20
    models: tuple[Any, ...] = ()
    seed: int = 0
    canaries: tuple[str, ...] = ("uniform",)
    matrix: tuple[tuple[float, ...], ...] | None = None
    share: float = 0.04
    at_most: float = 0.5

    def __post_init__(self) -> None:
        checked_count(self.proxies, "proxies", at_least=2)
        checked_count(self.epochs, "epochs", at_least=1)
        if not 0 < self.at_most <= 0.5:
            raise InputError(f"at_most must be in (0, 0.5], got {self.at_most}")
        if len(set(self.canaries) & set(KINDS)) < len(self.canaries):
            known = ", ".join(KINDS)
            raise InputError(f"canaries must be different kinds of {known}, got {self.canaries}")
        if ("matrix" in self.canaries) != (self.matrix is not None):
            raise InputError("canaries of kind matrix and a matrix go together; pass both")


DEFAULTS = Settings()


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Data, the dynamics of proxies that trained on its planted labels, and the canaries.

    Attributes:
        data: As it was read.
        dynamics: Of K proxies, with each label's rival.
        canaries: One entry per kind; empty when none were planted.
        settings: What was asked for, with the models that were chosen.
        notes: What the user should know, a sentence each.
    """

    data: LabelledData
    dynamics: Dynamics
    canaries: tuple[Canaries, ...]
    settings: Settings
    notes: tuple[str, ...] = ()

    @property
    def trained(self) -> int:
        """How many proxies finished for this, those of a pilot included."""
        kinds = [kind.kind for kind in self.canaries]
        pilots = self.settings.proxies if any(kind in _PILOTED for kind in kinds) else 0
        return self.dynamics.proxies + pilots

    def planted(self) -> NDArray[np.bool_]:
        """True for every canary of any kind."""
        mask = np.zeros(len(self.data), dtype=np.bool_)
        for kind in self.canaries:
            mask |= kind.mask()
        return mask

    def suggested(self) -> NDArray[np.int64]:
        """The label that the proxies would give each example."""
        return suggested_labels(self.dynamics)

    def scores(self) -> dict[str, NDArray[np.float64]]:
        """Every score that these dynamics can give, by name."""
        return scores_of(self.dynamics)

    def choose(self, rule: str, keep: float) -> Subset:
        """What a rule keeps of ⌊αN⌋, canaries included: it is blind to those that certify."""
        choosing = None
        if self.canaries:
            choosing = np.zeros(len(self.data), dtype=np.bool_)
            choosing[self.canaries[0].choosing.positions] = True
        return choose(rule, self.dynamics, keep=keep, choosing=choosing, seed=self.settings.seed)

    def judge(self, keep: float) -> Judgement:
        """The verdict on this data and these proxies."""
        if not self.canaries:
            raise InputError(
                "a verdict needs canaries, and none were planted before these proxies trained; "
                "leave out --from and --canaries none"
            )
        return judge(
            self.dynamics,
            self.canaries,
            keep=keep,
            at_most=self.settings.at_most,
            seed=self.settings.seed,
        )

    def kept(self, subset: Subset) -> NDArray[np.int64]:
        """Positions worth training on: the subset without canaries, and all that is trusted."""
        mask = subset.mask() & ~self.planted()
        return np.flatnonzero(mask | self.data.trusted)

    def corruption(self, *, delta: float = 0.025) -> tuple[CorruptionLimit, ...]:
        """The limit on wrong labels in the data, one per kind of canaries."""
        if not self.canaries:
            return ()
        score, most = aum_mean(self.dynamics), self.settings.at_most
        return tuple(
            corruption_limit(score, kind.certifying, delta=delta, at_most=most)
            for kind in self.canaries
        )

    def certificates(
        self,
        subset: Subset,
        *,
        corruption: Sequence[CorruptionLimit] | None = None,
        delta: float = 0.05,
    ) -> tuple[ContaminationLimit, ...]:
        """The limit on wrong labels left in a subset as chosen, one per kind of canaries.

        `corruption` saves work when many subsets are certified: `corruption(delta=delta / 2)`.
        """
        limits = self.corruption(delta=delta / 2) if corruption is None else corruption
        found = []
        for kind, most in zip(self.canaries, limits, strict=True):
            others = self.planted() & ~kind.mask()
            own = replace(subset, indices=subset.indices[~others[subset.indices]], tied=0)
            found.append(contamination_limit(own, kind.certifying, most, delta=delta))
        return tuple(found)

    def recipe(self) -> dict[str, Any]:
        """Everything needed to do it again, as values that JSON can hold."""
        from dris import __version__

        return {
            "dris": __version__,
            "data": self.data.to_dict(),
            "settings": asdict(self.settings),
            "proxies": list(self.dynamics.provenance.get("proxies", [])),
            "notes": list(self.notes),
        }


def scores_of(dynamics: Dynamics) -> dict[str, NDArray[np.float64]]:
    """Every score that these dynamics can give, by name, each read-only.

    >>> list(scores_of(Dynamics.from_losses([[1.0, 2.0], [1.5, 3.0]])))
    ['rank_variance', 'consensus', 'loss', 'self_confidence', 'random']
    """
    found = {}
    for name, score in SCORES.items():
        try:
            found[name] = score(dynamics)
        except InputError:  # needs a column that was not recorded
            continue
        found[name].flags.writeable = False  # so that a score file need not copy it
    return found


def scored_from(data: LabelledData, dynamics: Dynamics, settings: Settings = DEFAULTS) -> Scored:
    """Dynamics that somebody else recorded on this data, in the order of the data; no canaries.

    >>> data = LabelledData.of(np.eye(2), [0, 1], classes=("a", "b"), ids=["p", "q"])
    >>> loss = Dynamics.from_losses([[1.0, 2.0], [1.5, 3.0]], ids=["q", "p"])
    >>> scored_from(data, loss).dynamics.loss[:, 0].tolist()
    [[2.0, 1.0], [3.0, 1.5]]
    """
    own, wanted = dynamics.ids, data.ids
    same_kind = own.dtype.kind == wanted.dtype.kind and own.size == wanted.size
    if not (same_kind and np.array_equal(np.sort(own), np.sort(wanted))):
        raise InputError(
            f"the imported dynamics are of {own.size} examples, such as {own[0]}, and the data has "
            f"{wanted.size}, such as {wanted[0]}; name the data's column of the same ids with --id"
        )
    order = np.argsort(own)[np.argsort(np.argsort(wanted))]
    columns = {name: column[:, :, order] for name, column in dynamics.columns.items()}
    ours = replace(dynamics, columns=columns, ids=wanted, labels=data.labels)
    chosen = replace(settings, proxies=max(2, dynamics.proxies), canaries=())
    return Scored(data, ours, (), chosen, (*data.notes, "dynamics were imported: no certificate"))


def score_data(
    data: LabelledData,
    settings: Settings = DEFAULTS,
    *,
    workers: int | None = None,
    device: str = "cpu",
    store: Store | str | Path | None = None,
    progress: Progress | None = None,
    engine: Engine | str = "local",
) -> Scored:
    """Plant canaries, train proxies on the planted labels, and hold on to both.

    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> data = LabelledData.of(rng.normal(size=(400, 3)) + 4 * y[:, None], y, classes=("a", "b"))
    >>> scored = score_data(data, Settings(epochs=4, models=("sgd_log",)), workers=1)
    >>> len(scored.canaries[0]), len(scored.choose("rank_variance", 0.5))
    (40, 200)
    """
    models, notes = _models(data, settings)
    chosen = replace(settings, models=models)
    piloted = [kind for kind in chosen.canaries if kind in _PILOTED]
    how: dict[str, Any] = {
        "proxies": chosen.proxies,
        "epochs": chosen.epochs,
        "model": list(models),
        "classes": len(data.classes),
        "ids": data.ids,
        "rival": True,
        "workers": workers,
        "device": device,
        "store": store,
        "engine": engine,
    }
    if chosen.proxies * chosen.epochs * len(data) > LARGE:
        how["record"] = "scored"
    if len(data) > LINEAR_FROM and models == ("sgd_log",):
        how["batch_size"] = 1024  # an SGDClassifier steps once per row whatever the batch
    x = data.x
    half = _share(progress, 2, 0) if piloted else progress
    pilot = None
    if piloted:
        pilot = train_proxies(x, data.labels, seed=chosen.seed + 1, progress=half, **how)
        half = _share(progress, 2, 1)
    planted = _planted(data, chosen, pilot)
    labels = planted[-1].planted if planted else data.labels
    dynamics = train_proxies(x, labels, seed=chosen.seed, progress=half, **how)
    return Scored(data, dynamics, planted, chosen, (*data.notes, *notes))


def _planted(
    data: LabelledData, settings: Settings, pilot: Dynamics | None
) -> tuple[Canaries, ...]:
    """Canaries of every kind, one after the other, none on another or on a trusted label."""
    found: list[Canaries] = []
    labels, avoid = data.labels, np.array(data.trusted)
    for kind in settings.canaries:
        given: dict[str, Any] = {}
        if pilot is not None and kind in _PILOTED:
            gap, top_two = pilot_views(pilot)
            given = {"top_two": top_two} if kind == "confusable" else {"gap": gap, "hardest": 0.25}
        if kind == "matrix":
            given = {"matrix": settings.matrix}
        canaries = plant_canaries(
            labels,
            share=_share_for(settings, int((~avoid).sum())),
            kind=kind,
            rng=rng_for(settings.seed, "canaries", kind),
            classes=len(data.classes),
            avoid=avoid if avoid.any() else None,
            **given,
        )
        found.append(canaries)
        labels, avoid = canaries.planted, avoid | canaries.mask()
    return tuple(found)


def _share_for(settings: Settings, places: int) -> float:
    """The share asked for; on small data more, so that a few stray canaries do not set the gate."""
    return max(settings.share, min(MOST_SHARE, ENOUGH / places)) if places else settings.share


def _models(data: LabelledData, settings: Settings) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """The models named, or those that suit the data, and a sentence where that was a choice."""
    if settings.models:
        return settings.models, ()
    if data.x.ndim == 4:
        if importlib.util.find_spec("torch") is not None:
            return ("small_cnn",), ()
        return ("mlp",), (
            "torch is not installed, so the proxies read pixels as a table; "
            "pip install 'dris[torch]' gives them small CNNs",
        )
    if len(data) > LINEAR_FROM:
        return ("sgd_log",), (f"more than {LINEAR_FROM:,} rows: linear proxies, see --model",)
    return ("mlp",), ()


def _share(progress: Progress | None, parts: int, part: int) -> Progress | None:
    """The progress of one of several equal parts."""
    if progress is None:
        return None

    def told(done: int, total: int) -> None:
        progress(part * total + done, parts * total)

    return told
