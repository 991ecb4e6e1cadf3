from functools import cache

import pytest

from experiments.records import gather
from experiments.registry import experiment_of
from experiments.runner import run
from experiments.scales import scale_of
from experiments.workspace import Workspace


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """An experiment's records at smoke scale, run once; experiments share cells and runs."""
    pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')
    out = tmp_path_factory.mktemp("smoke")

    @cache
    def records(name):
        cells = experiment_of(name).cells(scale_of("smoke"))
        return gather(
            name, "smoke", run(cells, out=out, workspace=Workspace(out / "runs"), workers=1)
        )

    return records
