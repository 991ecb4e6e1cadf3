"""A real Ray cluster of several nodes: the bytes of the local engine, whatever is killed.

What was killed, and what came of it, is said in the log of the run.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dris
from commands import until
from dris.cli import main
from dris.core.errors import InputError
from dris.learn.engines.tasks import Engine, run_all
from dris.learn.proxies import train_proxies
from dris.learn.ranking.rank_shards import rank_shards
from dris.learn.store.run_store import Store
from dris.learn.trainers.job import DivergedError
from made_people import write_people
from made_shards import losses_of, write_shards

pytestmark = pytest.mark.frameworks
ray = pytest.importorskip("ray", reason='ray is missing: pip install "dris[ray]"')
ray_training = pytest.importorskip("ray_training", reason="torch is missing")

from ray.cluster_utils import Cluster  # noqa: E402

MEMORY = 100 * 2**20
TESTS = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def held_steps(tmp_path_factory):
    return tmp_path_factory.mktemp("held")


@pytest.fixture(scope="module")
def cluster(held_steps):
    """A head that runs no task, and two nodes of one CPU each."""
    paths = [str(Path(dris.__file__).parents[1]), str(TESTS)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        head = {"num_cpus": 0, "object_store_memory": MEMORY, "include_dashboard": False}
        made = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(2):
            join(made, held_steps)
        yield made
        ray.shutdown()
        made.shutdown()


def join(cluster, folder, **resources):
    """Add a node whose processes count their steps in the folder; this process does not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ray_training.FOLDER, str(folder))
        return cluster.add_node(**{"num_cpus": 1, **resources}, object_store_memory=MEMORY)


