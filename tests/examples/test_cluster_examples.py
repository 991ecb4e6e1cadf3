"""The examples about several processes and several machines, run as a user runs them."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from commands import run_python

# Both start several Python processes that import torch or Ray: for `make test-all`.
pytestmark = pytest.mark.frameworks
EXAMPLES = Path(__file__).parents[2] / "examples"

# Runs a script to its end, and says which threads of its process group are left.
LEFT = """
import runpy, sys
from pathlib import Path
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
print("threads left:", sum("gloo" in name for name in names))
"""
# The mistake: what DistributedDataParallel imports when there is a group holds on to it.
HELD = """
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
del model
dist.destroy_process_group()
"""


def run(*words):
    return run_python(*words, OMP_NUM_THREADS="1")


@pytest.fixture(scope="module")
def online(tmp_path_factory):
    """What one process and two did, by real torchrun, and two that were not told their rank."""
    pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')
    folder = tmp_path_factory.mktemp("ddp")

    def torchrun(processes, *words):
        script = [EXAMPLES / "ddp_online.py", "--out", folder, *words]
        launch = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        run(*launch, *script)
        return json.loads((folder / f"ddp-{processes}.json").read_text(encoding="utf-8"))

    return torchrun(1), torchrun(2), torchrun(2, "--same-draws")


@pytest.fixture(scope="module")
def tolerance():
    spec = importlib.util.spec_from_file_location("ddp_online", EXAMPLES / "ddp_online.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TOLERANCE


def test_the_united_draws_of_two_processes_are_those_of_one(online):
    one, two, untold = online
    assert len(one["draws"]) == 5 * (1797 // 64) * 64
    assert two["draws"] == one["draws"]
    assert untold["draws"] != one["draws"]  # the comparison can fail


def test_the_final_loss_of_two_processes_is_that_of_one(online, tolerance, capfd):
    one, two, untold = online
    off, off_untold = (abs(other["loss"] / one["loss"] - 1) for other in (two, untold))
    with capfd.disabled():
        told = f"final losses {one['loss']:.9f} and {two['loss']:.9f}, apart by {off:.2g}"
        print(f"\n{told} (tolerance {tolerance:g}); untold {off_untold:.2g}", file=sys.stderr)  # noqa: T201
    assert one["loss"] < 0.5 * np.log(10)  # has learned something
    assert off <= tolerance
    assert off_untold > tolerance


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads have no names here")
@pytest.mark.parametrize(
    ("name", "alive"), [("ddp_online.py", False), ("accelerate_loop.py", False), ("held.py", True)]
)
def test_no_thread_outlives_the_process_group_of_an_example(tmp_path, name, alive):
    # At the exit such a thread aborted its process in about one of a dozen runs.
    pytest.importorskip("torch")
    if name == "accelerate_loop.py":
        pytest.importorskip("accelerate")
    (tmp_path / "left.py").write_text(LEFT, encoding="utf-8")
    (tmp_path / "held.py").write_text(HELD, encoding="utf-8")
    script = tmp_path / name if alive else EXAMPLES / name
    words = ["--out", tmp_path] if name == "ddp_online.py" else []
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=1"]
    done = run(*launch, tmp_path / "left.py", script, *words)
    assert (int(done.split("threads left:")[1]) > 0) == alive


def test_the_example_on_ray_gives_the_bytes_of_one_machine():
    pytest.importorskip("ray", reason='ray is missing: pip install "dris[ray]"')
    done = run(EXAMPLES / "ray_cluster.py")
    assert "the same bytes as on one machine: yes" in done
