"""A clerk with tools of the test's own, and what a strict provider would refuse of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

from remit import Agent, App, Budget, Caller, Model, ModelRequest, Run, ToolContext, tool
from remit.kernel.facts import AnyFact, decode
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.life import is_crash
from remit.testing.model import Item, ScriptedModel
from remit.tools.tool import Tool
from remit.values.messages import AssistantMessage, Message, ToolMessage
from remit.values.results import Pending, Question

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


def cut_short(items: Sequence[Item]) -> ScriptedModel:
    """A model whose script a test may leave before its end."""
    model = ScriptedModel(items)
    model.assert_used = lambda: None  # type: ignore[method-assign]  # the plugin asks it
    return model


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


async def paused(app: App, message: str = "x", agent: str = "clerk", **options: Any) -> Run:
    """A run of the agent's that waits for people."""
    run = await ended(app, await app.start(agent, message, **options))
    assert (run.status, run.finish) == ("paused", "approval")
    return run


async def ended_past(app: App, run: str) -> Run:
    """The run once it has gone on from its pause to its end."""

    async def read() -> None:
        async for _ in app.events(run):
            pass

    await soon(read())
    return await app.get(run)


async def facts(store: Store, run: str) -> list[AnyFact]:
    """All that is recorded of a run."""
    return [decode(entry.body) for entry in await store.read(run)]


async def dies(life: Callable[[], Awaitable[object]]) -> None:
    """Live until the store dies, and the process with it."""
    if not await may_die(life):
        raise AssertionError("it lives")


async def may_die(life: Callable[[], Awaitable[object]]) -> bool:
    """Live until the end, or until the store dies; whether it died. How many writes a life takes
    may differ by one or two."""
    try:
        await life()
    except BaseException as error:
        if not is_crash(error):
            raise
        return True
    return False


async def pass_time(clock: ManualClock, seconds: float) -> None:
    """Let the clock run, so that leases are renewed."""
    while seconds > 0:
        clock.advance(min(seconds, 1.0))
        seconds -= 1.0
        await asyncio.sleep(0.002)


def calls_of(waits: Iterable[Pending | Question]) -> list[Pending]:
    """The calls among what a run waits with."""
    return [one for one in waits if one.kind == "call"]
