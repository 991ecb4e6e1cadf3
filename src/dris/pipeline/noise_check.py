"""Whether the noise rate stays within a limit: fine, above, or cannot tell."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dris.core.checks.assumption_checks import proxies_above_chance
from dris.core.errors import InputError
from dris.core.noise.posterior import percent
from dris.pipeline.choice import MIN_ROWS_TO_CLEAN
from dris.pipeline.decision import Decision
from dris.pipeline.wording import unpredictable

Answer = Literal["fine", "above", "cannot tell"]
ANSWERS: tuple[Answer, ...] = ("fine", "above", "cannot tell")  # in the order of exit codes


@dataclass(frozen=True, slots=True, eq=False)
class NoiseCheck:
    """Whether the whole range of the noise rate is within a limit, or above it."""

    says: Answer
    reason: str  # the numbers, or why there are none
    max_noise: float
    decision: Decision  # what `dris.clean` decides, without the harm check

    @property
    def exit_code(self) -> int:
        """What the command exits with: 0 fine, 1 above, 2 cannot tell."""
        return ANSWERS.index(self.says)

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain values, ready for JSON."""
        rate = self.decision.noise_rate
        return {
            "says": self.says,
            "exit_code": self.exit_code,
            "reason": self.reason,
            "max_noise": self.max_noise,
            "noise_rate": None if rate is None else [rate.low, rate.high],
            "likely": None if rate is None else rate.likely,
            "examples": len(self.decision),
            "suspects": 0 if self.decision.suspects is None else len(self.decision.suspects),
        }

    def __str__(self) -> str:
        return f"{self.says}: {self.reason}"


def check_limit(max_noise: float) -> None:
    """Refuse, before anything trains, what is no share."""
    if not 0 < max_noise < 1:
        meant = f"; {max_noise:g} of 100 is {max_noise / 100:g}" if 1 <= max_noise < 100 else ""
        raise InputError(f"`max_noise` must be in (0, 1), got {max_noise:g}{meant}")


def check_noise(decision: Decision, max_noise: float) -> NoiseCheck:
    """Compare a decision's noise rate with a limit."""
    check_limit(max_noise)
    limit, rate = f"the limit of {percent(max_noise)} %", decision.noise_rate
    says: Answer = "cannot tell"
    reason = _why_unknown(decision)
    if not reason and rate is not None:
        if rate.low > max_noise:
            says, reason = "above", f"noise rate {rate}, above {limit}"
        elif decision.natural:
            known = f"{percent(rate.low)} % or more of the labels are wrong"
            reason = f"{known}, but these errors are not random and more may be there; {limit} "
            reason += "may be passed"
        elif rate.high <= max_noise:
            says, reason = "fine", f"noise rate {rate}, within {limit}"
        else:
            reason = f"noise rate {rate}, around {limit}"
    return NoiseCheck(says, reason, max_noise, decision)


def _why_unknown(decision: Decision) -> str:
    data, ensemble = decision.data, decision.ensemble
    if len(data) < MIN_ROWS_TO_CLEAN or len(data.classes) < 2:
        what = f"{len(data):,} rows of {len(data.classes):,} classes"
        return f"{what}; {MIN_ROWS_TO_CLEAN} rows of two classes are the least"
    if any(not leak.left_out for leak in data.leaks):
        return "columns tell the label, so every label looks right; leave them out with `without`"
    guess = None if ensemble is None else ensemble.assessment.guess
    if decision.noise_rate is None or guess is None:
        return "no model predicted rows that it did not train on; train with folds"
    right = np.asarray(guess == data.labels)[None]
    if unpredictable(decision) or proxies_above_chance(right, data.labels).outcome == "fails":
        return "the columns do not predict this label, so errors cannot be found"
    return ""
