"""Hugging Face: record three small text classifiers, drop sentences whose labels are likely wrong.

    python examples/huggingface_text.py

Needs `pip install ".[huggingface]"`; about 30 seconds on two cores, nothing is downloaded: the
sentences, the tokenizer and the random BERTs are made here. Expected: of the tenth with the lowest
score nearly all labels are wrong and of the kept nearly none. The task is easy, so the classifier
trained on everything does well here too; all three take the same number of steps.
"""

import tempfile

import numpy as np
import torch
from datasets import ClassLabel, Dataset, disable_progress_bars
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorWithPadding,
    PreTrainedTokenizerFast,
    PrinterCallback,
    Trainer,
    TrainingArguments,
    set_seed,
)

import dris
from dris.integrations.huggingface import RecordDynamics, WeightedTrainer

disable_progress_bars()
torch.set_num_threads(1)  # networks as small as these gain nothing from more
TOPICS = {
    "sport": "goal team match score coach ball league win player cup",
    "food": "soup bread salt oven taste dinner pepper cook rice plate",
    "travel": "train hotel map flight beach ticket road island visa ship",
}
FILLERS = "the a of and to in was it with for on at we they so"
WRONG = 0.25


def sentences(n: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Two or three words of a topic, sometimes one of another, among fillers."""
    rng = np.random.default_rng(seed)
    words = [topic.split() for topic in TOPICS.values()]
    labels = rng.integers(len(words), size=n)
    texts = []
    for y in labels:
        own = list(rng.choice(words[y], rng.integers(2, 4), replace=False))
        other = list(rng.choice(words[rng.integers(3)], rng.integers(2)))
        texts.append(" ".join(rng.permutation([*own, *other, *rng.choice(FILLERS.split(), 4)])))
    return texts, labels


def tokenizer() -> PreTrainedTokenizerFast:
    words = ["[PAD]", "[UNK]", *" ".join([FILLERS, *TOPICS.values()]).split()]
    made = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]")


def classifier(width: int, seed: int) -> BertForSequenceClassification:
    set_seed(seed)
    config = BertConfig(
        vocab_size=64,
        hidden_size=width,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=2 * width,
        max_position_embeddings=16,
        num_labels=len(TOPICS),
    )
    return BertForSequenceClassification(config)


def arguments(folder: str, epochs: int = 6) -> TrainingArguments:
    return TrainingArguments(
        folder,
        num_train_epochs=epochs,
        per_device_train_batch_size=64,
        per_device_eval_batch_size=256,
        learning_rate=3e-3,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )


def trained(trainer: Trainer) -> Trainer:
    trainer.remove_callback(PrinterCallback)  # it prints what each run took
    trainer.train()
    return trainer


def main(folder: str) -> None:
    words = tokenizer()
    collate = DataCollatorWithPadding(words)

    def encoded(texts: list[str], labels: np.ndarray) -> Dataset:
        plain = Dataset.from_dict({"text": texts, "label": labels.tolist()})
        plain = plain.cast_column("label", ClassLabel(names=list(TOPICS)))
        return plain.map(lambda batch: words(batch["text"]), batched=True)

    texts, truth = sentences(1200, seed=0)
    noisy = dris.flip_labels(truth, WRONG, seed=0)
    train = encoded(texts, noisy.given)
    test = encoded(*sentences(600, seed=1))

    dynamics = []
    for seed, width in enumerate((16, 32, 48)):
        recorder = dris.Recorder(len(train))
        record = RecordDynamics(recorder, train, collate=collate)
        made = {"train_dataset": train, "data_collator": collate, "callbacks": [record]}
        trained(Trainer(classifier(width, seed), arguments(folder), **made))
        dynamics.append(recorder.dynamics())
    proxies = dris.Dynamics.merge(dynamics)

    score = dris.SCORES["aum_mean"](proxies)
    train = train.add_column("aum_mean", score)
    subset = dris.keep_top(score, fraction=0.67)
    kept = train.select(subset)
    lowest = score.argsort()
    print(f"{len(train)} sentences, {WRONG:.0%} of the labels wrong, three classifiers recorded")
    for name, part in (
        ("lowest tenth", lowest[: len(lowest) // 10]),
        ("kept 67 %", subset.indices),
    ):
        print(f"  wrong labels in the {name:<12} {noisy.flipped[part].mean():6.1%}")
    row = train[int(lowest[0])]
    names = train.features["label"].names
    print(f"  the lowest: {row['text']!r} called {names[row['label']]}")

    plan = dris.importance(dris.SCORES["rank_variance"](proxies))
    sampler = dris.ImportanceSampler(plan, seed=0)
    shared = {"data_collator": collate, "eval_dataset": test}
    print("accuracy on clean test sentences")
    whole = {"train_dataset": train, **shared}
    for name, trainer in (
        ("everything", Trainer(classifier(32, 9), arguments(folder), **whole)),
        # Two thirds of the data take half as many epochs again for as many steps.
        (
            "the kept",
            Trainer(classifier(32, 9), arguments(folder, 9), train_dataset=kept, **shared),
        ),
        (
            "weighted draws",
            WeightedTrainer(classifier(32, 9), arguments(folder), sampler=sampler, **whole),
        ),
    ):
        trained(trainer)
        said = trainer.predict(test)
        right = np.mean(said.predictions.argmax(axis=1) == said.label_ids)
        print(f"  trained on {name:<15} {right:6.1%}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(folder)
