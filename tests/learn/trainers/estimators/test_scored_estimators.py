import numpy as np
import pytest

from dris.core.errors import InputError
from dris.core.scores.formulas import aum_mean, forgetting, grand, rank_variance
from dris.learn.proxies import train_proxies
from dris.learn.trainers.job import Data
from dris.learn.trainers.standardize import as_table


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6)) * 3 + 5
    return x, (x[:, 0] + rng.normal(size=300) > 5).astype(int)


@pytest.mark.parametrize("model", ["sgd_log", "mlp"])
def test_recording_the_scored_epoch_alone_gives_the_summary_of_recording_all(made, model):
    how = {"model": model, "epochs": 6, "gradient_norm": True, "rival": True, "workers": 1}
    every = train_proxies(*made, **how).summary()
    scored = train_proxies(*made, record="scored", **how)
    assert scored.is_summary
    for name in ("loss", "margin", "correct", "error_norm", "gradient_norm", "rival"):
        assert np.array_equal(scored.snapshot(name), every.snapshot(name)), name
    for score in (rank_variance, aum_mean, forgetting, grand):
        assert np.array_equal(score(scored), score(every))


def test_large_features_are_standardized_into_a_file_with_the_same_bytes(
    monkeypatch, made, tmp_path
):
    x, y = made
    whole = as_table(Data(x, y), True, tmp_path).x
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr("dris.learn.trainers.standardize.MAX_BYTES_IN_MEMORY", 0)
    mapped = as_table(Data(x, y), True, tmp_path).x
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [whole.nbytes]
    assert isinstance(mapped, np.memmap)
    assert mapped.tobytes() == whole.tobytes()


def test_features_that_cannot_be_written_name_the_remedy(monkeypatch, made, tmp_path):
    monkeypatch.setattr("dris.learn.trainers.standardize.MAX_BYTES_IN_MEMORY", 0)
    with pytest.raises(InputError, match=r"cannot write .* TMPDIR"):
        as_table(Data(*made), True, tmp_path / "absent")


@pytest.mark.parametrize("workers", [1, 2])
def test_features_from_a_file_train_the_same_proxies_and_the_file_goes(
    monkeypatch, made, tmp_path, workers
):
    how = {"model": "sgd_log", "epochs": 2, "proxies": 2, "workers": workers}
    expected = train_proxies(*made, **how)
    monkeypatch.setattr("dris.learn.trainers.standardize.MAX_BYTES_IN_MEMORY", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = train_proxies(*made, **how)
    assert result.margin.tobytes() == expected.margin.tobytes()
    assert not list(tmp_path.glob("dris-*"))


def test_measuring_in_portions_measures_every_example_once(monkeypatch, made):
    how = {"model": "sgd_log", "epochs": 3, "workers": 1, "gradient_norm": True}
    expected = train_proxies(*made, **how)
    monkeypatch.setattr("dris.learn.trainers.estimator.MAX_MEASURED", 6 * 7)  # seven rows at a time
    result = train_proxies(*made, **how)
    for name in ("loss", "margin", "gradient_norm"):
        assert np.allclose(result.column(name), expected.column(name), atol=1e-6), name
