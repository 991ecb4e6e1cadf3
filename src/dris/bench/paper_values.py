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

# Table 3 (test accuracy, %, mean and standard deviation over 3 seeds): online importance sampling,
# CIFAR-10 / VGG-19, 160 epochs, by the rate of targeted noise. Loss IS and the uniform hybrid are
# not in it.
CIFAR10_ONLINE: dict[str, dict[float, tuple[float, float]]] = {
    "uniform": {0.0: (93.55, 0.26), 0.1: (86.29, 0.42), 0.25: (74.52, 0.28)},
    "standard_is": {0.0: (90.81, 0.11), 0.1: (10.00, 0.00), 0.25: (10.00, 0.00)},
    "rho_approximate": {0.0: (20.21, 17.68), 0.1: (22.78, 22.14), 0.25: (10.00, 0.00)},
    "rho_faithful": {0.0: (36.32, 45.59), 0.1: (59.99, 43.31), 0.25: (31.30, 36.89)},
    "dr_is": {0.0: (92.40, 0.14), 0.1: (87.87, 1.79), 0.25: (84.04, 0.35)},
}
