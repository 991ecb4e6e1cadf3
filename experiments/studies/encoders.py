"""Frozen encoders of the studies: EfficientNet-Lite0 for pictures, MiniLM for sentences."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

COMPONENTS, PIXELS = 48, 128


def image_features(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    """EfficientNet-Lite0's features of (N, C, H, W), their first principal components."""
    import torch
    from sklearn.decomposition import PCA

    from experiments.networks.backbones import efficientnet_lite0

    network = efficientnet_lite0(images.shape[1:], 10).eval()
    with torch.inference_mode():
        parts = [
            network(torch.from_numpy(np.array(images[i : i + 8])).float()).flatten(1)
            for i in range(0, len(images), 8)
        ]
    return PCA(COMPONENTS, random_state=0).fit_transform(torch.cat(parts).numpy())


def food_features(folder: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Those of the photographs of a folder, a class a folder, in random order."""
    from PIL import Image

    files = np.random.default_rng(0).permutation(sorted(folder.glob("*/*.jpg")))[:3500]
    if not len(files):
        raise FileNotFoundError(folder.name)
    pictures = np.empty((len(files), 3, PIXELS, PIXELS), np.uint8)
    for place, file in enumerate(files):
        with Image.open(file) as picture:
            small = picture.convert("RGB").resize((PIXELS, PIXELS), Image.Resampling.BILINEAR)
        pictures[place] = np.asarray(small).transpose(2, 0, 1)
    _, y = np.unique([file.parent.name for file in files], return_inverse=True)
    return image_features(pictures), y


def sentence_features(texts: list[str], model: Path) -> NDArray[np.float32]:
    """Mean token states of a sentence encoder on the unit sphere."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModel.from_pretrained(model).eval()
    result = []
    with torch.inference_mode():
        for start in range(0, len(texts), 64):
            how = {"padding": True, "truncation": True, "max_length": 128, "return_tensors": "pt"}
            coded = tokenizer(texts[start : start + 64], **how)
            there = coded["attention_mask"].unsqueeze(-1)
            states = network(**coded).last_hidden_state
            mean = (states * there).sum(1) / there.sum(1)
            result.append(torch.nn.functional.normalize(mean, dim=1).numpy())
    return np.concatenate(result)
