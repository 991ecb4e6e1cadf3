"""The lowest version of every base dependency that pyproject.toml allows, as pip constraints.

`make test-lowest` installs exactly these in an environment of its own and runs the default suite.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def lowest(dependencies: list[str]) -> list[str]:
    """Each requirement at its lower bound; one without a bound is an error.

    >>> lowest(["numpy>=2.0", "rich>=13.8,<20"])
    ['numpy==2.0', 'rich==13.8']
    """
    pins = []
    for requirement in dependencies:
        found = re.match(r"([\w.-]+)>=([\w.]+)", requirement)
        if found is None:
            raise ValueError(f"{requirement!r} has no lower bound; write name>=version")
        pins.append(f"{found[1]}=={found[2]}")
    return pins


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    sys.stdout.write("\n".join(lowest(project["dependencies"])) + "\n")
