"""Where independent tasks run: in processes of this machine, or on the nodes of a Ray cluster."""

from dataclasses import dataclass

from dris.core.errors import InputError
from dris.core.validate import check_count
from dris.learn.extras import require

ENGINES = ("local", "ray")


@dataclass(frozen=True, slots=True)
class Engine:
    """How tasks are run; the result is the same, to the byte."""

    name: str = "local"  # "local", joblib's processes, or "ray", which needs the extra `ray`
    # of the Ray cluster: host:port, "auto" for the one that this machine belongs to. Not given,
    # RAY_ADDRESS names it, or Ray finds or starts one on this machine
    address: str | None = None
    # that Ray reserves for each task. A proxy computes in one thread; ask for more where its
    # memory, not its time, decides how many fit on a node
    cpus: float = 1
    gpus: float = 0  # that Ray reserves for each task; 0.5 lets two tasks share one
    retries: int = 3  # how often a task is run again when its process or its node dies

    def __post_init__(self) -> None:
        if self.name not in ENGINES:
            raise InputError(f"engine must be one of {', '.join(ENGINES)}, got {self.name!r}")
        given = (self.address, self.cpus, self.gpus, self.retries)
        if self.name == "local" and given != (None, 1, 0, 3):
            raise InputError(
                "address, cpus, gpus and retries are for Ray, the engine is local; use engine ray"
            )
        if not self.cpus > 0:
            raise InputError(f"cpus must be above 0, got {self.cpus}")
        if not (0 <= self.gpus <= 1 or (self.gpus > 0 and float(self.gpus).is_integer())):
            raise InputError(f"gpus must be a share of one or a whole number, got {self.gpus}")
        check_count(self.retries, "retries", at_least=0)

    def devices(self, device: str) -> list[str]:
        """The devices that proxies are dealt out to; a task on Ray sees its own GPUs only."""
        if self.name == "local" or device == "cpu":
            return devices_of(device)
        if device != "cuda":
            raise InputError(f"device must be cpu or cuda on Ray, which deals GPUs, got {device!r}")
        if not self.gpus:
            raise InputError("device cuda on Ray needs GPUs for each proxy; ask for gpus=1")
        return ["cuda:0"]


LOCAL = Engine()


def as_engine(engine: Engine | str) -> Engine:
    """An engine, also by its name alone."""
    return engine if isinstance(engine, Engine) else Engine(engine)


def devices_of(device: str) -> list[str]:
    """The devices that jobs are dealt out to: "cuda" means every GPU that is visible."""
    if device == "cpu":
        return ["cpu"]
    if not device.startswith("cuda"):
        raise InputError(f"device must be cpu, cuda or cuda:<number>, got {device!r}")
    count = require("torch", "torch").cuda.device_count()
    if count == 0:
        raise InputError("no CUDA device is visible; use device='cpu'")
    return [device] if ":" in device else [f"cuda:{i}" for i in range(count)]
