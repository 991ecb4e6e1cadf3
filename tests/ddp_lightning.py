"""Run by test_lightning.py: the Trainer of each of two processes, and what each has seen.

python tests/ddp_lightning.py <folder>
"""

import json
import sys
from pathlib import Path

import numpy as np
from torch.utils.data import DataLoader

import dris
from dris.integrations.lightning import DistributedImportanceSampler, RecordDynamics
from dris.integrations.passes import rank_and_size
from small_lightning import N, Plain, Sampled, Small, trainer


def plan():
    return dris.importance(np.random.default_rng(0).exponential(size=N), smoothing=0.1)


class Late(dris.ImportanceSampler):
    """What a user would write who divides the draws by hand; Lightning then divides them again."""

    @property
    def rank(self):
        return rank_and_size()[0]

    @property
    def world_size(self):
        return rank_and_size()[1]


def draws_of(sampler, *callbacks) -> tuple[Small, list[list[int]]]:
    model = Small()
    fit = trainer(*callbacks, epochs=2, devices=2, strategy="ddp").fit
    fit(model, datamodule=Sampled(sampler))
    return model, model.seen


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    recorder = dris.Recorder(N)
    record = RecordDynamics(recorder, snapshot=DataLoader(Plain(), batch_size=16), logits="head")
    model, ours = draws_of(DistributedImportanceSampler(plan(), seed=5), record)
    _, divided = draws_of(Late(plan(), seed=5))
    rank, world_size = rank_and_size()
    assert world_size == 2
    recorder.dynamics().save(folder / f"{rank}.dynamics")
    (folder / f"{rank}.json").write_text(
        json.dumps({"ours": ours, "divided": divided}), encoding="utf-8"
    )
    np.savez(folder / f"{rank}.npz", **{name: w.numpy() for name, w in model.state_dict().items()})
