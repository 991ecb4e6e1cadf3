"""Numbers printed in the paper, to stand beside ours; nothing here is computed from."""

# Table 1 (test accuracy, %) and Table 2 (fraction corrupt in subset): CIFAR-10 / VGG-19,
# targeted 25 %, keep fraction 0.25. Forgetting's contamination is not printed.
CIFAR10_TARGETED_25: dict[str, tuple[float | None, float]] = {
    "random": (0.250, 74.66),
    "el2n": (0.866, 9.39),
    "consensus": (0.871, 9.00),
    "forgetting": (None, 72.35),
    "aum": (0.001, 79.69),
    "rank_variance": (0.072, 81.86),
}
