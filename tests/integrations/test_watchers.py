"""A run's curves and decision reach whoever watches, once and in order."""

from types import SimpleNamespace

import numpy as np
import pytest

import dris
from dris.integrations.watchers import (
    MlflowWatcher,
    TensorBoardWatcher,
    WandbWatcher,
    log_decision,
    log_dynamics,
)


class Seen:
    """A watcher that remembers."""

    def __init__(self):
        self.points, self.values, self.texts = [], {}, {}

    def point(self, name, value, step):
        self.points.append((name, value, step))

    def numbers(self, values):
        self.values.update(values)

    def text(self, name, text):
        self.texts[name] = text


@pytest.fixture(scope="module")
def decision():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(240, 4))
    y = (x[:, 0] > 0).astype(int)
    y[::12] = 1 - y[::12]
    settings = dris.Settings(epochs=4)
    return dris.clean(dris.read_data(x, y), settings=settings, workers=1, check_harm=False)


def test_curves_are_the_means_over_examples_epoch_by_epoch():
    losses = np.array([[[0.0, 2.0], [0.0, 1.0]], [[4.0, 4.0], [1.0, 3.0]]])
    seen = Seen()
    log_dynamics(dris.Dynamics.from_losses(losses), seen)
    assert seen.points == [
        ("dris/seen/loss/proxy_0", 1.0, 1),
        ("dris/seen/loss/proxy_0", 0.5, 2),
        ("dris/seen/loss/proxy_1", 4.0, 1),
        ("dris/seen/loss/proxy_1", 2.0, 2),
    ]


def test_a_decision_is_told_in_numbers_and_in_words_with_both_kinds_of_curves(decision):
    seen = Seen()
    log_decision(decision, seen)
    assert seen.values["dris/kept"] == len(decision.kept)
    assert seen.values["dris/examples"] == 240
    assert seen.texts["dris/decision"] == str(decision)
    names = {name for name, _, _ in seen.points}
    assert {"dris/seen/loss/proxy_0", "dris/held_out/correct/proxy_2"} <= names


def test_mlflow_gets_points_with_their_step(decision):
    calls = []
    client = SimpleNamespace(
        log_metric=lambda name, value, step: calls.append((name, step)),
        log_metrics=lambda values: calls.append(sorted(values)),
        log_text=lambda text, name: calls.append(name),
    )
    log_decision(decision, MlflowWatcher(client))
    assert calls[0] == ("dris/seen/loss/proxy_0", 1)
    assert calls[-1] == "dris/decision.txt"


def test_wandb_gets_every_step_once_and_in_order(decision):
    steps, summary = [], {}
    run = SimpleNamespace(
        log=lambda values, step: steps.append((step, len(values))), summary=summary
    )
    log_decision(decision, WandbWatcher(run))
    assert [step for step, _ in steps] == sorted({step for step, _ in steps})
    assert len({count for _, count in steps}) == 1
    assert summary["dris/kept"] == len(decision.kept)


@pytest.mark.frameworks
def test_tensorboard_reads_the_curves_back(decision, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log_decision(decision, TensorBoardWatcher(tmp_path))
    read = EventAccumulator(str(tmp_path)).Reload()
    curve = read.Scalars("dris/seen/loss/proxy_0")
    wanted = np.asarray(decision.scored.dynamics.columns["loss"])[0].mean(axis=1)
    assert [point.value for point in curve] == pytest.approx(wanted, rel=1e-5)
    assert read.Scalars("dris/kept")[0].value == len(decision.kept)


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    """MLflow over a store of plain files, all that mlflow-skinny has on this machine."""
    module = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # or it advises the database
    before = module.get_tracking_uri()
    module.set_tracking_uri((tmp_path / "runs").as_uri())
    yield module
    module.set_tracking_uri(before)


def read_back(mlflow, run):
    """What MLflow's own client finds in its store: every curve, every number, the words."""
    client = mlflow.MlflowClient()
    names = client.get_run(run.info.run_id).data.metrics
    history = {name: client.get_metric_history(run.info.run_id, name) for name in names}
    curves = {
        name: sorted((point.step, point.value) for point in points)
        for name, points in history.items()
    }
    return curves, mlflow.artifacts.load_text(f"{run.info.artifact_uri}/dris/decision.txt")


@pytest.mark.frameworks
def test_mlflow_reads_curves_numbers_and_words_back_from_a_local_store(decision, mlflow):
    seen = Seen()
    log_decision(decision, seen)
    with mlflow.start_run() as run:
        log_decision(decision, MlflowWatcher())
    wanted = {name: [(0, value)] for name, value in seen.values.items()}
    for name, value, step in seen.points:
        wanted.setdefault(name, []).append((step, value))
    curves, words = read_back(mlflow, run)
    assert curves == wanted
    assert words == seen.texts["dris/decision"]


@pytest.mark.frameworks
def test_a_watcher_that_forgets_the_step_is_found_out_by_reading_back(decision, mlflow):
    class Forgetful(MlflowWatcher):
        def point(self, name, value, step):
            super().point(name, value, 0)

    with mlflow.start_run() as run:
        log_decision(decision, Forgetful())
    curves, _ = read_back(mlflow, run)
    assert {step for step, _ in curves["dris/seen/loss/proxy_0"]} == {0}


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_decision_as_a_frame_has_a_row_per_example(decision, kind):
    pytest.importorskip(kind)
    frame = decision.to_frame(kind)
    assert len(frame) == 240
    assert int(frame["kept"].sum()) == len(decision.kept)
    assert int(frame["suspect"].sum()) == len(decision.suspects)
    assert frame["suspicion"].to_list() == decision.suspicion.tolist()
    worst = decision.suspects.positions[0]
    assert frame["given"].to_list()[worst] != frame["suggested"].to_list()[worst]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_dynamics_as_a_frame_have_a_row_per_proxy_epoch_and_example(decision, kind):
    pytest.importorskip(kind)
    dynamics = decision.scored.dynamics
    frame = dynamics.to_frame(kind)
    k, e, n = np.asarray(dynamics.columns["loss"]).shape
    assert len(frame) == k * e * n
    row = {name: frame[name].to_list()[n + 3] for name in ("proxy", "epoch", "id", "loss")}
    assert row["proxy"] == 0
    assert row["epoch"] == dynamics.epochs[1]
    assert row["id"] == dynamics.ids[3]
    assert row["loss"] == dynamics.columns["loss"][0, 1, 3]


def test_a_frame_of_another_kind_is_refused(decision):
    with pytest.raises(dris.InputError, match="pandas or polars"):
        decision.to_frame("spark")
