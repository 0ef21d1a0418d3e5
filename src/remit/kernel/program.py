"""What the kernel drives: durable functions."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import msgspec

from remit.kernel.facts import Finished
from remit.kernel.run import ActiveRun
from remit.values.results import Finish, Status

GIVEN_UP = "The run was given up: "
"""How the error of a run begins that was ended without being driven."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a program ended its run."""

    status: Status
    finish: Finish | None = None
    reason: str | None = None
    error: str | None = None
    output: Any = None


def finished(outcome: Outcome, at: int) -> Finished:
    """The last fact of a run that came to `outcome`."""
    return Finished(
        at=at,
        status=outcome.status,
        finish=outcome.finish,
        reason=outcome.reason,
        error=outcome.error,
        output=outcome.output,
    )


def outcome_of(end: Finished) -> Outcome:
    """How a program ended the run whose last fact is `end`."""
    return Outcome(
        status=end.status, finish=end.finish, reason=end.reason, error=end.error, output=end.output
    )


def told_error(error: BaseException) -> str:
    """What a journal says of an error: its class and its message."""
    try:
        text = str(error)
    except Exception:
        text = "its message could not be read"
    return f"{type(error).__name__}: {text}"[:2000]


async def driven_apart(program: Program, run: ActiveRun) -> Outcome | BaseException:
    """What driving `program` gave or raised, in a task of its own: a cancel that it raised itself
    is given back like any other error, and one that is meant for the caller is raised."""

    async def drive() -> Outcome | BaseException:
        try:
            return await program.drive(run)
        except BaseException as error:
            return error

    async with asyncio.TaskGroup() as tasks:
        driving = tasks.create_task(drive())
    return driving.result()


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
