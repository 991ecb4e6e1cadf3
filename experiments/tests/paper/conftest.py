from functools import cache

import pytest

from experiments.cell_data import Place
from experiments.experiment import experiment_of
from experiments.records import gather
from experiments.runner import run
from experiments.scales import scale_of


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """An experiment's records at smoke scale, run once; experiments share cells and runs."""
    pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')
    out = tmp_path_factory.mktemp("smoke")

    @cache
    def records(name):
        cells = experiment_of(name).cells(scale_of("smoke"))
        return gather(name, "smoke", run(cells, out=out, place=Place(out / "runs"), workers=1))

    return records
