"""A model of the user's own may yield anything: its run ends with a reason, and can be read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any

import pytest

from remit import Agent, App, Budget, Caller, Pricing, Usage, tool
from remit.errors import ConfigError, EditRefusedError, StoreError
from remit.models.protocol import Card
from remit.models.request import (
    CallChunk,
    ModelRequest,
    ReasoningChunk,
    StopChunk,
    TextChunk,
    UsageChunk,
)
from remit.store.protocol import Store
from remit.testing import Call, ManualClock, Say, ScriptedModel
from remit.values.events import ToolCallEvent

TEXT = TextChunk("x")
PIECES: list[list[Any]] = [
    ["text"],
    [None],
    [TEXT, StopChunk("stop")],  # type: ignore[arg-type]  # the fault that is tested
    [TEXT, StopChunk(None)],  # type: ignore[arg-type]  # the fault that is tested
    [TEXT, UsageChunk("many")],  # type: ignore[arg-type]  # the fault that is tested
    [TEXT, UsageChunk(Usage(input_tokens=1.5))],  # type: ignore[arg-type]  # as above
    [TextChunk(None)],  # type: ignore[arg-type]  # the fault that is tested
    [ReasoningChunk("x", 5)],  # type: ignore[arg-type]  # the fault that is tested
    [CallChunk(0, "look", {"a": 1})],  # type: ignore[arg-type]  # the fault that is tested
]


class Own:
    """A model made of a function."""

    name = "own:model"

    def __init__(self, stream: Callable[[ModelRequest], Any], card: Card | None = None) -> None:
        self.card = card or Card()
        self.stream = stream


def yielding(pieces: list[Any]) -> Own:
    async def stream(request: ModelRequest) -> AsyncIterator[Any]:
        for piece in pieces:
            yield piece

    return Own(stream)


def agent(model: Any, **changes: Any) -> Agent:
    options: dict[str, Any] = {"name": "a", "model": model, "budget": Budget(turns=3)}
    return Agent(**(options | changes))


@pytest.mark.parametrize("pieces", PIECES, ids=repr)
async def test_a_wrong_piece_fails_its_run_and_poisons_no_thread(
    store: Store, clock: ManualClock, pieces: list[Any]
) -> None:
    async with App(agents=[agent(yielding(pieces))], store=store, clock=clock) as app:
        run = await asyncio.wait_for(app.run("a", "go", thread="t"), 10)
        kinds = [event.kind async for event in app.events(run.id)]
    assert run.status == "failed"
    assert "StopChunk" in (run.error or "")
    assert kinds[-1] == "done"
    async with App(agents=[agent(yielding([TEXT]))], store=store, clock=clock) as app:
        assert (await asyncio.wait_for(app.run("a", "go", thread="t"), 10)).text == "x"


async def not_a_stream(request: ModelRequest) -> str:
    return "x"


@pytest.mark.parametrize("stream", [not_a_stream, lambda request: "x"], ids=["async", "plain"])
async def test_a_stream_that_is_none_says_how_to_write_it(stream: Any) -> None:
    with pytest.raises(ConfigError, match="yield"):
        await agent(Own(stream)).run("go")


async def test_a_store_error_of_a_models_own_fails_its_run(
    store: Store, clock: ManualClock
) -> None:
    asked: list[int] = []

    async def stream(request: ModelRequest) -> AsyncIterator[Any]:
        asked.append(1)
        yield TEXT
        raise StoreError(reason="another store's")

    async with App(agents=[agent(Own(stream))], store=store, clock=clock) as app:
        assert (await asyncio.wait_for(app.run("a", "go"), 10)).status == "failed"
    assert asked == [1]


async def test_a_model_that_reports_no_usage_is_bounded_by_cost_all_the_same() -> None:
    @tool
    async def look() -> str:
        """Looks."""
        return "nothing"

    async def stream(request: ModelRequest) -> AsyncIterator[Any]:
        yield CallChunk(0, "look", "{}")

    card = Card(pricing=Pricing(input=3, output=15))
    result = await agent(
        Own(stream, card), tools=[look], budget=Budget(cost="0.01"), brakes=None
    ).run("go")
    assert result.finish == "budget"
    assert result.usage.estimated
    assert (result.usage.cost or 0) >= Decimal("0.01")


def test_a_cost_budget_alone_needs_a_rate_above_nothing() -> None:
    with pytest.raises(ConfigError, match="turns"):
        agent(ScriptedModel([]), budget=Budget(cost=1))


async def test_who_reads_along_changes_nothing_that_runs(store: Store, clock: ManualClock) -> None:
    paid: list[int] = []

    @tool
    async def pay(amount: int) -> str:
        """Pays."""
        paid.append(amount)
        await asyncio.sleep(0)
        return "paid"

    calls = [Call("pay", amount=number) for number in (1, 2, 3)]

    def spoil(event: Any) -> None:
        if isinstance(event, ToolCallEvent):
            event.call.arguments["amount"] = 999

    alone = agent(ScriptedModel([calls, Say("ok")]), tools=[pay], parallel=1)
    await alone.run("go", on_event=spoil)
    kept = agent(ScriptedModel([calls, Say("ok")]), tools=[pay], parallel=1)
    async with App(agents=[kept], store=store, clock=clock) as app:
        run = await app.start("a", "go")
        async for event in app.events(run):
            spoil(event)
    assert paid == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize(
    "amount", [float("nan"), float("inf"), {1}, b"x", Decimal(1), {1: 2}], ids=repr
)
async def test_an_edit_that_json_would_change_is_refused(
    store: Store, clock: ManualClock, amount: Any
) -> None:
    @tool(approval="always")
    async def pay(amount: Any = None) -> str:
        """Pays."""
        return "paid"

    one = agent(ScriptedModel([Call("pay", amount=1)]), tools=[pay])
    async with App(agents=[one], store=store, clock=clock) as app:
        run = await app.run("a", "go")
        with pytest.raises(EditRefusedError, match="JSON"):
            await app.decide(
                run.id, edit={run.pending[0].id: {"amount": amount}}, by=Caller(user="staff_1")
            )
        assert (await app.get(run.id)).status == "paused"
