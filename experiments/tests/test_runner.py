"""Cells are computed once, killed work goes on, and tables come from records alone."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

import experiments.kinds.static_cell as static_kind
from dris import InputError
from experiments import runner
from experiments.costs import cost_of
from experiments.dris_internals import MANIFEST, Engine, make_scratch
from experiments.paper import contamination
from experiments.records import ROWS, Records, gather, read_records, write_records
from experiments.registry import EXPERIMENTS, experiment_of
from experiments.runner import adopt, missing, run
from experiments.scales import scale_of
from experiments.spec import CLEAN, Cell, Noise
from experiments.workspace import Workspace

SETUP = scale_of("smoke").setups[0]
ROOT = Path(static_kind.__file__).parents[2]
SOURCE = os.pathsep.join([str(ROOT / "src"), str(ROOT)])


def static(rule, noise=CLEAN, seed=0):
    return Cell("static", SETUP.source, noise, SETUP.ensemble, rule, 0.25, SETUP.target, seed)


def cells():
    return [
        static(rule, noise)
        for noise in (CLEAN, Noise("uniform", 0.1))
        for rule in ("random", "aum")
    ]


def record_bytes(out):
    return {
        p.name: p.read_bytes() for p in (out / "records").glob("*.json") if ".time" not in p.name
    }


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("finished")
    run(cells(), out=out, workspace=Workspace(out / "runs"), workers=1)
    return out


def test_a_cell_is_its_content():
    a = static("aum")
    for other in (
        replace(a, seed=1),
        replace(a, keep=0.5),
        replace(a, rule="el2n"),
        replace(a, source=replace(a.source, own="0a1b")),
        static("aum", Noise("uniform", 0.1)),
    ):
        assert other.key != a.key
    assert static("aum").key == a.key


def test_deleting_one_record_computes_just_that_cell(finished, tmp_path, monkeypatch):
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    before = record_bytes(out)
    gone = cells()[3]
    (out / "records" / f"{gone.key}.json").unlink()
    assert missing(cells(), out) == [gone]
    trained = []
    real = static_kind.train_target
    monkeypatch.setattr(
        static_kind, "train_target", lambda *a, **k: trained.append(a[3].rule) or real(*a, **k)
    )
    run(cells(), out=out, workspace=Workspace(out / "runs"), workers=1)
    assert len(trained) == 1
    assert record_bytes(out) == before
    run(cells(), out=out, workspace=Workspace(out / "runs"), workers=1)
    assert len(trained) == 1


def test_finished_cells_are_taken_from_compact_records_and_not_computed_again(
    finished, tmp_path, monkeypatch
):
    have = run(cells(), out=finished, workspace=Workspace(finished / "runs"), workers=1)
    path = write_records(gather("pruning", "smoke", have[:3]), tmp_path / "pruning.json")
    known, out = read_records(path), tmp_path / "out"
    assert (adopted := adopt(cells(), known, out)).cells == 3
    assert adopted.otherwise == {}  # all of it was made here
    assert missing(cells(), out) == cells()[3:]
    assert adopt(cells(), known, out).cells == 0
    trained = []
    real = static_kind.train_target
    monkeypatch.setattr(
        static_kind, "train_target", lambda *a, **k: trained.append(a[3].rule) or real(*a, **k)
    )
    again = run(cells(), out=out, workspace=Workspace(out / "runs"), workers=1)
    assert len(trained) == 1
    assert gather("", "", again[:3]).rows == gather("", "", have[:3]).rows
    # The twin: another cell is not what the records have, nor is a row without a key.
    assert adopt([replace(cells()[0], seed=1)], known, out).cells == 0
    for number, change in enumerate(({"key": ""}, {"gate_set_by": "all canaries"})):
        old = replace(known, rows=tuple({**row, **change} for row in known.rows))
        assert adopt(cells(), old, tmp_path / f"other-{number}").cells == 0


def test_records_say_what_they_were_made_with_and_mixing_is_told(finished, tmp_path):
    have = run(cells(), out=finished, workspace=Workspace(finished / "runs"), workers=1)
    known = gather("pruning", "smoke", have)
    (made,) = known.made
    assert {"commit", "cpu", "threads", "torch", "numpy", "device"} <= set(made)
    other = {**made, "cpu": "another"}
    mixed = replace(known, rows=(known.rows[0], *({**r, "made": other} for r in known.rows[1:])))
    again = read_records(write_records(mixed, tmp_path / "pruning.json"))
    assert again.made == [made, other]
    assert adopt(cells(), again, tmp_path / "out").otherwise == {"cpu another": 3}


def test_a_cost_does_not_count_proxies_that_finished_cells_did_not_train(finished, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    wanted = [*cells(), replace(static("aum"), seed=1)]
    before = cost_of(wanted, out, device="cpu").seconds
    for path in (out / "records").glob("*.time.json"):
        seconds = json.loads(path.read_text())
        path.write_text(json.dumps({**seconds, "scoring cpu": 0.0}))  # proxies from elsewhere
    assert cost_of(wanted, out, device="cpu").seconds == before > 0


def test_each_gpu_has_one_process_and_whole_groups(tmp_path, monkeypatch):
    seen = {}

    def run_all(work, tasks, *, workers, **rest):
        seen.update(tasks=tasks, workers=workers)

    monkeypatch.setattr(runner, "devices_of", lambda device: ["cuda:0", "cuda:1"])
    monkeypatch.setattr(runner, "run_all", run_all)
    gpus = Workspace(tmp_path / "runs", device="cuda")
    with pytest.raises(InputError, match="cannot be read"):  # nothing computed, so no records
        run(cells(), out=tmp_path, workspace=gpus, workers=8)
    assert seen["workers"] == 2
    assert [workspace.device for _, _, workspace in seen["tasks"]] == ["cuda:0", "cuda:1"]
    for groups, _, _ in seen["tasks"]:
        assert [len({cell.group for cell in group}) for group in groups] == [1]
    # The twin: on CPUs, and on Ray, every group is a task, and workers are as asked for.
    for device, engine in (("cpu", "local"), ("cuda", Engine("ray"))):
        other = tmp_path / device
        with pytest.raises(InputError, match="cannot be read"):
            run(
                cells(),
                out=other,
                workspace=Workspace(other, device=device),
                workers=8,
                engine=engine,
            )
        assert (len(seen["tasks"]), seen["workers"]) == (2, 8)


def test_what_takes_long_goes_to_the_gpu_that_ends_soonest():
    pytest.importorskip("torch")
    cut, whole = (scale_of(name).setups[0] for name in ("smoke", "paper"))

    def groups(setup, seeds, many, kind="static"):
        one = Cell(kind, setup.source, CLEAN, setup.ensemble, "aum", 0.25, setup.target, 0)
        return [[replace(one, seed=seed, keep=k / 99) for k in range(many)] for seed in seeds]

    long, short = groups(whole, (0, 1), 2), groups(cut, (2, 3), 25)
    dealt = runner.lanes([*short, *long], ["cuda:0", "cuda:1"])
    assert [queue[0] for queue in dealt.values()] == long  # however few cells they are
    # What shares proxies is on one GPU, or the other would wait for it.
    again = groups(whole, (0,), 2, "memory")
    dealt = runner.lanes([*long, *again], ["cuda:0", "cuda:1"])
    assert sorted(map(len, dealt.values())) == [1, 2]
    assert [long[0], *again] in dealt.values()


def test_a_killed_target_goes_on_and_leaves_nothing_behind(tmp_path, monkeypatch):
    cell = replace(static("random"), target=replace(SETUP.target, model="fc"))
    stores = []
    real = static_kind.train_target

    def watched(*arguments, store=None, **how):
        stores.append(store)
        return real(*arguments, store=store, **how)

    monkeypatch.setattr(static_kind, "train_target", watched)
    run([cell], out=tmp_path, workspace=Workspace(tmp_path / "runs"), workers=1)
    (store,) = stores
    assert store == tmp_path / "runs" / "targets" / cell.key
    assert not store.exists()
    # Killed between the record and the removal of its epochs: the next run removes them.
    (make_scratch(store) / "epoch").touch()
    open_ = make_scratch(store.with_name("another"))  # of a cell without a record: they stay
    run([cell], out=tmp_path, workspace=Workspace(tmp_path / "runs"), workers=1)
    assert not store.exists()
    assert open_.exists()
    assert len(stores) == 1


def test_two_runs_of_the_same_cell_at_once_end_alike(tmp_path, monkeypatch):
    cell = replace(static("random"), target=replace(SETUP.target, model="fc"))
    real, began, go_on = static_kind.train_target, threading.Event(), threading.Event()

    def slow(*arguments, **how):
        trained = real(*arguments, **how)
        began.set()
        assert go_on.wait(30)
        return trained

    monkeypatch.setattr(static_kind, "train_target", slow)
    workspace, ended = Workspace(tmp_path / "runs"), []

    def one():
        run([cell], out=tmp_path, workspace=workspace, workers=1)
        ended.append(workspace.epochs_of(cell.key).exists())

    both = [threading.Thread(target=one) for _ in range(2)]
    both[0].start()
    assert began.wait(30)
    both[1].start()
    both[1].join(0.5)  # it waits for the first
    go_on.set()
    for thread in both:
        thread.join(30)
    assert len(ended) == 2
    assert not workspace.epochs_of(cell.key).exists()


def test_the_papers_own_cells_cost_about_nine_gpu_days_and_ours_half_as_much(tmp_path):
    every, printed = [], []
    for name in set(EXPERIMENTS) - {"beyond"}:  # thousands of small cells, none of the paper's
        cells = experiment_of(name).cells(scale_of("paper"))
        every += cells
        printed += EXPERIMENTS[name].printed_cells(cells)
    days = [cost_of(c, tmp_path, device="cuda").seconds / 86_400 for c in (printed, every)]
    assert 7.5 < days[0] < 8.1  # the paper: about 8
    assert 5.5 < days[1] - days[0] < 6.1


def test_one_worker_keeps_its_memory_as_each_of_many_does(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(runner, "keep_freed_memory", lambda: kept.append(os.getpid()))
    for _ in range(2):  # the second time nothing is left to train
        run([static("random")], out=tmp_path, workspace=Workspace(tmp_path / "runs"), workers=1)
    assert kept == [os.getpid()]


@pytest.mark.slow
def test_two_workers_write_the_same_bytes_as_one(finished, tmp_path):
    run(cells(), out=tmp_path, workspace=Workspace(tmp_path / "runs"), workers=2)
    assert record_bytes(tmp_path) == record_bytes(finished)


def test_records_of_a_killed_run_are_kept_and_the_rest_follows(finished, tmp_path):
    """A real SIGKILL once the first record is there; the same call ends in the same bytes."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); from test_runner import *\n"
        "out = Path(sys.argv[1])\n"
        "run(cells(), out=out, workspace=Workspace(out / 'runs'), workers=1)"
    )
    at = dict(os.environ, PYTHONPATH=SOURCE, OMP_NUM_THREADS="1")
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), str(Path(__file__).parent)], env=at
    )
    deadline = time.monotonic() + 240
    while not record_bytes(tmp_path) and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    kept = record_bytes(tmp_path)
    assert kept  # the child had begun
    run(cells(), out=tmp_path, workspace=Workspace(tmp_path / "runs"), workers=1)
    assert record_bytes(tmp_path) == record_bytes(finished)
    assert kept.items() <= record_bytes(tmp_path).items()


