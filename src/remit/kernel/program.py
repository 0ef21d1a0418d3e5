"""What the kernel drives: durable functions."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from remit.kernel.run import ActiveRun
from remit.values.results import Finish, Status


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended its run."""

    status: Status
    finish: Finish | None = None
    reason: str | None = None
    error: str | None = None
    output: Any = None


class Program(Protocol):
    """A function that can be driven again from its journal, in any process."""

    @property
    def key(self) -> str:
        """`name@version`; a run keeps its own."""
        ...

    async def drive(self, run: ActiveRun) -> Outcome:
        """Go on from what the run has recorded, to its end. Everything that touches the world is
        a step. May raise PauseWanted, and must let LetGo and CancelledError pass."""
        ...
