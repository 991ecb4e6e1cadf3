import numpy as np
import pytest

from dris.bench.paper.synthetic import (
    COLUMNS,
    disagreement,
    make_runs,
    printed,
    proxy_losses,
    run,
    table,
)
from dris.learn.hinge import HingeRecipe

SMALL = HingeRecipe(epochs=2)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthetic")
    return run(seeds=2, examples=100, recipe=SMALL, figure=folder / "figure.png"), folder


def test_the_table_has_every_method_column_and_seed(found):
    record, folder = found
    assert list(record["accuracy"]) == [
        "uniform",
        "standard_is, weighted",
        "standard_is, unweighted",
        "loss_is, weighted",
        "loss_is, unweighted",
        "dris_online, weighted",
        "dris_online, unweighted",
        "dris_static",
        "loss_variance_static",
    ]
    for row in record["accuracy"].values():
        assert list(row) == list(COLUMNS)
        assert all(cell["n"] == 2 and 0 <= cell["mean"] <= 100 for cell in row.values())
    widths = {line.count("|") for line in table(record).splitlines()[2:13]}
    assert widths == {len(COLUMNS) + 2}
    assert (folder / "figure.png").stat().st_size < 150_000


def test_the_same_command_gives_the_same_record(found):
    assert run(seeds=2, examples=100, recipe=SMALL) == found[0]


def test_the_papers_numbers_stand_beside_the_right_cells():
    assert printed("uniform", "clean") == (95.84, 0.56)
    assert printed("dris_static", "uniform 10 %") == (53.86, 2.31)
    assert printed("standard_is, unweighted", "longest 25 %") == (19.80, 9.06)
    assert printed("loss_variance_static", "clean") is None


def test_each_column_flips_what_its_name_says():
    runs, _, _, attacker = make_runs(1, 200, SMALL)
    for r, (kind, rate) in enumerate(COLUMNS.values()):
        flipped = runs.noisy[r].flipped
        assert flipped.sum() == round(200 * rate)
        length = np.linalg.norm(runs.x[r], axis=1)
        if kind == "length":
            assert length[flipped].min() >= length[~flipped].max()
        if kind == "gradient":
            sign = np.where(runs.noisy[r].true == 1, 1.0, -1.0)
            norm = 2 * np.maximum(0, 1 - sign * (runs.x[r] @ attacker[0])) * length
            assert norm[flipped].min() >= norm[~flipped].max()
            # The twin: the longest examples are another set.
            assert length[flipped].min() < length[~flipped].max()


def test_disagreement_leaves_out_the_clean_column_and_counts_the_corrupted():
    runs, _, _, attacker = make_runs(1, 200, SMALL)
    found = disagreement(runs, proxy_losses(runs, SMALL), attacker)
    assert list(found) == [c for c in COLUMNS if c != "clean"]
    assert found["longest 25 %"]["corrupted in the data"]["mean"] == 0.25
    # The 20 rare examples are the longest of the 200: all of a tenth, two fifths of a quarter.
    assert found["longest 10 %"]["rare among the corrupted"]["mean"] == 1
    assert found["longest 25 %"]["rare among the corrupted"]["mean"] == 0.4
    assert found["targeted 10 %"]["rare among the corrupted"]["mean"] < 1