def test_records_written_and_read_back_are_the_same(finished, tmp_path):
    result = gather(
        "pruning", "smoke", run(cells(), out=finished, workspace=Workspace(finished / "runs"))
    )
    assert read_records(write_records(result, tmp_path / "a.json")) == result
    assert result.values("size", rule="aum", noise=CLEAN) == [100]
    assert result.values("size", rule="aum", noise=Noise("targeted", 0.25)) == []


def test_seconds_lie_beside_the_records_so_that_those_of_two_runs_are_the_same_bytes(tmp_path):
    def timed(seconds, name):
        rows = ({"seed": 0, "result": {"a": 1}, "seconds": seconds, "made": {}},)
        return write_records(Records("times", "cpu", rows, 1), tmp_path / name)

    one, other = timed({"target": 1.5}, "one.json"), timed({"target": 2.5}, "other.json")
    assert one.read_bytes() == other.read_bytes()
    assert read_records(one).rows[0]["seconds"] == {"target": 1.5}
    # The twin: the clock is what differs, and it is kept.
    clocks = [path.with_suffix(".time.json") for path in (one, other)]
    assert clocks[0].read_bytes() != clocks[1].read_bytes()
    timed({}, "one.json")
    assert not clocks[0].exists()  # no seconds of an earlier run stand beside other records


