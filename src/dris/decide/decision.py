"""What to do about each example and why: the noun that every door shows, and the way to it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.data_limit import CorruptionLimit
from dris.core.certify.subset_limit import ContaminationLimit, widest
from dris.core.choose.importance import Importance, importance
from dris.core.choose.rules import CLEAN, LEAN, RECOMMENDED, rule_of
from dris.core.choose.selection import Subset
from dris.core.dynamics.frames import FrameKind, frame_of
from dris.core.dynamics.history import Dynamics
from dris.core.errors import InputError, meant
from dris.core.frozen import read_only
from dris.core.judge.judgement import TOO_GOOD, Judgement, judge
from dris.core.judge.wrong_share import WrongShare, wrong_share
from dris.core.large.mapped import let_go
from dris.core.notebook import plain_html
from dris.core.scores.formulas import SCORES
from dris.core.scores.suspicion import unseen_probabilities, usual_confidence
from dris.core.temporaries import temporary_folder
from dris.data.labelled import LabelledData
from dris.decide.choice import EVERYTHING, FEW, LITTLE, Choice, check_rule, choice_of
from dris.decide.harm import Harm, Kept, Relabelled, measure_harm
from dris.decide.predicted import scored_by
from dris.decide.scored import HALF, Scored, foretold, scaling, score_data, scored_from
from dris.decide.settings import Settings
from dris.decide.suspects import Suspects, suspects_of, suspicion_of
from dris.decide.unlabelled import labels_to_consider
from dris.learn.jobs import Data
from dris.learn.run.engine import Engine
from dris.learn.run.processes import Progress
from dris.learn.stacked.feature_table import as_features
from dris.learn.store.run_store import Store

# Rules that need not know what proxies learned by heart.
_OUT_OF_FOLD = (RECOMMENDED, CLEAN, LEAN)
BLIND = (
    "errors that follow the features, such as one kind of row that is always labelled wrong, look "
    "right to every model; a random audit sees them (dris audit draw)"
)
ALL_KEPT = ", so everything is kept"
FEWEST = 20  # examples; with fewer, or one class, no proxy can be trained


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What to train on, which labels to look at, and how much may still be wrong.

    Attributes:
        data: What was decided about.
        kept: Positions of the examples to train on, sorted.
        suspicion: How much each given label looks wrong, float64, larger is more.
        suspects: The labels to look at, the most suspicious first; dropped or not.
        rule: The rule that was used: "clean", where models lose by that "everything", or one of
            `dris rules`.
        keep: α as it was asked for; None to drop suspects only.
        judgement: What the canaries say of the data; None without canaries.
        limits: On wrong labels among exactly the kept, one per kind of canaries.
        corruption: On wrong labels in all of the data, likewise.
        harm: Whether following the advice helps; None where it was not measured.
        wrong: How many labels are wrong, as a range; None without folds.
        contested: Share of the kept labels that strangers find less likely than another.
        fixed: The labels with suggested ones where proxies are sure; None unless asked for.
        notes: What a person should know, a sentence each.
        short: How many fewer than asked for pass a gate.
        scored: The proxies behind it; None where there was too little data to train any.

    >>> few = LabelledData.of(np.eye(2), [0, 1], classes=("cat", "dog"))
    >>> print(decide(few))
    found  0 of 2 labels look wrong
    kept   2 of 2 by everything
    change nothing: every row stays as it is
    note   2 examples cannot show wrong labels (two classes and 50 examples are the least)
    """

    data: LabelledData
    kept: NDArray[np.int64]
    suspicion: NDArray[np.float64]
    suspects: Suspects | None
    rule: str
    keep: float | None
    judgement: Judgement | None = None
    limits: tuple[ContaminationLimit, ...] = ()
    corruption: tuple[CorruptionLimit, ...] = ()
    harm: Harm | None = None
    wrong: WrongShare | None = None
    contested: float = 0.0
    fixed: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    short: int = 0
    scored: Scored | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kept", read_only(self.kept, np.int64))
        object.__setattr__(self, "suspicion", read_only(self.suspicion, np.float64))

    def __len__(self) -> int:
        return len(self.data)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """True for the examples to train on, one entry per example."""
        mask = np.zeros(len(self.data), dtype=np.bool_)
        mask[self.kept] = True
        return mask

    @property
    def labels(self) -> NDArray[np.int64]:
        """The labels to train on, 0..C-1: the given ones, but for those that were fixed."""
        return self.data.labels if self.fixed is None else self.fixed

    @property
    def changed(self) -> NDArray[np.bool_]:
        """True where a label was fixed."""
        return np.asarray(self.labels != self.data.labels)

    @property
    def as_given(self) -> bool:
        """Whether every row stays with the label that it came with."""
        return self.kept.size == len(self.data) and self.fixed is None

    @property
    def limit(self) -> ContaminationLimit | None:
        """The widest limit of all kinds of canaries: the one to state."""
        return widest(self.limits) if self.limits else None

    @property
    def limit_says(self) -> Literal["something", "nothing", "not to be trusted"]:
        """Whether the limit is of use, and whether the data contradict its condition.

        Of no use: above the limit on all of the data, or below the share of kept labels that
        strangers contradict, for hard ones cannot be told from wrong ones. Not to be trusted:
        more is wrong at least than the limit on all of the data allows, or a check fails.
        """
        most = max((c.share for c in self.corruption), default=1.0)
        if self.limit is None or self.limit.vacuous or self.limit.share >= most:
            return "nothing"
        hides = self.judgement is not None and self.judgement.hides
        if hides or (self.wrong is not None and max(self.wrong.low, self.wrong.surest) > most):
            return "not to be trusted"
        return "nothing" if self.limit.share < self.contested else "something"

    @property
    def subset(self) -> Subset:
        """The kept rows as what every trainer takes."""
        given: dict[str, Any] = {} if self.keep is None else {"fraction": self.keep}
        return Subset(self.kept, self.rule, given, len(self.data))

    def classes(self) -> dict[str, tuple[int, int]]:
        """Of each class, how many there are and how many are kept."""
        size = len(self.data.classes)
        before = np.bincount(self.data.labels, minlength=size)
        after = np.bincount(self.data.labels[self.kept], minlength=size)
        return {
            name: (int(b), int(a))
            for name, b, a in zip(self.data.names, before, after, strict=True)
        }

    def weights(
        self,
        score: str = "rank_variance",
        *,
        smoothing: float = 0.1,
        exponent: float = 1.0,
        of: Literal["kept", "all"] = "kept",
    ) -> tuple[Importance, NDArray[np.int64]]:
        """Sampling probabilities and weights of the kept, or of all but canaries, by a score.

        Returns the plan and the positions it is over (paper, eq. 7).
        """
        if self.scored is None:
            raise InputError("no proxy trained on so little data, so that nothing can be weighted")
        if score not in SCORES:
            near = meant(score, SCORES)
            raise InputError(
                f"weights need a score, one of {', '.join(SCORES)}, got {score!r}{near}"
            )
        at = self.kept if of == "kept" else np.flatnonzero(~self.scored.planted())
        values = SCORES[score](self.scored.dynamics)[at]
        return importance(values, smoothing=smoothing, weight_exponent=exponent), at

    def at(self, keep: float) -> Choice:
        """What the same rule would keep of another share, and the limits on that."""
        if self.scored is None:
            raise InputError("no proxy trained on so little data, so that there is no other share")
        rule = "rank_variance" if self.rule == EVERYTHING else self.rule
        return choice_of(
            self.scored, self.judgement, keep=keep, rule=rule, corruption=self.corruption
        )

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain values, ready for JSON; what every command prints with --json."""
        return {
            "examples": len(self.data),
            "kept": int(self.kept.size),
            "keep": self.keep,
            "rule": self.rule,
            "short": self.short,
            "trusted": int(self.data.trusted.sum()),
            "suspects": 0 if self.suspects is None else len(self.suspects),
            "dropped": len(self.data) - int(self.kept.size),
            "fixed": int(self.changed.sum()),
            "limits": [limit.to_dict() for limit in self.limits],
            "judgement": None if self.judgement is None else self.judgement.to_dict(),
            "harm": None if self.harm is None else self.harm.to_dict(),
            "wrong": None if self.wrong is None else [self.wrong.low, self.wrong.high],
            "likely": None if self.wrong is None else self.wrong.likely,
            "classes": {name: list(counts) for name, counts in self.classes().items()},
            "unlabelled": 0 if self.data.unlabelled is None else len(self.data.unlabelled),
            "notes": list(self.notes),
        }

    def unlabelled(self) -> dict[str, Any]:
        """The rows that have no label: their ids, and for each a label to consider, "" if none.

        A linear model and one with a hidden layer, trained on what is kept, must agree on it.
        """
        aside = self.data.unlabelled
        ids = [] if aside is None else aside.ids.tolist()
        names = (*self.data.names, "")  # the last is where nothing is suggested
        suggested = labels_to_consider(self).tolist()
        return {"id": ids, "suggested": [names[label] for label in suggested]}

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A row per example: id, given label, the suggested one, suspicion, suspect and kept."""
        given = self.data.written().astype(object)
        suspect, suggested = np.zeros(len(given), dtype=bool), given.copy()
        if self.suspects is not None:
            at = self.suspects.positions
            suspect[at] = True
            suggested[at] = [one.suggested for one in self.suspects]
        columns = {
            "id": self.data.ids,
            "given": given,
            "suggested": suggested,
            "suspicion": self.suspicion,
            "suspect": suspect,
            "kept": self.mask,
        }
        return frame_of(columns, kind)

    def recipe(self) -> dict[str, Any]:
        """Everything needed to do it again, as values that JSON can hold."""
        made: Mapping[str, Any] = {} if self.scored is None else self.scored.recipe()
        return {**made, "keep": self.keep, "rule": self.rule}

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"Decision({self.kept.size:,} of {len(self.data):,} kept by {self.rule})"

    def _repr_html_(self) -> str:
        pairs = [(line[:7].strip(), line[7:].strip()) for line in self.lines()]
        first = [] if self.suspects is None else list(islice(self.suspects, 5))
        rows = [(str(one.id), one.given, one.suggested, one.why) for one in first]
        header = ("most suspicious", "given", "suggested", "why") if rows else ()
        return plain_html("Decision", pairs, header=header, rows=rows)

    def lines(self) -> list[str]:
        """What was found, what was done, what that changes, what nobody can know from here.

        Then, where there is more to say: what is certified and under which condition, the reason
        for the rule, and notes.
        """
        n, found = len(self.data), self.suspects
        looks = f"{0 if found is None else len(found):,} of {n:,} labels look wrong"
        most = None if found is None else found.commonest()
        if most is not None:
            looks += f", most often {most[0]} that should be {most[1]} ({most[2]:,})"
        if self.wrong is not None:
            looks += f"; {self.wrong}"
        trusted = int(self.data.trusted.sum())
        stays = f", all {trusted:,} trusted among them" if trusted else ""
        said = [f"found  {looks}", f"kept   {self.kept.size:,} of {n:,} by {self.rule}{stays}"]
        if self.fixed is not None:
            said[1] += f", {int(self.changed.sum()):,} of them with the suggested label"
        if self.keep is not None and found is not None:
            said[1] += f"; dris clean would drop {len(found):,} at most"
        if self.short:
            said.append(f"short  {self.short:,} fewer than asked for pass the gate")
        if self.harm is not None:
            said.append(f"change {self.harm.says}: {self.harm}")
        elif self.as_given:
            said.append("change nothing: every row stays as it is")
        if found is not None:
            said.append(f"blind  {BLIND}")
        limit = self.limit
        if limit is not None and self.limit_says == "something":
            said.append(
                f"limit  at most {limit.share:.2%} of them are wrong ({limit.wrong:,} of "
                f"{limit.left:,}) with probability {1 - limit.delta:g}, if {limit.conditions[0]}"
            )
        elif limit is not None:
            why = f": {TOO_GOOD}" if self.limit_says == "not to be trusted" else ""
            said.append(f"limit  nothing of use is certified about what is kept{why}")
        if self.judgement is not None:
            said.append(f"why    {self.judgement.regime}: {self.judgement.reason}")
        return [*said, *(f"note   {note}" for note in self.notes)]


