"""Online targets share the proxies of static pruning where both have the same examples."""

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from experiments.cell_data import Place
from experiments.kinds import online_cell, static_cell
from experiments.paper.online_draws import online
from experiments.paper.pruning import static
from experiments.scales import scale_of
from experiments.spec import CLEAN

SCALE = scale_of("smoke")
BED = SCALE.beds[0]


def test_online_targets_take_the_proxies_that_static_pruning_trained(tmp_path, monkeypatch):
    place = Place(tmp_path / "runs")
    list(static_cell.findings([static(BED, CLEAN, "aum", 0)], place))

    def trained(*_, **how):
        raise AssertionError("trained anew")

    monkeypatch.setattr("dris.learn.jobs.proxy_job._follow", trained)
    monkeypatch.setattr("dris.learn.jobs.stacked_job._follow", trained)
    cell = replace(
        online(SCALE, CLEAN, "dr_is:1", 0),
        source=BED.source,
        ensemble=BED.ensemble,
        target=BED.target,
    )
    (finding,) = online_cell.findings([cell], place)
    assert 0 < finding.found["accuracy"] <= 1
    # The twin: with other examples they have to be trained.
    other = replace(cell, source=replace(BED.source, examples=300))
    with pytest.raises(AssertionError, match="trained anew"):
        list(online_cell.findings([other], place))