def test_damaged_records_are_one_sentence(tmp_path):
    rows = ({"seed": 0, "result": {}, "seconds": {"target": 1.5}},)
    path = write_records(Records("times", "cpu", rows, 1), tmp_path / "a.json")
    whole = path.with_suffix(".time.json").read_bytes()
    for target, bytes_ in ((".time.json", b"[]"), (".time.json", b"["), (".json", b"{}")):
        path.with_suffix(".time.json").write_bytes(whole)
        path.with_suffix(target).write_bytes(bytes_)
        with pytest.raises(InputError, match="cannot be read"):
            read_records(path)


def test_many_rows_go_into_several_files_and_come_back(tmp_path):
    rows = tuple({"seed": n, "result": {}, "seconds": {}, "made": {}} for n in range(2 * ROWS + 1))
    many = Records("beyond", "cpu", rows, len(rows))
    path = write_records(many, tmp_path / "beyond.json")
    names = sorted(p.name for p in tmp_path.iterdir())
    assert names == [MANIFEST, "beyond-2.json", "beyond-3.json", "beyond.json"]
    assert read_records(path) == many
    few = replace(many, rows=rows[:1])
    assert read_records(write_records(few, path)) == few  # what was left over is gone


def test_a_cost_is_by_count_until_something_was_measured(finished, tmp_path):
    fresh, known = (
        cost_of(cells(), tmp_path, device="cpu"),
        cost_of(cells(), finished, device="cpu"),
    )
    assert (fresh.left, fresh.measured, known.left) == (4, False, 0)
    assert cost_of([*cells(), static("el2n")], finished, device="cpu").measured
    long = replace(SETUP.target, recipe=replace(SETUP.target.recipe, epochs=400))
    extra = [
        cost_of([*cells(), c], finished, device="cpu").seconds
        for c in (static("el2n"), replace(static("el2n"), target=long))
    ]
    assert extra[1] > 10 * extra[0] > 0  # a long target is not taken for one of those finished
    alone = [static("el2n")]  # none of them is finished, others of the experiment are
    told = [cost_of(alone, finished, device="cpu", like=like) for like in ((), cells())]
    assert [(c.left, c.measured) for c in told] == [(1, False), (1, True)]
    assert told[1].seconds != told[0].seconds
    whole = scale_of("paper").setups[0]
    one = Cell("static", whole.source, CLEAN, whole.ensemble, "random", 0.25, whole.target, 0)
    hours = cost_of([one], tmp_path, device="cuda").seconds / 3600
    assert 0.1 < hours < 3  # the paper: 24 minutes, and the proxies


