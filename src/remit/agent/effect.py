"""Calls whose effect and whose result are one commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal

from remit.agent.inside.tool import every_tool
from remit.kernel.facts import Stepped
from remit.kernel.run import ActiveRun
from remit.tools.execute import Outcome, failed
from remit.tools.inside import Inside, Undone
from remit.tools.patience import patiently
from remit.tools.tool import Tool
from remit.values.content import Call
from remit.values.errors import ConfigError, EffectError, StoreError
from remit.values.messages import ToolMessage

Transacts = Literal["sync", "async"]
"""How a store runs what happens in its transaction: calls it, or awaits it."""


Tell = Callable[[Outcome], ToolMessage | Awaitable[ToolMessage]]
"""What the model reads of how a call ended."""


async def take_effect(run: ActiveRun, name: str, inside: Inside, tell: Tell) -> None:
    """Make the call in the transaction that records its result as the step `name`.

    Where the call does not come to its end nothing that it did stays, and what became of it is
    recorded by itself.
    """
    tool, began = inside.tool, run.clock.steady()

    def make(tx: Any) -> ToolMessage | Awaitable[ToolMessage]:
        made = inside(tx)
        return tell(made) if isinstance(made, Outcome) else _told_later(made, tell)

    async def attempt() -> Outcome:
        try:
            await run.transact(name, make, inside.stop)
        except Undone as undone:
            if isinstance(undone.why, Outcome):
                return undone.why
            raise undone.why or asyncio.CancelledError from None
        except StoreError as error:
            may_stay = isinstance(error, EffectError) and error.may_stay
            return failed(tool, error, may_stay=may_stay)
        return Outcome("")

    deadline = None if tool.seconds is None else began + tool.seconds
    outcome = await patiently(attempt, tool, deadline, run.clock, run.check)
    if run.recorded(name) is None:
        took = round((run.clock.steady() - began) * 1000)
        value = await _awaited(tell(outcome))
        await run.record(Stepped(name=name, value=value, took=took, at=run.now()))


def told(call: Call, outcome: Outcome) -> ToolMessage:
    """What the model reads of a call that has ended."""
    assert outcome.status != "busy"
    return ToolMessage(call.id, call.name, outcome.text, outcome.status)


def check_effects(tools: Iterable[Tool], transacts: Transacts | None) -> None:
    """Raise ConfigError, which says the mend, for a transactional tool that a store which
    transacts like that, or not at all (None), cannot run."""
    for tool in every_tool(tools):
        if not tool.transactional:
            continue
        if transacts is None:
            raise ConfigError(
                f"tool {tool.name!r} is transactional, and here is no database to be so in: give"
                " its agent to an App with store='sqlite:///…' or 'postgresql://…'"
            )
        if tool.is_async and transacts == "sync":
            raise ConfigError(
                f"tool {tool.name!r} is transactional and async: on SQLite it runs on the thread"
                " that writes, so make it a plain `def` that uses ctx.tx, a sqlite3 connection"
            )
        if not tool.is_async and transacts == "async":
            raise ConfigError(
                f"tool {tool.name!r} is transactional and sync: on PostgreSQL make it an"
                " `async def` that awaits ctx.tx, a psycopg AsyncConnection"
            )


async def _told_later(made: Awaitable[Outcome], tell: Tell) -> ToolMessage:
    return await _awaited(tell(await made))


async def _awaited(message: ToolMessage | Awaitable[ToolMessage]) -> ToolMessage:
    return message if isinstance(message, ToolMessage) else await message
