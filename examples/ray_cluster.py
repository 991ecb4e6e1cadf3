"""Train proxies on a Ray cluster, with the bytes of one machine.

    python examples/ray_cluster.py                           # two nodes on this machine
    python examples/ray_cluster.py --address 10.0.0.1:6379   # nodes that are there

Needs `pip install ".[ray]"`. The result is that of one machine, byte for byte.
"""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sklearn.datasets import load_digits

import dris
from dris.learn.engines.tasks import Engine


def main() -> None:
    """Three proxies of the digits, on whatever nodes have room."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--address", help="Of a cluster; two nodes are started here without it.")
    parser.add_argument("--store", type=Path, help="Keeps finished proxies.")
    asked = parser.parse_args()

    x, y = load_digits(return_X_y=True)
    how = {"model": "sgd_log", "epochs": 6, "seed": 0}

    with cluster_at(asked.address) as address:
        engine = Engine("ray", address=address, cpus=1, retries=3)
        there = dris.train_proxies(x, y, engine=engine, store=asked.store, **how)
        print(f"on {address}: {there}")

    here = dris.train_proxies(x, y, workers=1, **how)
    with tempfile.TemporaryDirectory() as folder:
        files = [d.save(Path(folder) / name) for d, name in ((there, "there"), (here, "here"))]
        same = files[0].read_bytes() == files[1].read_bytes()
    print(f"the same bytes as on one machine: {'yes' if same else 'NO'}")


@contextmanager
def cluster_at(address: str | None) -> Iterator[str]:
    """The address given, or that of two nodes of one CPU each that live as long as this block."""
    if address is not None:
        yield address
        return
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 100 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.add_node(**node)
    try:
        yield cluster.address
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
