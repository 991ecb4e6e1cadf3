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
