"""The parameters that rules can have: type and help, without NumPy, so that help comes fast."""

PARAMETERS: dict[str, tuple[type, str]] = {
    "beta": (float, "Weight of the gradient norm in hybrid [0.5]."),
    "scaled": (bool, "Scale those norms to the rank variance."),
    "epoch": (int, "Score the proxies after this epoch."),
    "share": (float, "Part taken from the top, the rest is drawn [0.5]."),
    "detector": (str, "What the gate cuts on [early_margin]."),
    "recall": (float, "Share of errors that the gate rejects [0.9]."),
    "chooser": (str, "What ranks those that pass [half_el2n]."),
    "fill": (bool, "Where too few pass, add the best rejected."),
}
"""Every parameter of `Rule` by its name."""
