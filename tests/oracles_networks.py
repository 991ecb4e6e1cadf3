"""Slow, obvious versions of what the training loop does, and data small enough to follow."""

import math

import numpy as np


def images(n=40, size=8, channels=3, classes=3, seed=0):
    """uint8 images whose class shows in their brightness, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    x = rng.integers(0, 120, (n, channels, size, size)) + 40 * y[:, None, None, None]
    return x.astype(np.uint8), y


def table(n=60, features=5, classes=3, seed=0):
    """float64 rows around one centre per class, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    return rng.normal(size=(classes, features))[y] * 2 + rng.normal(size=(n, features)), y


def reflected(image, border):
    """A (C, H, W) image with its mirrored border, pixel by pixel; the edge is not repeated."""
    channels, height, width = image.shape
    out = np.empty((channels, height + 2 * border, width + 2 * border), image.dtype)
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            a, b = abs(i - border), abs(j - border)
            a = 2 * (height - 1) - a if a >= height else a
            b = 2 * (width - 1) - b if b >= width else b
            out[:, i, j] = image[:, a, b]
    return out


def crops_of(image, border):
    """Every crop and its flip, by (down, right, flipped)."""
    height, width = image.shape[1:]
    wide = reflected(image, border)
    result = {}
    for down in range(2 * border + 1):
        for right in range(2 * border + 1):
            crop = wide[:, down : down + height, right : right + width]
            result[down, right, False] = crop
            result[down, right, True] = crop[:, :, ::-1]
    return result


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def sgd_on_a_linear_model(x, y, weight, bias, batches, *, epochs, rate, momentum, decay):
    """Weights after each epoch's batches: mean cross-entropy, momentum, decay, cosine, float64."""
    weight, bias = weight.astype(np.float64), bias.astype(np.float64)
    speed_w, speed_b = np.zeros_like(weight), np.zeros_like(bias)
    steps, step = epochs * len(batches[0]), 0
    for epoch in batches:
        for at in epoch:
            p = softmax(x[at] @ weight.T + bias)
            p[np.arange(len(at)), y[at]] -= 1
            now = rate * (1 + math.cos(math.pi * step / steps)) / 2
            speed_w = momentum * speed_w + p.T @ x[at] / len(at) + decay * weight
            speed_b = momentum * speed_b + p.sum(axis=0) / len(at) + decay * bias
            weight, bias = weight - now * speed_w, bias - now * speed_b
            step += 1
    return weight, bias
