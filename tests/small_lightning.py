"""A small LightningModule with dropout and batch norm, and the data it is tested on."""

import torch
from lightning.pytorch import LightningDataModule, LightningModule, Trainer
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

N, CLASSES = 47, 3  # N is odd: two processes cannot share it evenly


def examples() -> TensorDataset:
    made = torch.Generator().manual_seed(1)
    x = torch.randn(N, 4, generator=made)
    return TensorDataset(x, (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long(), torch.arange(N))


class Plain(Dataset):
    """The examples as (x, y), without ids, as most data sets are."""

    def __len__(self) -> int:
        return N

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        return examples()[i][:2]


class Small(LightningModule):
    """Keeps what it was trained on, epoch by epoch."""

    def __init__(self) -> None:
        super().__init__()
        made = torch.Generator().manual_seed(0)
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2))
        self.head = nn.Linear(8, CLASSES)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=made) * 0.5)
        self.seen: list[list[int]] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))

    def on_train_epoch_start(self) -> None:
        self.seen.append([])

    def training_step(self, batch, batch_idx):
        x, y, ids = batch
        self.seen[-1] += ids.tolist()
        return nn.functional.cross_entropy(self(x), y)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Sampled(LightningDataModule):
    """Training batches drawn by a sampler that is made before any process group is."""

    def __init__(self, sampler) -> None:
        super().__init__()
        self.sampler = sampler

    def train_dataloader(self) -> DataLoader:
        return DataLoader(examples(), batch_size=8, sampler=self.sampler)


def trainer(*callbacks, epochs: int = 3, **options) -> Trainer:
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    options = {"enable_checkpointing": False, "accelerator": "cpu", **quiet, **options}
    return Trainer(max_epochs=epochs, callbacks=list(callbacks), **options)
