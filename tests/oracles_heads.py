"""Heads trained in plain NumPy loops, one example after the other: slow, obvious, float64."""

import math

import numpy as np

from dris.core.streams import rng_for
from dris.learn.trainers.stacked.stack import initial_weights


def started(width, hidden, classes, *, seed, stream):
    """The layers [(weight, bias), ...] that a head's stream gives it."""
    flat = initial_weights(width + 1, hidden, classes, rng=rng_for(seed, *stream, "model"))
    flat = flat.astype(float)
    sizes = [(width, classes)] if hidden is None else [(width, hidden), (hidden, classes)]
    layers = []
    for inputs, outputs in sizes:
        weight, flat = flat[: inputs * outputs].reshape(inputs, outputs), flat[inputs * outputs :]
        bias, flat = flat[:outputs], flat[outputs:]
        layers.append((weight, bias))
    return layers


def forward(layers, row):
    """What the last layer reads of a row, and the logits."""
    for weight, bias in layers[:-1]:
        row = np.maximum(row @ weight + bias, 0)
    weight, bias = layers[-1]
    return row, row @ weight + bias


def trained_head(x, y, rows, recipe, *, hidden, classes, seed, stream, steps=None):
    """The columns (epoch, example) of all of x for one head trained on some rows of it."""
    layers = started(x.shape[1], hidden, classes, seed=seed, stream=stream)
    push = [(np.zeros_like(w), np.zeros_like(b)) for w, b in layers]
    steps = steps or math.ceil(len(rows) / recipe.batch_size)
    epochs, step = [], 0
    for epoch in range(1, recipe.stop + 1):
        order = rng_for(seed, *stream, "order", epoch).permutation(rows)
        for batch in np.array_split(order, steps):
            slopes = [(np.zeros_like(w), np.zeros_like(b)) for w, b in layers]
            for i in batch:
                read, logits = forward(layers, x[i])
                error = probabilities(logits)
                error[y[i]] -= 1
                for a in reversed(range(len(layers))):
                    inputs = x[i] if a == 0 else read
                    slopes[a][0][...] += np.outer(inputs, error) / len(batch)
                    slopes[a][1][...] += error / len(batch)
                    if a > 0:
                        error = (layers[a][0] @ error) * (read > 0)
            rate = recipe.learning_rate * (1 + math.cos(math.pi * step / (recipe.epochs * steps)))
            for a, layer in enumerate(layers):
                for p, s, v in zip(layer, slopes[a], push[a], strict=True):
                    v[...] = recipe.momentum * v + s + recipe.weight_decay * p
                    p[...] = p - rate / 2 * v
            step += 1
        epochs.append([columns(*forward(layers, x[i]), y[i]) for i in range(len(x))])
    return {name: np.array([[c[name] for c in epoch] for epoch in epochs]) for name in epochs[0][0]}


def columns(read, logits, label):
    p = probabilities(logits)
    others = [c for c in range(len(logits)) if c != label]
    rival = max(others, key=lambda c: (logits[c], -c))
    error = p.copy()
    error[label] -= 1
    norm = math.sqrt((error**2).sum())
    return {
        "loss": -math.log(p[label]),
        "margin": logits[label] - logits[rival],
        "correct": int(np.argmax(logits)) == label,
        "error_norm": norm,
        "gradient_norm": norm * math.sqrt((read**2).sum() + 1),
        "rival": rival,
    }


def probabilities(logits):
    e = np.exp(logits - logits.max())
    return e / e.sum()