def decide(
    data: LabelledData,
    *,
    keep: float | None = None,
    rule: str = RECOMMENDED,
    seed: int = 0,
    settings: Settings | None = None,
    dynamics: Dynamics | None = None,
    probabilities: Any = None,
    workers: int | None = None,
    device: str = "cpu",
    store: Store | str | Path | None = None,
    engine: Engine | str = "local",
    progress: Progress | None = None,
    check_harm: bool = True,
    estimator: Any = None,
    fix: bool = False,
) -> Decision:
    """Decide what to train on, which labels to look at, and what can be promised.

    Args:
        data: What `dris.read_data` returned.
        keep: α, the largest share of the examples to keep; None drops only what looks wrong.
        rule: "recommended" by the data, or one that `dris rules` lists.
        seed: Of everything random, unless `settings` hold another.
        settings: Of proxies and canaries, `dris.Settings`; the defaults suit most data.
        dynamics: What a `Recorder` filled or a file holds, in place of training proxies; its ids
            must be those of the data. There are no canaries then, and no limit.
        probabilities: Of your own cross-validated model in place of proxies, (N, C) in the order
            of `data.classes`, or a frame with a column for each; no limit, no rank variance.
            Whether following it helps is still asked of models and proxies of our own, and of
            what these probabilities drop, which flatters: they know the labels held out.
        workers: Processes to train in, all cores unless given.
        device: "cpu", "cuda" or "cuda:1".
        store: Folder that keeps finished proxies.
        engine: "local" or "ray".
        progress: Called with (epochs done, epochs in all).
        check_harm: Measure whether following the advice helps; where models lose by it, drop
            nothing.
        estimator: A scikit-learn classifier to ask as well, for that measure.
        fix: Keep the dropped whose right label the proxies are sure of, with that label
            (`decision.labels`); not with `keep`, and no limit covers a changed label.

    >>> import dris
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> x = rng.normal(size=(400, 3)) + 4 * y[:, None]
    >>> given = np.where(np.arange(400) < 40, 1 - y, y)  # a tenth is wrong
    >>> decision = decide(LabelledData.of(x, given, classes=("cat", "dog")), workers=1)
    >>> bool((given != y)[decision.kept].mean() < 0.02)
    True
    """
    if not isinstance(data, LabelledData):
        raise InputError(
            f"data must be what dris.read_data returns, got {type(data).__name__}; "
            "dris.read_data(x, y) takes arrays"
        )
    how = replace(Settings(), seed=seed) if settings is None else settings
    if fix and (keep is not None or rule not in (RECOMMENDED, CLEAN)):
        raise InputError("fix is for clean; leave keep and rule out")
    if dynamics is not None and probabilities is not None:
        raise InputError("dynamics and probabilities both replace proxies; pass one")
    ours = dynamics is None and probabilities is None
    certified = ours and bool(how.canaries)
    check_rule(rule, keep, canaries=certified, n=len(data))
    few = len(data.classes) < 2 or len(data) < FEWEST
    if few and (ours or len(data.classes) < 2):
        what = "one class" if len(data.classes) < 2 else f"{len(data)} examples"
        note = f"{what} cannot show wrong labels (two classes and {FEW} examples are the least)"
        everyone = np.arange(len(data))
        nothing = np.zeros(len(data))
        return Decision(data, everyone, nothing, None, EVERYTHING, keep, notes=(note,))
    if dynamics is not None or probabilities is not None:
        foreign = (
            scored_by(data, probabilities, how)
            if dynamics is None
            else scored_from(data, dynamics, how)
        )
        found = decide_scored(foreign, keep=keep, rule=rule, fix=fix)
        return with_harm(found, estimator=estimator) if check_harm else found
    if len(data) < LITTLE and rule == RECOMMENDED:
        how = replace(how, canaries=(), matrix=None)
    scored = score_data(
        data,
        how,
        workers=workers,
        device=device,
        store=store,
        engine=engine,
        progress=progress,
        only_judged=rule in _OUT_OF_FOLD,
    )
    found = decide_scored(scored, keep=keep, rule=rule, fix=fix)
    return with_harm(found, estimator=estimator) if check_harm else found


