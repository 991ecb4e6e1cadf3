"""The one error that users see: a sentence naming the value, the rule and the remedy."""


class InputError(ValueError):
    """Something handed to dris breaks a rule; the message says what, which and what to do.

    >>> raise InputError("fraction must be in (0, 1], got 1.5")
    Traceback (most recent call last):
    ...
    dris.core.errors.InputError: fraction must be in (0, 1], got 1.5
    """