@pytest.fixture
def steps(held_steps):
    """The folder that steps are counted in, empty."""
    for path in held_steps.iterdir():
        path.unlink()
    return held_steps


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What the local engine gives, in bytes."""
    return ray_training.train(workers=1).save(tmp_path_factory.mktemp("w") / "d").read_bytes()


def saved(dynamics, folder):
    return dynamics.save(folder / "dynamics").read_bytes()


def on(cluster, **how):
    return Engine("ray", address=cluster.address, **how)


class Training(threading.Thread):
    """A training in the background, to do harm meanwhile."""

    def __init__(self, **how):
        super().__init__(daemon=True)
        self.how, self.result, self.error = how, None, None
        self.start()

    def run(self):
        try:
            self.result = ray_training.train(**self.how)
        except Exception as error:
            self.error = error

    def ended(self):
        self.join(timeout=180)
        assert not self.is_alive()
        return self


def held(steps, others="bc"):
    """Where proxy a is held, once the other proxies are through with their steps."""
    until(lambda: (steps / "held-a").exists())
    until(lambda: all(ray_training.taken(steps, o) == ray_training.STEPS for o in others))
    time.sleep(1)  # for what is finished to be written and sent
    return json.loads((steps / "held-a").read_text(encoding="utf-8"))


def counted(steps):
    return {letter: ray_training.taken(steps, letter) for letter in "abc"}


@pytest.fixture(params=["a disk that nodes see", "a disk of the driver's own"])
def store(request, tmp_path):
    """A store that nodes see, and one that only this process finds under its path."""
    (tmp_path / "runs").mkdir()
    if request.param == "a disk that nodes see":
        yield Store(tmp_path / "runs"), True
        return
    folder = os.open(tmp_path / "runs", os.O_RDONLY)
    yield Store(f"/proc/self/fd/{folder}"), False
    os.close(folder)


def test_networks_give_the_bytes_of_the_local_engine_and_are_not_trained_again(
    cluster, steps, whole, store, tmp_path
):
    kept, _ = store
    seen = []
    got = ray_training.train(
        engine=on(cluster), store=kept, progress=lambda *told: seen.append(told)
    )
    assert saved(got, tmp_path) == whole
    assert counted(steps) == dict.fromkeys("abc", ray_training.STEPS)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (18, 18)
    assert saved(ray_training.train(engine=on(cluster), store=kept), tmp_path) == whole
    assert saved(ray_training.train(workers=1, store=kept), tmp_path) == whole
    assert counted(steps) == dict.fromkeys("abc", ray_training.STEPS)  # found, not trained
    other = ray_training.train(engine=on(cluster), store=kept, rival=True)
    assert saved(other, tmp_path) != whole  # the comparison can fail
    assert {info.state for info in kept.runs()} == {"done"}
    assert not list(kept.root.glob(".seen-*"))


@pytest.mark.parametrize("how", [{}, {"cross_fit": 2}, {"record": "scored"}], ids=str)
@pytest.mark.parametrize("model", [["mlp", "sgd_log"], "mlp"], ids=str)
def test_tables_give_the_bytes_of_the_local_engine(cluster, how, model, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 300))  # past what Ray sends along with a task
    y = (x[:, 0] + rng.normal(size=400) > 0).astype(int)
    if how and model != "mlp" and "record" in how:
        how = {}
    asked = {"proxies": 2, "epochs": 3, "model": model, **how}
    local = train_proxies(x, y, **asked, workers=1)
    there = train_proxies(x, y, **asked, engine=on(cluster))
    assert saved(there, tmp_path) == saved(local, tmp_path)
    store = Store(tmp_path / "store")
    for got, trained in ((0, 2), (2, 2)):
        kept = train_proxies(x, y, **asked, engine=on(cluster), store=store)
        assert saved(kept, tmp_path) == saved(local, tmp_path)
        assert (store.found, store.trained) == (got, trained)


def test_the_command_line_writes_what_it_writes_here(cluster, tmp_path, monkeypatch):
    write_people(tmp_path / "people.csv", 400)
    columns = ["--label", "income", "--id", "person", "--trusted", "checked"]
    asked = ["clean", "people.csv", *columns, "--epochs", "2", "--model", "sgd_log"]
    monkeypatch.chdir(tmp_path)
    engines = {
        "here": ["--workers", "1"],
        "there": ["--engine", "ray", "--address", cluster.address],
    }
    for out, engine in engines.items():
        monkeypatch.setattr(sys, "argv", ["dris", *asked, *engine, "--out", out])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
    written = [Path(out, "issues.csv").read_bytes() for out in engines]
    assert written[0] == written[1]


def test_shards_ranked_on_the_cluster_are_those_ranked_here(cluster, tmp_path):
    """A task per shard and pass: histograms, the sort on disk, and what is kept."""
    shards = write_shards(tmp_path / "in", losses_of(3000))
    for exact in (False, True):
        here, there = tmp_path / f"here-{exact}", tmp_path / f"there-{exact}"
        rank_shards(shards, here, exact=exact, bits=12, keep=0.3, workers=1)
        rank_shards(shards, there, exact=exact, bits=12, keep=0.3, engine=on(cluster))
        names = sorted(path.name for path in here.glob("*.parquet"))
        assert len(names) > 2
        assert [(there / n).read_bytes() for n in names] == [(here / n).read_bytes() for n in names]


def check_steps(steps, before, on_disk):
    """Proxy a went on from what was on disk, or from its beginning; the others ran once."""
    again = ray_training.STEPS - (2 * ray_training.PER_EPOCH if on_disk else 0)
    assert counted(steps) == {"a": before["a"] + again, "b": 24, "c": 24}


def test_a_killed_worker_process_costs_its_own_steps_only(cluster, steps, whole, store, tmp_path):
    kept, shared = store
    (steps / "hold-a").touch()
    training = Training(engine=on(cluster), store=kept)
    place = held(steps)
    before = counted(steps)
    os.kill(place["pid"], signal.SIGKILL)
    (steps / "hold-a").unlink()
    assert saved(training.ended().result, tmp_path) == whole
    check_steps(steps, before, shared)


@pytest.mark.parametrize("kept", [True, False], ids=["with a store", "without a store"])
def test_a_removed_node_costs_what_it_had_not_finished(cluster, steps, whole, tmp_path, kept):
    (steps / "hold-a").touch()
    training = Training(engine=on(cluster), store=tmp_path / "runs" if kept else None)
    place = held(steps)
    before = counted(steps)
    (node,) = [n for n in cluster.worker_nodes if n.node_id == place["node"]]
    cluster.remove_node(node, allow_graceful=False)
    until(lambda: not Path(f"/proc/{place['pid']}").exists())  # processes outlive their node
    (steps / "hold-a").unlink()
    got = training.ended().result
    join(cluster, steps)
    assert saved(got, tmp_path) == whole
    check_steps(steps, before, kept)


def test_without_retries_a_killed_worker_is_an_error_and_the_finished_are_kept(
    cluster, steps, whole, tmp_path
):
    (steps / "hold-a").touch()
    training = Training(engine=on(cluster, retries=0), store=tmp_path / "runs")
    place = held(steps)
    os.kill(place["pid"], signal.SIGKILL)
    (steps / "hold-a").unlink()
    error = training.ended().error
    assert isinstance(error, InputError)
    assert "task 1 of 3 was lost" in str(error)
    assert "\n" not in str(error)
    got = ray_training.train(engine=on(cluster), store=tmp_path / "runs")
    assert saved(got, tmp_path) == whole
    assert counted(steps) == {"a": 26, "b": 24, "c": 24}


def test_a_killed_driver_goes_on_where_it_was(cluster, steps, whole, tmp_path):
    kept = tmp_path / "runs"
    (steps / "hold-a").touch()
    paths = [str(Path(dris.__file__).parents[1]), str(TESTS)]
    driver = subprocess.Popen(
        [sys.executable, ray_training.__file__, cluster.address, str(kept)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    held(steps)
    driver.kill()
    driver.wait()
    (steps / "hold-a").unlink()
    got = ray_training.train(engine=on(cluster), store=kept)
    assert saved(got, tmp_path) == whole
    assert counted(steps)["b"] == counted(steps)["c"] == 24


def doubled(value, shared, tick):
    for _ in range(value):
        tick()
    return 2 * value, shared.flags.writeable, shared.flags.owndata, float(shared[0])


def refusing(value, tick):
    if value == 1:
        raise InputError(f"value must not be 1, got {value}; use 2")
    return value


def long_or_wrong(value, path, tick):
    if value == 0:
        path.write_text(str(os.getpid()), encoding="utf-8")
        time.sleep(600)
    until(lambda: path.exists() and path.read_text(encoding="utf-8"))
    raise InputError("no")


def diverging(value, tick):
    error = DivergedError("proxy 0 diverged")
    error.step = 7
    return error


def placed(value, tick):
    return ray.get_runtime_context().get_node_id()


def test_results_come_in_order_and_shared_arrays_are_not_copied(cluster):
    seen, big = [], np.ones(10**6)
    got = run_all(
        doubled,
        [(3, big), (0, big), (2, big)],
        workers=None,
        engine=on(cluster),
        progress=lambda *told: seen.append(told),
        total=5,
    )
    assert got == [(6, False, False, 1.0), (0, False, False, 1.0), (4, False, False, 1.0)]
    assert seen[-1] == (5, 5)


def test_an_error_of_a_task_ends_the_others(cluster, tmp_path):
    path = tmp_path / "pid"
    with pytest.raises(InputError, match="no"):
        run_all(long_or_wrong, [(0, path), (1, path)], workers=None, engine=on(cluster))
    until(lambda: not Path(f"/proc/{path.read_text(encoding='utf-8')}").exists(), seconds=60)


def test_a_diverged_proxy_comes_back_as_what_it_is(cluster):
    (got,) = run_all(diverging, [(0,)], workers=None, engine=on(cluster))
    assert (type(got), got.step) == (DivergedError, 7)


def test_a_task_runs_where_its_resources_are(cluster, steps):
    node = join(cluster, steps, num_gpus=2)
    got = run_all(placed, [(i,) for i in range(3)], workers=None, engine=on(cluster, gpus=1))
    cluster.remove_node(node)
    assert set(got) == {node.node_id}


def test_a_folder_that_nodes_do_not_see_is_an_error(cluster, tmp_path):
    handle = os.open(tmp_path, os.O_RDONLY)
    hidden = Path(f"/proc/self/fd/{handle}")
    with pytest.raises(InputError, match=r"does not see .* share"):
        run_all(refusing, [(0,)], workers=None, engine=on(cluster), folder=hidden)
    os.close(handle)
    assert run_all(refusing, [(0,)], workers=None, engine=on(cluster), folder=tmp_path) == [0]


def test_too_large_a_wish_is_said_and_waits_for_a_node(cluster, steps, caplog):
    with ThreadPoolExecutor(1) as pool:
        engine = on(cluster, cpus=3)
        waiting = pool.submit(run_all, refusing, [(0,)], workers=None, engine=engine)
        until(lambda: "no node of the Ray cluster has 3 CPUs and 0 GPUs" in caplog.text)
        assert not waiting.done()
        node = join(cluster, steps, num_cpus=3)
        assert waiting.result(timeout=60) == [0]
    cluster.remove_node(node)