def test_a_core_waits_longer_for_a_thin_network_than_its_products_say(tmp_path):
    pytest.importorskip("torch")
    [anchor] = contamination.anchors(scale_of("mid", seeds=1))
    resnet, mobilenet, _ = anchor.ensemble.models

    def seconds(model, device):
        alone = replace(anchor, ensemble=replace(anchor.ensemble, models=(model,)))
        return cost_of([alone], tmp_path, device=device).seconds

    assert 1.8 < seconds(mobilenet, "cpu") / seconds(resnet, "cpu") < 2.4  # steps: 811 and 376 ms
    assert seconds(mobilenet, "cuda") < seconds(resnet, "cuda")  # by products alone


# -- the command -----------------------------------------------------------------------------------


def test_the_command_takes_known_records_and_names_what_is_missing(experiments, finished, tmp_path):
    have = run(cells(), out=finished, workspace=Workspace(finished / "runs"), workers=1)
    write_records(gather("pruning", "smoke", have), tmp_path / "pruning.json")
    common = ["pruning", "--scale", "smoke", "--dry-run", "--out", str(tmp_path / "o")]
    code, _, told = experiments(*common, "--known", str(tmp_path))
    assert code == 0
    assert "4 finished cells taken from" in told
    code, out, told = experiments(*common, "--rule", "el2n", "--known", str(tmp_path))
    assert "8 cells, 8 to run" in out
    assert "(measured on finished cells)" in out  # those of other rules
    code, _, told = experiments(*common, "--known", str(tmp_path / "nothing"))
    assert code != 0
    assert "has none of pruning.json" in told