def with_harm(decision: Decision, *, estimator: Any = None) -> Decision:
    """The decision with what following it changes; everything is kept where models lose by it.

    With an explicit α the size is honoured: only a rule that loses to a random subset of that size
    is replaced, by that subset.
    """
    data, scored = decision.data, decision.scored
    few = len(data) < (FEW if decision.keep is None else LITTLE)
    if scored is not None and scored.table.ndim != 2 and decision.rule == CLEAN:
        right = foretold(scored.dynamics)
        if right is not None and right < HALF:
            why = (
                f"the proxies foretell {right:.0%} of the labels, and whether dropping helps is "
                "not measured with networks"
            )
            return _everything(decision, None, why)
    if few or decision.as_given or scored is None or scored.table.ndim != 2:
        return decision
    x = scored.table
    asked, seed = decision.keep, scored.settings.seed
    epochs = min(scored.settings.epochs, scored.dynamics.scored_epoch + 1)
    canaries = scored.settings.canaries if rule_of(decision.rule).needs_canaries else ()
    models = scored.settings.models if scored.dynamics.out_of_fold is not None else ()
    if len(set(models)) > 1:  # as many as the data would be given
        models = ()
    inner = replace(
        scored.settings,
        models=models,
        encoder=None,  # the features are there
        proxies=min(3, scored.settings.proxies),
        epochs=max(epochs, 2),
        scored_epoch=None,
        canaries=canaries,
        matrix=scored.settings.matrix if canaries else None,
    )

    fix = decision.fixed is not None

    def again(at: NDArray[np.int64]) -> Kept:
        part = LabelledData.of(
            x[at],
            data.labels[at],
            classes=data.classes,
            ids=data.ids[at],
            trusted=data.trusted[at],
        )
        let_go(x)  # of many rows some thousands are looked at
        if scored.features is None:
            part = replace(part, features=data.features)
        again_scored = score_data(part, inner, workers=1, only_judged=scored.only_judged)
        once = decide_scored(again_scored, keep=asked, rule=decision.rule, fix=fix)
        if not fix:
            return at[once.kept]
        changed = np.flatnonzero(once.changed)
        return Relabelled(at[np.setdiff1d(once.kept, changed)], at[changed], once.labels[changed])

    def as_decided(at: NDArray[np.int64]) -> Kept:
        kept = at[np.isin(at, decision.kept)]
        if not fix:
            return kept
        changed = decision.changed[kept]
        return Relabelled(kept[~changed], kept[changed], decision.labels[kept[changed]])

    for side in (scored.dynamics, scored.dynamics.out_of_fold):
        if side is not None:
            let_go(side.columns["loss"])  # it lies in the store, whole
    with temporary_folder() as folder:  # where a large table goes, of which a sample is asked
        table = as_features(Data(x, data.labels), scaling(data, scored.features), folder).x
        harm = measure_harm(
            table,
            data.labels,
            data.names,
            again,
            as_decided=as_decided if scored.imported else None,
            random_too=asked is not None,
            seed=seed,
            estimators={} if estimator is None else {"estimator": estimator},
        )
        del table
    if harm is None:
        return decision
    loses = harm.loses and decision.rule == CLEAN
    if asked is None and (harm.says == "harms" or loses):
        do = "dropping or changing" if fix else "dropping"
        what = "do harm" if harm.says == "harms" else "rather harm than help"
        return _everything(decision, harm, f"{do} them would {what} ({harm})")
    lost = harm.against_random is not None and harm.against_random.below_zero
    if lost and decision.rule != "random":
        lot = decide_scored(scored, keep=asked, rule="random")
        note = (
            f"{decision.rule} loses to a random subset of that size ({harm.against_random} points)"
        )
        return replace(lot, harm=harm, notes=(*lot.notes, note))
    return replace(decision, harm=harm)


