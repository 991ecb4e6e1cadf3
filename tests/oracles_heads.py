"""A linear head trained in plain NumPy loops: slow, obvious, float64."""

import math

import numpy as np

from dris.core.streams import rng_for


def trained_head(x, y, weight, bias, recipe, *, seed, stream):
    """Losses (epoch, example) of softmax regression by SGD, and the final weight and bias."""
    weight, bias = np.array(weight, dtype=float), np.array(bias, dtype=float)
    push_w, push_b = np.zeros_like(weight), np.zeros_like(bias)
    steps = math.ceil(len(x) / recipe.batch_size)
    losses, step = [], 0
    for epoch in range(1, recipe.stop + 1):
        order = rng_for(seed, *stream, "order", epoch).permutation(np.arange(len(x)))
        for batch in np.array_split(order, steps):
            slope_w, slope_b = np.zeros_like(weight), np.zeros_like(bias)
            for i in batch:
                error = probabilities(weight @ x[i] + bias)
                error[y[i]] -= 1
                slope_w += np.outer(error, x[i]) / len(batch)
                slope_b += error / len(batch)
            push_w = recipe.momentum * push_w + slope_w + recipe.weight_decay * weight
            push_b = recipe.momentum * push_b + slope_b + recipe.weight_decay * bias
            rate = recipe.learning_rate * (1 + math.cos(math.pi * step / (recipe.epochs * steps)))
            weight = weight - rate / 2 * push_w
            bias = bias - rate / 2 * push_b
            step += 1
        own = [probabilities(weight @ x[i] + bias)[y[i]] for i in range(len(x))]
        losses.append([-math.log(p) for p in own])
    return np.array(losses), weight, bias


def probabilities(logits):
    e = np.exp(logits - logits.max())
    return e / e.sum()