def test_an_experiment_takes_the_cells_that_it_shares_from_the_records_of_another(
    experiments, tmp_path
):
    pytest.importorskip("torch")
    shared = [c for c in experiment_of("augmentation").cells(scale_of("smoke")) if c.seed == 0][:6]
    rows = [{"key": c.key, "seed": 0, "result": {"accuracy": 0.5}} for c in shared]
    write_records(Records("pruning", "smoke", tuple(rows)), tmp_path / "pruning.json")
    words = ["augmentation", "--scale", "smoke", "--dry-run", "--known", str(tmp_path)]
    code, out, told = experiments(*words, "--out", str(tmp_path / "o"))
    assert code == 0
    assert "6 finished cells taken from" in told
    assert "42 cells, 36 to run" in out


def test_dry_run_lists_every_cell_and_trains_nothing(experiments, tmp_path):
    pytest.importorskip("torch")
    code, out, _ = experiments(
        "pruning",
        "--scale",
        "cpu",
        "--dry-run",
        "--out",
        str(tmp_path),
    )
    assert code == 0
    assert out.count("cifar100, 8,000 examples") == 3 * 4 * 6
    assert "in all: 156 cells, 156 to run, about" in out
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing"], "experiment must be one of pruning"),
        ([], "name an experiment"),
        (["pruning", "--scale", "huge"], "scale must be one of smoke, cpu, mid, paper"),
        (["pruning", "--records", "no-such-folder"], "no such file"),
    ],
)
def test_what_cannot_be_reproduced_is_one_sentence(experiments, words, told, tmp_path):
    code, out, error = experiments(*words, "--out", str(tmp_path))
    assert (code, out) == (1, "")
    assert told in error
    assert len(error.strip().splitlines()) == 1


def test_tables_come_from_records_without_torch(finished, tmp_path):
    """In a process where torch cannot be imported, as for whoever has none."""
    result = gather(
        "pruning", "smoke", run(cells(), out=finished, workspace=Workspace(finished / "runs"))
    )
    write_records(result, tmp_path / "pruning.json")
    code = "import sys; sys.modules['torch'] = None; from experiments.__main__ import main\n"
    code += "main(sys.argv[1:])"
    words = ["pruning", "--scale", "smoke", "--records", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", code, *words, "--out", str(tmp_path / "out")],
        env=dict(os.environ, PYTHONPATH=SOURCE),
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert "Static pruning" in done.stdout
    page = (tmp_path / "out/smoke/results/pruning.md").read_text(encoding="utf-8")
    assert "| AUM, top |" in page
    assert (tmp_path / "out/smoke/results/images/pruning.svg").stat().st_size > 5_000
