"""The names under which cells and records know a rule with parameters.

"hybrid:0.25" is the hybrid score at that β ("hybrid_scaled:0.25" on one scale, "hybrid_drawn:0.25"
drawn in its proportion), "uniform_hybrid:0.5" draws half of its subset, "rank_variance@4" looks at
epoch 4, "gate:margin:0.8:el2n" is a gate on that detector at that recall with that chooser behind
it (a last ":fill" fills up with the cleanest of the rejected), and "folded:NAME" is a rule on the
product's own proxies.
"""

from dataclasses import replace
from typing import Literal

from dris import RULES, InputError, Rule

Ensemble = Literal["plain", "planted", "unseen", "folded"]
_FOLDED = "folded:"
_OLD = {
    "gate:early_margin:0.9:half_el2n": "gated",
    "gate:early_margin:0.9:half_el2n:fill": "gated_filled",
}


def rule_named(name: str) -> Rule:
    """The rule of a cell, with the title that pages call it by.

    >>> rule_named("hybrid:0.25").title, rule_named("aum") is RULES["aum"]
    ('Hybrid, β = 0.25', True)
    """
    kind, _, rest = name.partition(":")
    score, at, epoch = name.partition("@")
    try:
        if kind == "folded":
            rule = RULES[rest]
            return replace(rule, name=name, title=f"{rule.title}, same proxies")
        if at:
            rule, title = Rule(score, epoch=int(epoch)), f"{RULES[score].title} at epoch {epoch}"
        elif kind == "hybrid" and rest:
            rule, title = Rule("hybrid", beta=float(rest)), f"Hybrid, β = {rest}"
        elif kind == "hybrid_scaled":
            rule = Rule("hybrid", beta=float(rest), scaled=True)
            title = f"Hybrid, norms scaled, β = {rest}"
        elif kind == "hybrid_drawn":
            rule, title = Rule("hybrid", "draw", beta=float(rest)), f"Hybrid, drawn, β = {rest}"
        elif kind == "uniform_hybrid":
            rule = Rule("rank_variance", "mix", share=float(rest))
            title = f"DR-IS and {float(rest):.0%} uniform"
        elif kind == "gate":
            rule, title = _gate(rest.split(":"))
        else:
            return RULES[name]
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"no rule of an experiment is called {name!r}: {error}") from error
    return replace(rule, name=name, title=title)


def _gate(words: list[str]) -> tuple[Rule, str]:
    fill = words[-1] == "fill"
    detector, recall, chooser = words[:-1] if fill else words
    title = f"gate on {detector.replace('_', ' ')} at {recall} + {chooser.replace('_', ' ')}"
    rule = Rule(method="gated", detector=detector, recall=float(recall), chooser=chooser, fill=fill)
    return rule, title + (", filled up" if fill else "")


def ensemble_of(name: str) -> Ensemble:
    """On which proxies a rule runs.

    Trained on the given labels ("plain"), on labels with canaries in them ("planted", whose
    choosing part it may look at), measured where they did not train ("unseen"), or the product's
    own ("folded").

    >>> ensemble_of("el2n"), ensemble_of("gated"), ensemble_of("folded:aum")
    ('plain', 'planted', 'folded')
    """
    if name.startswith(_FOLDED):
        return "folded"
    rule = rule_named(name)
    if rule.method == "remove_negative":
        return "unseen"
    return "planted" if rule.needs_canaries or rule.method.startswith("clean") else "plain"


def title_of(name: str) -> str:
    """What tables call a rule, also one that only old records hold.

    There ":all" at the end of a gated rule's name says that all canaries set its gate; now half of
    them do, and the others certify.

    >>> title_of("aum"), title_of("gate:early_margin:0.9:half_el2n:all")
    ('AUM, top', 'gated, all canaries')
    """
    if name == "recommended":
        return "dris prune"
    known = name.removesuffix(":all")
    return rule_named(_OLD.get(known, known)).title + (", all canaries" if known != name else "")
