"""Online targets share the proxies of static pruning where both have the same examples."""

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from experiments.kinds import online_cell, static_cell
from experiments.paper.online import online
from experiments.paper.pruning import static
from experiments.scales import scale_of
from experiments.spec import CLEAN
from experiments.workspace import Workspace

SCALE = scale_of("smoke")
SETUP = SCALE.setups[0]


def test_online_targets_take_the_proxies_that_static_pruning_trained(tmp_path, monkeypatch):
    workspace = Workspace(tmp_path / "runs")
    list(static_cell.findings([static(SETUP, CLEAN, "aum", 0)], workspace))

    def trained(*_, **how):
        raise AssertionError("trained anew")

    monkeypatch.setattr("dris.learn.jobs.proxy_job._follow", trained)
    monkeypatch.setattr("dris.learn.jobs.stacked_job._follow", trained)
    cell = replace(
        online(SCALE, CLEAN, "dr_is", 0),
        source=SETUP.source,
        ensemble=SETUP.ensemble,
        target=SETUP.target,
    )
    (finding,) = online_cell.findings([cell], workspace)
    assert 0 < finding.result["accuracy"] <= 1
    # The twin: with other examples they have to be trained.
    other = replace(cell, source=replace(SETUP.source, examples=300))
    with pytest.raises(AssertionError, match="trained anew"):
        list(online_cell.findings([other], workspace))
