"""Lightning: record three networks on digits with wrong labels, drop what they agree is wrong.

    python examples/lightning_record.py

Needs `pip install ".[lightning]"`; about 15 seconds on two cores. Expected: of the tenth with
the lowest score nearly all labels are wrong, and the network trained without the lowest quarter is
right more often than the one trained on everything. Weighted draws estimate the same risk as
everything does, wrong labels included: they are no cure for those.
"""

import logging

import torch
from lightning.pytorch import LightningDataModule, LightningModule, Trainer
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

import dris
from dris.core.select.importance import Importance
from dris.integrations.lightning import DistributedImportanceSampler, RecordDynamics
from dris.learn.trainers.networks.samplers import WeightedDataset

torch.set_num_threads(1)  # networks as small as these gain nothing from more
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)  # it greets on every fit
EPOCHS, WRONG = 10, 0.2


class Digits(LightningModule):
    """Any module does; the logits are the output of its layer `head`."""

    def __init__(self, width: int, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.body = nn.Sequential(nn.Linear(64, width), nn.ReLU())
        self.head = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))

    def training_step(self, batch: list[torch.Tensor], batch_idx: int) -> torch.Tensor:
        x, y, *weights = batch
        losses = cross_entropy(self(x), y, reduction="none")
        return (weights[0] * losses).mean() if weights else losses.mean()

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01)


class Drawn(LightningDataModule):
    """Weighted draws; the same under DDP, where each process takes its share of them."""

    def __init__(self, dataset: Dataset, plan: Importance) -> None:
        super().__init__()
        self.sampler = DistributedImportanceSampler(plan, seed=0)
        self.dataset = WeightedDataset(dataset, self.sampler)

    def train_dataloader(self) -> DataLoader:
        return DataLoader(self.dataset, batch_size=64, sampler=self.sampler)


def trainer(*callbacks: RecordDynamics) -> Trainer:
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    return Trainer(
        max_epochs=EPOCHS,
        callbacks=list(callbacks),
        accelerator="cpu",
        enable_checkpointing=False,
        **quiet,
    )


def accuracy(model: Digits, x: torch.Tensor, y: torch.Tensor) -> float:
    model.eval()
    with torch.no_grad():
        return float((model(x).argmax(1) == y).float().mean())


def main() -> None:
    x, y = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x / 16, y, test_size=0.3, random_state=0)
    noisy = dris.flip_labels(y_train, WRONG, seed=0)
    train = TensorDataset(torch.tensor(x_train).float(), torch.tensor(noisy.given))
    test = torch.tensor(x_test).float(), torch.tensor(y_test)

    dynamics = []
    for seed, width in enumerate((32, 64, 128)):
        recorder = dris.Recorder(len(train))
        record = RecordDynamics(recorder, snapshot=DataLoader(train, 512), logits="head")
        loader = DataLoader(train, batch_size=64, shuffle=True)
        trainer(record).fit(Digits(width, seed), loader)
        dynamics.append(recorder.dynamics())
    proxies = dris.Dynamics.merge(dynamics)

    score = dris.SCORES["aum_mean"](proxies)
    order = score.argsort()
    kept = dris.keep_top(score, fraction=0.75)
    print(f"{len(train)} digits, {WRONG:.0%} of the labels wrong, three networks recorded")
    for name, part in (("lowest tenth", order[: len(order) // 10]), ("kept 75 %", kept.indices)):
        print(f"  wrong labels in the {name:<12} {noisy.flipped[part].mean():6.1%}")

    plan = dris.importance(dris.SCORES["rank_variance"](proxies))
    everything = DataLoader(train, batch_size=64, shuffle=True)
    clean = DataLoader(Subset(train, list(kept)), batch_size=64, shuffle=True)
    print("accuracy on clean test digits")
    for name, data in (
        ("trained on everything", everything),
        ("trained on the kept", clean),
        ("drawn by rank variance", Drawn(train, plan)),
    ):
        model = Digits(64, seed=9)
        trainer().fit(model, data)
        print(f"  {name:<24} {accuracy(model, *test):6.1%}")


if __name__ == "__main__":
    main()
