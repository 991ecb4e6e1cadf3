"""A toy that trains with NumPy and keeps its run in a store, and a process that forks such toys.

As a script it reads jobs from standard input, one JSON object per line, and forks a child for
each: fresh processes to kill, without importing NumPy again every time.
"""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import numpy as np

from dris.core.dynamics import dynamics_file as array_file
from dris.core.dynamics.dynamics import Dynamics
from dris.core.files import write_atomically
from dris.core.streams import rng_for
from dris.learn.store import runs
from dris.learn.store.run_store import Store
from dris.learn.store.runs import Run

KEY = {"model": "toy", "epochs": 3, "seed": 0}


def train(root, *, epochs=3, width=5, log=None, wait=True, stop_after=None, pause=0.0):
    """Walk `width` weights at random; their sizes are the losses."""
    begun = time.monotonic()
    run = Store(root).run({**KEY, "epochs": epochs, "width": width})
    if run.done:
        return run.load()
    with run.locked(wait=wait):
        if run.done:
            return run.load()
        rng, weights, records, last = rng_for(0, "toy"), np.zeros(width), [], run.checkpoint()
        if last is not None:
            weights, records = last.state["weights"], list(last.records)
            rng.bit_generator.state = json.loads(last.state["rng"].tobytes())
        told(log, "start", len(records))
        for epoch in range(len(records) + 1, epochs + 1):
            time.sleep(pause)
            weights += rng.normal(size=width)
            record = {"loss": np.abs(weights).astype(np.float32), "correct": weights > 0}
            # The generator's state is a small JSON document; as bytes it is an array.
            drawn = np.frombuffer(json.dumps(rng.bit_generator.state).encode(), dtype=np.uint8)
            run.save_epochs([record], {"weights": weights, "rng": drawn})
            told(log, "saved", epoch)
            records.append(record)
            if epoch == stop_after:
                return None
        columns = {n: np.stack([r[n] for r in records])[None] for n in ("loss", "correct")}
        run.finish(Dynamics.from_arrays(**columns), seconds=time.monotonic() - begun)
    return run.load()


def told(log, what, epoch):
    if log is not None:
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{what} {epoch}\n")


# Faults: the k-th call that touches the disk kills the process, or fails as on a full disk
@contextmanager
def fault(kind, k):
    left = [k]

    def due():
        left[0] -= 1
        return left[0] == 0

    def strike():
        if kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def failing(call):
        def instead(*args, **named):
            return strike() if due() else call(*args, **named)

        return instead

    class Half:
        """A file whose k-th write stops half-way."""

        def __init__(self, file):
            self.file, self.flush, self.fileno = file, file.flush, file.fileno

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, data):
            if due():
                self.file.write(bytes(data)[: len(data) // 2])
                self.file.flush()
                strike()
            self.file.write(data)

    opened = Path.open

    def half_open(path, mode="r", *more, **named):
        file = opened(path, mode, *more, **named)
        return Half(file) if mode == "xb" else file

    with ExitStack() as patches:
        for name in ("replace", "rename", "fsync", "unlink"):
            patches.enter_context(mock.patch.object(os, name, failing(getattr(os, name))))
        patches.enter_context(mock.patch.object(Path, "open", half_open))
        yield


# Twins: stores that are wrong on purpose
def careless_write(path, pieces):
    Path(path).unlink(missing_ok=True)
    with Path(path).open("xb") as file:
        for piece in pieces:
            file.write(piece)
    return path


def state_before_record(run, records, state):
    epoch = run._saved + 1
    run._write(runs.STATE, state, epoch)
    run._write(runs._record(epoch), records[0], epoch)
    run._saved = epoch


def epochs_dropped_before_the_result(run, dynamics, *, seconds):
    for path in [run.folder / runs.STATE, *run.folder.glob(runs.RECORDS)]:
        os.unlink(path)
    write_atomically(run.folder / runs.TIMING, [str(seconds).encode()])
    dynamics.save(run.folder / runs.DYNAMICS)
    run._seal()


TWINS = {
    "careless write": [(m, "write_atomically", careless_write) for m in (array_file, runs)],
    "state before record": [(Run, "save_epochs", state_before_record)],
    "epochs dropped first": [(Run, "finish", epochs_dropped_before_the_result)],
}


def toy(root, *, twin=None, strike=None, file_limit=None, **named):
    with ExitStack() as patches:
        # A kill loses nothing that was handed to the kernel; only a power cut would.
        patches.enter_context(mock.patch.object(os, "fsync"))
        for target, name, wrong in TWINS.get(twin, []):
            patches.enter_context(mock.patch.object(target, name, wrong))
        if strike:
            patches.enter_context(fault(*strike))
        if file_limit:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
        train(root, **named)


def hold(root, *, log, orphan=False):
    with Store(root).run(KEY).locked():
        child = os.fork() if orphan else 0
        if not orphan or child:
            told(log, "held", child)
        time.sleep(60)


JOBS = {"toy": toy, "hold": hold}


def serve():
    for line in sys.stdin:
        job = json.loads(line)
        kind = job.pop("job")
        if kind == "wait":
            answer = os.waitstatus_to_exitcode(os.waitpid(job["pid"], 0)[1])
        else:
            answer = os.fork() or _child(JOBS[kind], job)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def _child(job, named):
    code = 1
    try:
        job(**named)
        code = 0
    except OSError as error:
        told(named.get("log"), f"OSError {error}", 0)
        code = 3
    finally:
        os._exit(code)


class Nursery:
    """Starts children; each keeps its number until it is waited for, so none else is killed."""

    def __enter__(self):
        path = os.pathsep.join([str(Path(runs.__file__).parents[3]), *filter(None, sys.path)])
        self.server = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
            encoding="utf-8",
        )
        return self

    def __exit__(self, *_):
        self.server.communicate(timeout=20)

    def start(self, root, job="toy", **named):
        return self._ask(job=job, root=str(root), **named)

    def wait(self, pid):
        return self._ask(job="wait", pid=pid)

    def run(self, root, **named):
        return self.wait(self.start(root, **named))

    def _ask(self, **job):
        self.server.stdin.write(json.dumps(job) + "\n")
        self.server.stdin.flush()
        return int(self.server.stdout.readline())


if __name__ == "__main__":
    serve()
