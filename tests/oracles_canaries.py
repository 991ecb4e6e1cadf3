"""Slow, obvious versions of the limits of canaries and audits, in whole numbers and fractions."""

from fractions import Fraction
from math import comb


def chance_of_at_most(seen, total, marked, drawn):
    ways = sum(
        comb(marked, k) * comb(total - marked, drawn - k) for k in range(seen + 1) if k <= drawn
    )
    return Fraction(ways, comb(total, drawn))


def most_marked(seen, total, drawn, delta):
    """By trying every number, from the largest down."""
    for marked in range(total, -1, -1):
        if chance_of_at_most(seen, total, marked, drawn) >= Fraction(str(delta)):
            return marked
    raise AssertionError("none marked always shows at most what was seen")


def audit_size(size, share, delta, wrong):
    for n in range(max(1, wrong), size + 1):
        if most_marked(wrong, size, n, delta) <= share * size:
            return n
    return None


def outside_limit(most, below, above, counted, delta):
    """The largest number of wrong labels that a cut does not reject, by trying every one."""
    for n in range(most, -1, -1):
        if n <= below or above >= counted:
            return n
        if chance_of_at_most(above, counted + n, counted, above + n - below) >= Fraction(
            str(delta)
        ):
            return n
    raise AssertionError("zero is never rejected")


def binomial_tail(trials, chance, more_than):
    p = Fraction(chance)
    return sum(
        comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(more_than + 1, trials + 1)
    )
