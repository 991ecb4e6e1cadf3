import numpy as np
import pytest

pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from dris import Dynamics
from experiments.dris_internals import Importance
from experiments.kinds.online_cell import plan_of, redraw, summarize_run
from experiments.paper import online, smoothing
from experiments.records import Records
from experiments.results.panels import course_panels
from experiments.rules import SAMPLERS, Sampler
from experiments.scales import scale_of
from experiments.setups import ONLINE
from experiments.spec import CLEAN
from experiments.targets.target_run import TargetRun
from experiments.workspace import Workspace

PROXIES = Dynamics.from_losses([[0.1, 0.2, 0.9, 0.5], [0.9, 0.2, 0.1, 0.6]])


def test_a_rule_carries_its_exponent_and_its_smoothing():
    assert plan_of(SAMPLERS["uniform"], PROXIES) == ("uniform", 1.0)
    assert plan_of(SAMPLERS["dr_is(weights=0)"], PROXIES) == ("dr_is", 0.0)
    assert plan_of(Sampler("dr_is", smoothing=0.1), PROXIES) == ("dr_is", 1.0)
    (rough, _), (smooth, none) = (plan_of(Sampler("dr_is", 0.0, xi), PROXIES) for xi in (0.05, 0.5))
    assert isinstance(rough, Importance)
    assert isinstance(smooth, Importance)
    assert none is None
    assert smooth.exponent == 0
    assert rough.probabilities.min() < smooth.probabilities.min()


def test_seeds_differ_in_their_examples_and_a_seed_meets_them_again(tmp_path):
    workspace, scale = Workspace(tmp_path), scale_of("smoke")
    a, b, again = (
        redraw(online.online(scale, CLEAN, "uniform", seed), workspace) for seed in (0, 1, 0)
    )
    assert len(a.x) == ONLINE["smoke"].source.examples
    assert np.array_equal(a.x, again.x)
    assert not np.array_equal(a.x, b.x)


def test_the_smoothing_sweep_shares_its_middle_and_its_level_with_the_online_cells():
    scale = scale_of("cpu")
    shared = set(smoothing.cells(scale)) & set(online.cells(scale))
    assert {cell.rule for cell in shared} == {"uniform", "dr_is"}
    assert len(set(smoothing.cells(scale)) - shared) == 3 * 2 * 3


@pytest.mark.parametrize("why", ["imputed", "rescued"])
def test_a_run_that_was_imputed_or_rescued_supports_no_claim(smoke, why):
    rows = [dict(row) for row in smoke("online").rows]
    marked = [
        {**r, "result": {**r["result"], why: True}} if r["rule"] == "standard_is" else r
        for r in rows
    ]
    told = {c.text: c for c in online.claims(Records("online", "smoke", tuple(marked)))}
    text = "targeted 25 %: Standard IS at chance, within 2 points"
    assert told[text].evidence == "0 of at least 2 paired seeds"
    before = {c.text: c for c in online.claims(Records("online", "smoke", tuple(rows)))}
    assert before[text].evidence != "0 of at least 2 paired seeds"


def test_a_diverged_run_is_a_result_and_stays_in_the_figure(smoke, tmp_path):
    broken = summarize_run(TargetRun("diverged", 0.1, (), {}, {}, None, (1, 1)))
    assert broken["diverged"] is True
    assert broken["accuracy"] == 0.1
    rows = [dict(row) for row in smoke("online").rows]
    rows[1] = {**rows[1], "result": broken}
    records = Records("online", "smoke", tuple(rows))
    table = online.tables(records)[0]
    assert 0.1 in table.values["Standard IS", "clean"]
    assert course_panels(records, online.NOISES, online.PLANS, tmp_path / "a.png").exists()


def test_figure_and_tables_name_the_plans_that_were_run_and_no_others(smoke, tmp_path):
    def named(rows):
        records = Records("online", "smoke", tuple(rows))
        path = course_panels(records, online.NOISES, online.PLANS, tmp_path / "a.png")
        drawn = path.with_suffix(".svg").read_text(encoding="utf-8")
        every = (*online.PLANS.values(), "no weights")
        return [name for name in every if f"<!-- {name} -->" in drawn]

    rows = smoke("online").rows
    assert named(rows) == [*online.PLANS.values(), "no weights"]
    printed = [row for row in rows if row["rule"] in ("uniform", "dr_is")]
    assert named(printed) == ["Uniform SGD", "DR-IS-online"]
    for table in online.tables(Records("online", "smoke", tuple(printed))):
        assert table.rows == ["Uniform SGD", "DR-IS-online"]
