"""The rules of the experiments: every name is a rule's own, and detectors are what they say."""

import numpy as np
import pytest

from dris import SCORES, Dynamics
from experiments.dris_internals import DETECTORS
from experiments.rules import PEERS, RULES, rule_of, title_of


def test_every_rule_is_under_its_own_name_and_peers_are_known_rules():
    assert all(rule.name == name for name, rule in RULES.items())
    assert all(rule_of(peer).name in peer for peer in PEERS)
    assert len({title_of(name) for name in (*RULES, *PEERS)}) == len(RULES) + len(PEERS)


def rank(values, i):
    """The share of examples at or below, ties counted half (plus half of oneself)."""
    below, equal = sum(v < values[i] for v in values), sum(v == values[i] for v in values)
    return (below + (equal + 1) / 2) / len(values)


def test_the_combined_detector_is_the_mean_of_two_ranks():
    rng = np.random.default_rng(0)
    d = Dynamics.from_logits(rng.normal(size=(3, 4, 40, 3)).round(1), np.arange(40) % 3)
    margin, easy = SCORES["aum_mean"](d).tolist(), (-SCORES["consensus"](d)).tolist()
    slow = [(rank(margin, i) + rank(easy, i)) / 2 for i in range(40)]
    assert DETECTORS["margin_and_rank"](d)[0] == pytest.approx(slow)
    assert DETECTORS["mean_rank"](d)[0].tolist() == easy
