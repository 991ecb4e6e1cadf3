"""All that is wrong with a file in one message."""

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dris.core.errors import InputError


class Problems:
    """Collects refusals, and raises them as one.

    >>> problems = Problems("a.csv")
    >>> with problems.collected():
    ...     raise InputError("the id is missing in line 3; fill it in")
    >>> with problems.collected():
    ...     raise InputError("the label is missing in line 5; fill it in")
    >>> problems.refuse()
    Traceback (most recent call last):
    ...
    dris.core.errors.InputError: a.csv has 2 problems: (1) the id is missing in line 3; fill it \
in (2) the label is missing in line 5; fill it in
    """

    def __init__(self, where: object) -> None:
        self.where = where
        self.found: list[InputError] = []

    def add(self, problem: str) -> None:
        """Remember a refusal in so many words."""
        self.found.append(InputError(problem))

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Go on after a refusal, which is remembered."""
        try:
            yield
        except InputError as error:
            self.found.append(error)

    def refuse(self) -> None:
        """Raise what was collected, one problem as what it is; nothing when that is nothing."""
        if not self.found:
            return
        if len(self.found) == 1:
            raise self.found[0]
        listed = " ".join(f"({i}) {error}" for i, error in enumerate(self.found, start=1))
        raise InputError(f"{self.where} has {len(self.found)} problems: {listed}")


def nearest(name: str, names: Sequence[str]) -> str:
    """A question that names the most similar name there is; nothing when none is similar.

    >>> nearest("incme", ["age", "income"])
    " (did you mean 'income'?)"
    """
    close = difflib.get_close_matches(name.lower(), [n.lower() for n in names], n=1)
    found = next((n for n in names if close and n.lower() == close[0]), None)
    return "" if found is None else f" (did you mean {found!r}?)"
