"""TRL: record three reward models, find the pairs of answers that were swapped.

    python examples/trl_rewards.py

Needs `pip install ".[huggingface]" trl`; about half a minute on two cores, nothing is
downloaded: pairs, tokenizer and random BERTs are made here. Expected: of the tenth with the lowest
score nearly all pairs are swapped. What TRL's other trainers train are not classifiers.
"""

import tempfile

import numpy as np
import torch
from datasets import Dataset, disable_progress_bars
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    PrinterCallback,
    set_seed,
)
from trl import RewardConfig, RewardTrainer

import dris
from dris.integrations.huggingface import RecordDynamics, preferred

disable_progress_bars()
torch.set_num_threads(1)  # networks as small as these gain nothing from more
HELPFUL = "here is how to do it step by step with an example please thanks sure"
RUDE = "no idea whatever go away stop asking me that is boring never mind bye"
SWAPPED = 0.2


def pairs(n: int) -> tuple[list[str], list[str], np.ndarray]:
    """Helpful answers beside rude ones, and which of the pairs were swapped."""
    rng, helpful, rude = np.random.default_rng(0), HELPFUL.split(), RUDE.split()
    good = [" ".join(rng.choice(helpful, 6)) for _ in range(n)]
    bad = [" ".join([*rng.choice(rude, 4), *rng.choice(helpful, 2)]) for _ in range(n)]
    swapped = dris.flip_labels(np.arange(n) % 2, SWAPPED, seed=0).flipped
    chosen = [b if s else a for a, b, s in zip(good, bad, swapped, strict=True)]
    rejected = [a if s else b for a, b, s in zip(good, bad, swapped, strict=True)]
    return chosen, rejected, swapped


def tokenizer() -> PreTrainedTokenizerFast:
    words = dict.fromkeys(["[PAD]", "[UNK]", "[END]", *HELPFUL.split(), *RUDE.split()])
    made = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", eos_token="[END]"
    )


def reward_model(width: int, seed: int) -> BertForSequenceClassification:
    set_seed(seed)
    config = BertConfig(
        vocab_size=64,
        hidden_size=width,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=2 * width,
        max_position_embeddings=32,
        num_labels=1,
    )
    return BertForSequenceClassification(config)


def main(folder: str) -> None:
    chosen, rejected, swapped = pairs(600)
    train = Dataset.from_dict({"chosen": chosen, "rejected": rejected})
    arguments = RewardConfig(
        folder,
        num_train_epochs=4,
        per_device_train_batch_size=32,
        per_device_eval_batch_size=128,
        learning_rate=3e-3,
        gradient_checkpointing=False,
        bf16=False,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    dynamics = []
    for seed, width in enumerate((16, 32, 48)):
        trainer = RewardTrainer(
            reward_model(width, seed), arguments, train_dataset=train, processing_class=tokenizer()
        )
        trainer.remove_callback(PrinterCallback)  # it prints what each run took
        recorder = dris.Recorder(len(trainer.train_dataset))
        record = RecordDynamics(  # the pairs as the trainer has tokenized them
            recorder, trainer.train_dataset, collate=trainer.data_collator, look=preferred
        )
        trainer.add_callback(record)
        trainer.train()
        dynamics.append(recorder.dynamics())
    proxies = dris.Dynamics.merge(dynamics)
    print(proxies)
    lowest = dris.SCORES["aum_mean"](proxies).argsort()[: len(train) // 10]
    print(f"swapped pairs in the lowest tenth  {swapped[lowest].mean():.1%}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(folder)
