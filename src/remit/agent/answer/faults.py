"""How often an answer may be none, and what its readers are told of it."""

from __future__ import annotations

from remit.agent.answer.malformed import TRIES
from remit.agent.answer.typed import MISFITS
from remit.agent.recorded.faults import Faults


def again(faults: Faults) -> str | None:
    """Why the model is to be asked again after the newest answer; None where that was one, and
    where it was the last that may be none."""
    if faults.raw is None:
        return None
    if faults.misfit is None:
        return "malformed_output" if faults.malformed < TRIES else None
    return "invalid_output" if faults.misfits < MISFITS else None
