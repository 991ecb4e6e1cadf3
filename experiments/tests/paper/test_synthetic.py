import numpy as np

from experiments.kinds.hinge import HingeRecipe
from experiments.kinds.synthetic_cell import (
    COLUMNS,
    disagreement,
    findings,
    least_squares_norms,
    make_runs,
    proxy_losses,
    sgd_losses,
)
from experiments.paper.synthetic import METHODS, cells, printed
from experiments.scales import scale_of
from experiments.spec import CLEAN, Noise
from experiments.workspace import Workspace

SMALL = HingeRecipe(epochs=2)


def test_a_cell_has_every_method_and_column_and_is_the_same_again(tmp_path):
    cell = cells(scale_of("smoke"))[0]
    (first,), (again,) = (list(findings([cell], Workspace(tmp_path))) for _ in range(2))
    assert first.result == again.result
    assert list(first.result["accuracy"]) == list(METHODS)
    for row in first.result["accuracy"].values():
        assert list(row) == [str(column) for column in COLUMNS]
        assert all(0 <= share <= 1 for share in row.values())


def test_five_seeds_as_in_the_paper_unless_fewer_are_asked_for():
    assert [len(cells(scale_of(name))) for name in ("smoke", "cpu", "mid", "paper")] == [2, 5, 5, 5]
    assert len(cells(scale_of("paper", seeds=1))) == 1


def test_the_papers_numbers_stand_beside_the_right_cells():
    assert printed("uniform", CLEAN) == (95.84, 0.56)
    assert printed("dris_static", Noise("uniform", 0.1)) == (53.86, 2.31)
    assert printed("standard_is, unweighted", Noise("longest", 0.25)) == (19.80, 9.06)
    assert printed("loss_variance_static", CLEAN) is None


def test_each_column_flips_what_its_name_says():
    runs, attacker = make_runs(200, 0, SMALL)
    for r, column in enumerate(COLUMNS):
        flipped = runs.noisy[r].flipped
        assert flipped.sum() == round(200 * column.rate)
        length = np.linalg.norm(runs.x[r], axis=1)
        if column.kind == "longest":
            assert length[flipped].min() >= length[~flipped].max()
        if column.kind == "least squares":
            sign = np.where(runs.noisy[r].true == 1, 1.0, -1.0)
            norm = least_squares_norms(runs.x[r], sign)
            assert norm[flipped].min() >= norm[~flipped].max()
        if column.kind == "targeted":
            sign = np.where(runs.noisy[r].true == 1, 1.0, -1.0)
            norm = 2 * np.maximum(0, 1 - sign * (runs.x[r] @ attacker)) * length
            assert norm[flipped].min() >= norm[~flipped].max()
            # The twin: the longest examples are another set.
            assert length[flipped].min() < length[~flipped].max()


def test_disagreement_leaves_out_the_clean_column_and_counts_the_corrupted():
    runs, attacker = make_runs(200, 0, SMALL)
    result = disagreement(
        runs, proxy_losses(runs, 4, SMALL), sgd_losses(runs, 4, 2), attacker, 0.25
    )
    assert list(result) == [str(column) for column in COLUMNS if column != CLEAN]
    assert result["longest 25 %"]["corrupted in the data"] == 0.25
    # The 20 rare examples are the longest of the 200: all of a tenth, two fifths of a quarter.
    assert result["longest 10 %"]["rare among the corrupted"] == 1
    assert result["longest 25 %"]["rare among the corrupted"] == 0.4
    assert result["targeted 10 %"]["rare among the corrupted"] < 1
