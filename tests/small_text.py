"""A tiny text classifier made here: a vocabulary of words, a tokenizer, a small random BERT."""

import numpy as np
import torch
from datasets import ClassLabel, Dataset, Features, Value
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

WORDS = {"sport": ["goal", "team", "match"], "food": ["soup", "bread", "salt"]}
FILLERS = ["the", "a", "of", "and"]


def sentences(n: int, seed: int = 0) -> Dataset:
    """Sentences of two words of their topic and some fillers, of different lengths."""
    rng = np.random.default_rng(seed)
    topics = list(WORDS)
    labels = rng.integers(2, size=n)
    texts = []
    for label in labels:
        words = [*rng.choice(WORDS[topics[label]], 2), *rng.choice(FILLERS, rng.integers(1, 5))]
        texts.append(" ".join(rng.permutation(words)))
    features = Features({"text": Value("string"), "label": ClassLabel(names=topics)})
    return Dataset.from_dict({"text": texts, "label": labels.tolist()}, features=features)


def tokenizer() -> PreTrainedTokenizerFast:
    words = ["[PAD]", "[UNK]", *FILLERS, *(w for topic in WORDS.values() for w in topic)]
    made = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]")


def encoded(n: int, seed: int = 0) -> Dataset:
    """The sentences as token ids; the text stays beside them, and the model must not see it."""
    words = tokenizer()
    return sentences(n, seed).map(
        lambda batch: words(batch["text"], return_token_type_ids=False), batched=True
    )


def model(seed: int = 0, dropout: float = 0.1) -> BertForSequenceClassification:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return BertForSequenceClassification(
            BertConfig(
                vocab_size=16,
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=16,
                max_position_embeddings=16,
                num_labels=2,
                hidden_dropout_prob=dropout,
                attention_probs_dropout_prob=dropout,
            )
        )
