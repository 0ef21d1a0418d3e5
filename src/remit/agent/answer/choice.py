"""Calls that a turn must make, which not every provider sees to."""

from __future__ import annotations

from typing import Final

from remit.agent.answer.malformed import Parts
from remit.agent.answer.typed import FINAL, Read
from remit.models.assemble import RawCall
from remit.values.content import Text

_CALL: Final = "- call "


def met(found: Read, parts: Parts, choice: str, *, typed: bool) -> Read:
    """What was `found` in an answer of these parts, unless the turn's `choice` asked for a call
    that it does not make. An answer of a type is as good as some call; the call of another tool
    than the one that was named is refused when its time comes."""
    if choice in ("none", FINAL) or found.raw is not None:
        return found
    calls = [part.name for part in parts if isinstance(part, RawCall)]
    if choice == "required":
        is_met, wanted = bool(calls) or typed, "one of your tools"
    else:
        is_met, wanted = any(name != FINAL for name in calls), choice
    if is_met:
        return found
    said = "".join([part.text for part in parts if isinstance(part, Text)])
    return Read([], said, f"{_CALL}{wanted} now, and answer later")


def demand(misfit: str) -> str | None:
    """What the model is told where an answer did not fit since it made no call, None elsewhere."""
    if not misfit.startswith(_CALL):
        return None
    return f"Your last answer came too early, and nobody has seen it: {misfit.removeprefix('- ')}."
