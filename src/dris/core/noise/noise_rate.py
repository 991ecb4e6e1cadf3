"""The share of wrong labels, with a range."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NoiseRate:
    """How many labels are wrong, if errors fall at random; too few where they follow the features.

    >>> print(NoiseRate(0.095, 0.15, 0.12))
    12 % (range 9.5–15 %)
    """

    low: float  # the range holds the rate in nine of ten data sets
    high: float
    likely: float  # the mean of P(wrong)

    def __str__(self) -> str:
        return f"{percent(self.likely)} % (range {percent(self.low)}–{percent(self.high)} %)"


def percent(share: float) -> str:
    """Two significant digits of a share in percent.

    >>> percent(0.0951), percent(0.152), percent(0.0004), percent(0.0)
    ('9.5', '15', '0.04', '0')
    """
    if share < 5e-5:
        return "0"
    digits = 0 if share >= 0.0995 else 1 if share >= 0.00095 else 2
    return f"{100 * share:.{digits}f}"
