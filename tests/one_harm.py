"""What the harm check finds of a single rule."""

from dris.decide.harm import measure_harms


def measure_harm(x, given, names, again, **how):
    """As `measure_harms` of one rule; None where there are no folds."""
    found = measure_harms(x, given, names, lambda at: (again(at),), **how)
    return None if found is None else found[0]
