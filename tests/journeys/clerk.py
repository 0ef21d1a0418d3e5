"""A clerk with tools of the test's own, and what a strict provider would refuse of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import Any, TypeVar

from remit import Agent, App, Budget, Caller, Model, ModelRequest, Run, ToolContext, tool
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Item, ScriptedModel
from remit.tools.tool import Tool
from remit.values.messages import AssistantMessage, Message, ToolMessage

T = TypeVar("T")
STAFF = Caller(user="staff_1", roles=frozenset({"staff"}))


def clerk(
    script: Model | Sequence[Item], tools: Sequence[Tool] = (), **changes: Any
) -> Agent[Any, Any]:
    """An agent with a script, or a model of the test's own, and tools."""
    options: dict[str, Any] = {
        "name": "clerk",
        "model": ScriptedModel(script) if isinstance(script, Sequence) else script,
        "instructions": "Help.",
        "tools": tools,
        "budget": Budget(turns=8),
    }
    return Agent(**(options | changes))


def app_of(
    agent: Agent[Any, Any] | Iterable[Agent[Any, Any]],
    store: Store,
    clock: ManualClock,
    **options: Any,
) -> App:
    """An App of these agents on a store that is open."""
    agents = [agent] if isinstance(agent, Agent) else list(agent)
    return App(agents, store=store, clock=clock, **options)


async def soon(wanted: Awaitable[T]) -> T:
    """What comes within a few seconds, or a failure of the test instead of a hang."""
    return await asyncio.wait_for(wanted, 10)


async def ended(app: App, run: str) -> Run:
    return await soon(app.wait(run))


class Desk:
    """Tools that note what runs, and can be held in the middle of it."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, Any]] = []
        self.keys: list[str] = []
        self.now = 0
        self.most = 0
        self.held = asyncio.Event()
        self.opened = asyncio.Event()
        self.cut = asyncio.Event()

    def tools(self, **pay: Any) -> list[Tool]:
        desk = self

        @tool
        async def look(number: int, ctx: ToolContext[Any]) -> str:
            """Looks a number up."""
            desk.note("look", number, ctx)
            return f"seen {number}"

        @tool(**({"approval": "always"} | pay))
        async def pay_out(amount: int, ctx: ToolContext[Any]) -> str:
            """Pays an amount out."""
            desk.note("pay_out", amount, ctx)
            return f"paid {amount}"

        @tool
        async def hold(number: int, ctx: ToolContext[Any]) -> str:
            """Holds on until it is let go."""
            desk.note("hold", number, ctx)
            desk.held.set()
            try:
                await desk.opened.wait()
            except asyncio.CancelledError:
                desk.cut.set()
                raise
            return f"held {number}"

        return [look, pay_out, hold]

    def note(self, name: str, value: Any, ctx: ToolContext[Any]) -> None:
        self.ran.append((name, value))
        self.keys.append(ctx.idempotency_key)


def results(messages: Iterable[Message]) -> list[ToolMessage]:
    return [message for message in messages if isinstance(message, ToolMessage)]


def check_request(request: ModelRequest) -> None:
    """Fail for what the strict among the providers refuse: a call without its result right
    behind it, ids that repeat, empty messages, blank texts, names that are none."""
    seen: set[str] = set()
    waiting: list[str] = []
    for message in request.messages:
        if isinstance(message, ToolMessage):
            assert waiting, f"a result without its call: {message}"
            assert message.call_id == waiting.pop(0)
            continue
        assert not waiting, f"calls without results: {waiting}"
        assert message.content, "an empty message"
        if isinstance(message, AssistantMessage):
            waiting = [call.id for call in message.calls]
            assert not seen & set(waiting)
            assert len(set(waiting)) == len(waiting)
            seen |= set(waiting)
        else:
            assert message.text.strip()
    assert not waiting, f"calls without results: {waiting}"
