"""Numbers printed in the paper, to stand beside ours; nothing here is computed from."""

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

# Table 1 (test accuracy, %, mean and standard deviation over 3 seeds) at keep fraction 0.25.
# Columns: clean, uniform 10 %, targeted 10 %, targeted 25 %. CIFAR-100 has no Forgetting.
PRUNING: dict[str, dict[str, tuple[tuple[float, float], ...]]] = {
    "cifar10": {
        "random": ((87.78, 0.26), (81.84, 0.55), (82.81, 0.15), (74.66, 0.54)),
        "el2n": ((83.94, 0.00), (27.53, 0.70), (48.62, 1.23), (9.39, 0.61)),
        "forgetting": ((87.39, 0.58), (82.20, 0.53), (81.99, 1.90), (72.35, 0.90)),
        "consensus": ((81.00, 0.67), (28.20, 0.95), (44.29, 2.29), (9.00, 1.02)),
        "aum": ((80.60, 0.31), (82.86, 0.33), (76.75, 6.71), (79.69, 0.28)),
        "rank_variance": ((87.14, 0.32), (85.98, 0.35), (83.43, 1.07), (81.86, 0.82)),
    },
    "cifar100": {
        "random": ((63.09, 0.33), (54.81, 0.40), (58.76, 0.68), (51.53, 0.59)),
        "el2n": ((29.51, 0.00), (7.43, 0.13), (12.25, 0.58), (1.54, 0.19)),
        "consensus": ((27.92, 0.17), (6.19, 0.42), (10.59, 0.64), (1.11, 0.04)),
        "aum": ((55.32, 0.12), (55.14, 0.34), (54.50, 0.11), (53.32, 0.14)),
        "rank_variance": ((63.65, 0.24), (62.02, 0.62), (63.15, 0.94), (60.96, 0.68)),
    },
}

# Table 2 (fraction corrupt in the subset), targeted 25 %, keep fraction 0.25.
CONTAMINATION: dict[str, dict[str, float]] = {
    "cifar10": {
        "random": 0.250,
        "el2n": 0.866,
        "consensus": 0.871,
        "aum": 0.001,
        "rank_variance": 0.072,
    },
    "cifar100": {
        "random": 0.250,
        "el2n": 0.862,
        "consensus": 0.895,
        "aum": 0.000,
        "rank_variance": 0.055,
    },
}

# Table 5 (paired t, DR-IS - Random, n = 7): mean difference and its standard deviation in points,
# t, two-sided p.
PAIRED: dict[str, tuple[float, float, float, float]] = {
    "clean": (-0.64, 0.37, -4.50, 0.0041),
    "targeted 25 %": (7.21, 1.23, 15.54, 0.0000),
}

# Table 6 (test accuracy, %, by keep fraction 0.25, 0.5, 0.75), targeted 25 %.
KEEP_SWEEP: dict[str, dict[str, tuple[tuple[float, float], ...]]] = {
    "cifar10": {
        "random": ((74.87, 0.57), (75.73, 0.36), (75.79, 0.06)),
        "el2n": ((9.39, 0.61), (53.70, 1.26), (73.35, 0.13)),
        "consensus": ((9.00, 1.02), (55.06, 1.19), (74.14, 0.50)),
        "aum": ((79.00, 0.96), (85.38, 0.35), (87.32, 0.13)),
        "rank_variance": ((81.81, 0.90), (83.67, 0.11), (81.12, 0.42)),
    },
    "cifar100": {
        "random": ((51.53, 0.59), (59.21, 0.45), (63.30, 0.23)),
        "el2n": ((1.54, 0.19), (29.36, 0.40), (60.82, 0.50)),
        "consensus": ((1.11, 0.04), (27.43, 3.08), (60.31, 0.53)),
        "aum": ((53.32, 0.14), (64.30, 0.14), (71.80, 0.01)),
        "rank_variance": ((60.96, 0.68), (65.56, 0.37), (66.10, 0.18)),
    },
}

# Figure 2's text (accuracy in %, fraction corrupt in the subset) by targeted noise rate; the others
# are drawn in the figure only. Of AUM a range is printed, 79.00 to 76.43; table 6 has the first of
# them at 0.25, where the second lies is not said.
BREAKDOWN: dict[str, dict[float, tuple[float, float]]] = {
    "rank_variance": {0.25: (81.81, 0.072), 0.45: (62.02, 0.408), 0.50: (51.89, 0.560)},
    "aum": {0.25: (79.00, 0.001)},
}

# The same text: the proxies' mean accuracy on the corrupted, "from 0.21 to 0.15".
FITS_CORRUPTED: dict[float, float] = {0.10: 0.21, 0.50: 0.15}

# Table 7 (mean and standard deviation): accuracy in %, corrupt in the subset, tau2 of the
# corrupted, tau2 of the boundary, proxies' training accuracy in %.
DIVERSITY: dict[str, tuple[tuple[float, float] | None, ...]] = {
    "K1": ((80.90, 0.47), (0.077, 0.010), (0.1451, 0.0005), (0.0145, 0.0005), (75.7, 0.1)),
    "K2": ((83.13, 0.35), (0.064, 0.002), (0.1350, 0.0285), (0.0085, 0.0005), (73.4, 0.2)),
    "K3": ((81.73, 0.74), (0.073, 0.004), (0.1610, 0.0142), (0.0094, 0.0004), None),
}

# Table 8 (test accuracy, %, by beta 0, 0.25, 0.5, 0.75, 1): the hybrid score, keep fraction 0.25.
HYBRID: dict[str, tuple[tuple[float, float], ...]] = {
    "clean": ((86.82, 0.17), (86.94, 0.24), (86.89, 0.21), (87.11, 0.23), (88.65, 0.44)),
    "targeted 25 %": ((81.41, 0.47), (77.38, 0.26), (63.18, 2.10), (43.79, 4.20), (10.00, 0.00)),
}

# Table 9 (minutes of one A100 per target, mean and standard deviation), proxies not counted.
MINUTES: dict[str, dict[str, tuple[float, float]]] = {
    "cifar10": {
        "random": (24.5, 2.4),
        "forgetting": (26.1, 0.6),
        "el2n": (23.7, 3.4),
        "aum": (23.9, 2.9),
        "consensus": (23.5, 3.2),
        "rank_variance": (24.3, 2.6),
    },
    "cifar100": {
        "random": (29.1, 3.7),
        "el2n": (30.1, 4.5),
        "aum": (29.3, 3.8),
        "consensus": (29.6, 4.1),
        "rank_variance": (29.2, 3.6),
    },
}

# Table 4 (mean and standard deviation): Food-101, accuracy in % and share of candidate noise (E1)
# or of injected noise (E2) in the half that is kept.
FOOD: dict[str, dict[str, tuple[tuple[float, float], tuple[float, float]]]] = {
    "E1": {
        "random": ((82.67, 0.25), (0.25, 0.00)),
        "el2n": ((74.10, 0.00), (0.43, 0.00)),
        "aum": ((77.74, 0.00), (0.07, 0.00)),
        "rank_variance": ((83.04, 0.00), (0.25, 0.00)),
    },
    "E2": {
        "random": ((70.69, 0.24), (0.25, 0.00)),
        "el2n": ((35.51, 0.12), (0.49, 0.00)),
        "aum": ((75.56, 0.03), (0.01, 0.00)),
        "rank_variance": ((73.67, 0.32), (0.18, 0.00)),
    },
}
