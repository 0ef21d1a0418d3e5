"""What follows a model call that failed: the same again, another model, or the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from remit.models.failure import Failure
from remit.models.protocol import Model

_OWN = frozenset({"api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"})
"""The hosts that models without a `base_url` are asked at."""


class Again(NamedTuple):
    """Ask the same model after so many seconds."""

    wait: float


class Switch(NamedTuple):
    """The model of this name takes over."""

    model: str


class Stop(NamedTuple):
    """The run fails."""


def decide(
    failure: Failure, wait: float | None, *, fits: bool, heirs: Sequence[str]
) -> Again | Switch | Stop:
    """What follows `failure`. `wait` is how many seconds the same model would be left alone before
    it is asked again, None where it has been asked often enough. `fits` says whether the run has
    time for that wait, and room in its budget for the failed call and another. `heirs` are the
    models that could take over, in order."""
    if failure.repeats and wait is not None and fits:
        return Again(wait)
    if failure.passes_on and heirs:
        return Switch(heirs[0])
    return Stop()


def maker(model: Model) -> str:
    """Who is paid for the model: what stands before its name, one for both of OpenAI's interfaces,
    and the host that is asked where that is not the maker's own."""
    name = model.name.removeprefix("bridge:").partition(":")[0]
    name = name.removesuffix("-responses").removesuffix("-chat")
    url = getattr(model, "base_url", None)
    host = urlsplit(url).netloc.rpartition("@")[2].lower() if isinstance(url, str) else ""
    return f"{name} at {host}" if host and host not in _OWN else name