def _everything(decision: Decision, harm: Harm | None, why: str) -> Decision:
    note = f"{why}{ALL_KEPT}; what looks wrong is listed"
    suspects = decision.suspects
    if suspects is not None:
        suspects = replace(suspects, dropped=np.zeros(len(suspects), dtype=np.bool_))
    everyone = np.arange(len(decision.data))
    judgement = decision.judgement
    if judgement is not None:
        used = Subset(everyone, EVERYTHING, {}, len(decision.data))
        judgement = replace(judgement, subset=used, certificates=())
    return replace(
        decision,
        kept=everyone,
        suspects=suspects,
        rule=EVERYTHING,
        limits=(),
        judgement=judgement,
        fixed=None,
        harm=harm,
        short=0,
        notes=(*decision.notes, note),
    )


def decide_scored(
    scored: Scored, *, keep: float | None, rule: str = RECOMMENDED, fix: bool = False
) -> Decision:
    """The same for data whose proxies have trained: judge, choose, certify, in this order."""
    check_rule(rule, keep, canaries=bool(scored.canaries), n=len(scored.data))
    judgement = None
    if scored.canaries:
        judgement = judge(
            scored.view,
            scored.canaries,
            keep=1.0 if keep is None else keep,
            at_most=scored.settings.at_most,
            seed=scored.settings.seed,
        )
    corruption = None if judgement is None else judgement.corruption
    choice = choice_of(scored, judgement, keep=keep, rule=rule, corruption=corruption)
    kept = np.flatnonzero(choice.kept)
    if judgement is not None:  # what it says of a subset is about the rows that are used
        used = Subset(kept, choice.rule, {}, len(scored.data))
        usable = None if judgement.subset is None else used
        judgement = replace(judgement, subset=usable, certificates=choice.limits)
    suspicion = suspicion_of(scored)
    found = Decision(
        data=scored.data,
        kept=kept,
        suspicion=suspicion,
        suspects=suspects_of(scored, suspicion, choice.kept),
        rule=choice.rule,
        keep=keep,
        judgement=judgement,
        limits=choice.limits,
        corruption=choice.corruption,
        wrong=_wrong_share(scored),
        contested=_contested(scored, choice.kept),
        notes=(*scored.notes, *choice.notes),
        short=choice.short,
        scored=scored,
    )
    return _fixed(found) if fix and choice.rule == CLEAN else found


