from dataclasses import replace

import numpy as np
import pytest

from dris.core.dynamics.history import Dynamics
from dris.core.judge.diagnostics import Check
from dris.core.judge.judgement import judge
from dris.core.judge.noise_checks import HIDING
from dris.core.noise.canaries import plant_canaries
from dris.report.scored import headline


@pytest.fixture(scope="module")
def judgement():
    rng = np.random.default_rng(0)
    truth = np.arange(4000) % 4
    canaries = plant_canaries(truth, rng=rng)
    logits = 4 * np.eye(4)[truth] + rng.normal(size=(3, 4000, 4))
    return judge(Dynamics.from_logits(logits, canaries.planted), canaries, keep=0.25)


def test_a_limit_that_says_something_is_in_the_headline(judgement):
    certificate = replace(judgement.certificate, wrong=1)
    assert "0.1% of those kept are wrong, 95% sure" in headline(judgement, certificate)


def test_a_limit_above_that_on_all_the_data_is_not(judgement):
    certificate = replace(judgement.certificate, wrong=judgement.certificate.left)
    assert "nothing of use is certified" in headline(judgement, certificate)
    assert "nothing of use is certified" in headline(judgement, None)


def test_a_limit_that_hiding_labels_break_is_called_so(judgement):
    check = Check(HIDING, "fails", 0.9, 0.6, "made to fail")
    hides = replace(judgement, checks={**judgement.checks, "hiding": check})
    certificate = replace(judgement.certificate, wrong=1)
    assert "not to be trusted" in headline(hides, certificate)
    assert "not to be trusted" not in headline(judgement, certificate)
