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

# Table 10 (test accuracy, %, mean and std over 5 seeds): the synthetic study. Columns: clean,
# uniform 10 %, targeted 10 %, targeted 25 %. Whether DR-IS is online or top-α is not printed.
SYNTHETIC: dict[str, tuple[tuple[float, float], ...]] = {
    "uniform": ((95.84, 0.56), (86.16, 3.07), (23.62, 4.73), (21.22, 7.79)),
    "standard_is": ((95.92, 0.60), (87.16, 2.73), (22.62, 4.69), (19.80, 9.06)),
    "loss_is": ((95.86, 0.57), (86.74, 2.74), (24.94, 2.55), (21.62, 6.36)),
    "dris": ((94.64, 0.47), (53.86, 2.31), (22.98, 3.60), (20.70, 4.70)),
}