def _fixed(decision: Decision) -> Decision:
    """The dropped whose right label the proxies are sure of are kept with that label.

    Sure: all of them contradict the given label, and the suggested one is at least as probable as
    it is among the examples that carry it, on average.
    """
    scored, suspects = decision.scored, decision.suspects
    p = None if scored is None else scored.unseen()
    if scored is None or suspects is None or p is None:
        return decision
    labels = np.array(decision.data.labels)
    usual = usual_confidence(p, labels)
    all_say = suspects.contradicted == suspects.proxies
    sure = p[suspects.positions, suspects.suggested] >= usual[suspects.suggested]
    other = suspects.suggested != suspects.given
    which = np.flatnonzero(suspects.dropped & all_say & sure & other)
    at = suspects.positions[which]
    labels[at] = suspects.suggested[which]
    dropped = np.array(suspects.dropped)
    dropped[which] = False
    judgement = decision.judgement
    if judgement is not None:
        judgement = replace(judgement, certificates=())
    return replace(
        decision,
        kept=np.union1d(decision.kept, at),
        fixed=labels,
        suspects=replace(suspects, dropped=dropped),
        limits=(),
        judgement=judgement,
        notes=(*decision.notes, "no limit covers labels that were changed"),
    )


def _contested(scored: Scored, kept: NDArray[np.bool_]) -> float:
    """The share of kept labels that strangers find less likely than another; 0 without folds."""
    p = scored.unseen()
    if p is None or not kept.any():
        return 0.0
    return float((p.argmax(axis=1) != scored.data.labels)[kept].mean())


def _wrong_share(scored: Scored) -> WrongShare | None:
    """The range of wrong labels, canaries aside: those are wrong on purpose."""
    p = unseen_probabilities(scored.dynamics, len(scored.data.classes))
    if p is None:
        return None
    own = ~scored.planted()
    return wrong_share(p[own], scored.data.labels[own])


__all__ = ["CLEAN", "EVERYTHING", "Decision", "decide", "decide_scored"]
