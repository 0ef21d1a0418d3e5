"""What follows a model call that failed: the same again, another model, or the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from remit.models.failure import Failure


class Again(NamedTuple):
    """Ask the same model after so many seconds."""

    wait: float


class Switch(NamedTuple):
    """The model of this name takes over."""

    model: str


class Stop(NamedTuple):
    """The run fails."""


def decide(
    failure: Failure, wait: float | None, *, fits: bool, others: Sequence[str]
) -> Again | Switch | Stop:
    """What follows `failure`. `wait` is how long the same model would be left alone, None where it
    has been asked often enough; `fits` says whether the run has the time for that, and the money
    for a call that failed and another. `others` are the models that could take over, in order."""
    if failure.repeats and wait is not None and fits:
        return Again(wait)
    if failure.passes_on and others:
        return Switch(others[0])
    return Stop()


def maker(model: str) -> str:
    """Who makes, and bills, the model of this name: one for both of OpenAI's interfaces."""
    return model.partition(":")[0].removesuffix("-responses")
