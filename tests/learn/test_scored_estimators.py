import numpy as np
import pytest

from dris.core.scores import aum_mean, forgetting, grand, rank_variance
from dris.learn.proxies import as_table, train_proxies
from dris.learn.training import Data


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


def test_standardizing_in_blocks_is_standardizing(monkeypatch, made):
    x, y = made
    whole = as_table(Data(x, y), True).x
    assert np.allclose(whole.mean(axis=0), 0, atol=1e-6)
    assert np.allclose(whole.std(axis=0), 1, atol=1e-5)
    monkeypatch.setattr(
        "dris.learn.proxies._blocks", lambda x: (slice(i, i + 7) for i in range(0, len(x), 7))
    )
    assert np.allclose(as_table(Data(x, y), True).x, whole, atol=1e-6)
