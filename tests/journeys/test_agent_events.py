"""What a run without a store tells while it goes on: all of it, in order, to its end."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, cast

import pytest

from remit import Event, ModelRequest, ToolContext, tool
from remit.errors import ProviderError
from remit.models.request import Chunk, ReasoningChunk, TextChunk
from remit.testing.model import FREE, Call, Item, Say
from remit.values.events import (
    DoneEvent,
    PendingEvent,
    ReasoningEvent,
    TextEvent,
    ToolCallEvent,
    ToolProgressEvent,
    ToolResultEvent,
    TurnEvent,
)
from tests.journeys.clerk import Desk, calls_of, clerk, cut_short, soon

SCRIPT: list[Item] = [
    [Say("Let me see.", pieces=2), Call("look", number=1)],
    Say("It is 1.", pieces=["It ", "is 1."]),
]
KINDS = [
    "text",
    "text",
    "tool_call",
    "usage",
    "turn",
    "tool_result",
    "text",
    "text",
    "usage",
    "turn",
    "done",
]


async def collected(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


async def test_events_come_in_order_and_end_with_done() -> None:
    events = await soon(collected(clerk(SCRIPT, Desk().tools()).stream("x")))
    assert [event.kind for event in events] == KINDS
    texts = [event for event in events if isinstance(event, TextEvent)]
    assert [(event.turn, event.attempt, event.delta_id) for event in texts] == [
        (0, 1, 0),
        (0, 1, 1),
        (1, 1, 0),
        (1, 1, 1),
    ]
    done = events[-1]
    assert isinstance(done, DoneEvent)
    assert done.result is not None
    assert (done.result.finish, done.result.text) == ("answer", "It is 1.")


async def test_events_are_told_to_a_function_as_they_are_streamed() -> None:
    told: list[Event] = []
    result = await clerk(SCRIPT, Desk().tools()).run("x", on_event=told.append)
    assert [event.kind for event in told] == KINDS
    done = told[-1]
    assert isinstance(done, DoneEvent)
    assert done.result == result


async def test_facts_say_what_they_are_about() -> None:
    events = await collected(clerk(SCRIPT, Desk().tools()).stream("x"))
    (call,) = [event for event in events if isinstance(event, ToolCallEvent)]
    (result,) = [event for event in events if isinstance(event, ToolResultEvent)]
    turns = [event for event in events if isinstance(event, TurnEvent)]
    assert call.call == result.call
    assert (result.result.text, result.result.call_id) == ("seen 1", call.call.id)
    assert [turn.record.text for turn in turns] == ["Let me see.", "It is 1."]
    for turn in turns:
        deltas = [e.text for e in events if isinstance(e, TextEvent) and e.turn == turn.turn]
        assert "".join(deltas) == turn.record.text


async def test_reasoning_is_told_apart_from_text() -> None:
    class Thinking:
        name, card = "own:thinking", FREE

        async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
            yield ReasoningChunk("Hm.", "c2ln")
            yield TextChunk("Yes.")

    events = await collected(clerk(Thinking()).stream("x"))
    assert [event.kind for event in events] == ["reasoning", "text", "usage", "turn", "done"]
    assert isinstance(events[0], ReasoningEvent)
    assert events[0].text == "Hm."
    assert isinstance(events[3], TurnEvent)
    assert events[3].record.text == "Yes."


async def test_a_run_that_needs_a_person_ends_its_events_with_pending() -> None:
    events = await collected(clerk([Call("pay_out", amount=5)], Desk().tools()).stream("x"))
    assert [event.kind for event in events] == ["tool_call", "usage", "turn", "pending"]
    assert isinstance(events[-1], PendingEvent)
    assert [pending.tool for pending in calls_of(events[-1].pending)] == ["pay_out"]


async def test_text_is_told_while_the_model_still_speaks() -> None:
    heard = asyncio.Event()

    class Waiting:
        name, card = "own:waiting", FREE

        async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
            yield TextChunk("Hel")
            await heard.wait()
            yield TextChunk("lo")

    async for event in clerk(Waiting()).stream("x"):
        if isinstance(event, TextEvent):
            heard.set()
    assert heard.is_set()


@pytest.mark.parametrize("beside", [False, True])
async def test_progress_is_told_while_the_tool_still_runs(beside: bool) -> None:
    heard = asyncio.Event()

    @tool
    async def work(ctx: ToolContext[Any]) -> str:
        """Works."""
        ctx.progress("half way", fraction=0.5)
        await heard.wait()
        return "done"

    calls = [Call("work"), Call("work")] if beside else [Call("work")]

    async def reading() -> list[ToolProgressEvent]:
        found = []
        async for event in clerk([calls, Say("done")], [work]).stream("x"):
            if isinstance(event, ToolProgressEvent):
                found.append(event)
                heard.set()
        return found

    told = await soon(reading())
    assert [(event.text, event.fraction) for event in told] == [("half way", 0.5)] * len(calls)
    assert len({event.call_id for event in told}) == len(calls)


async def test_progress_from_a_thread_is_told_while_it_still_runs() -> None:
    heard = threading.Event()

    @tool
    def work(ctx: ToolContext[Any]) -> str:
        """Works on a thread."""
        ctx.progress("half way")
        return "heard" if heard.wait(5) else "not heard"

    async def reading() -> list[str]:
        found = []
        async for event in clerk([Call("work"), Say("done")], [work]).stream("x"):
            if isinstance(event, ToolProgressEvent):
                heard.set()
            if isinstance(event, ToolResultEvent):
                found.append(event.result.text)
        return found

    assert await soon(reading()) == ["heard"]


async def test_a_run_waits_for_who_is_told() -> None:
    """Nothing goes on before a turn, a usage report and a result were heard."""
    order: list[str] = []

    @tool
    async def look(number: int) -> str:
        """Looks."""
        order.append("look runs")
        return str(number)

    def model_is_asked(request: ModelRequest) -> Say:
        order.append("model is asked")
        return Say("done")

    async def slow(event: Event) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        order.append(event.kind)

    await clerk([Call("look", number=1), model_is_asked], [look]).run("x", on_event=slow)
    assert order == [
        "tool_call",
        "usage",
        "turn",
        "look runs",
        "tool_result",
        "model is asked",
        "text",
        "usage",
        "turn",
        "done",
    ]


async def test_one_event_is_told_at_a_time_also_from_parallel_calls() -> None:
    now = 0

    async def slow(event: Event) -> None:
        nonlocal now
        now += 1
        assert now == 1
        await asyncio.sleep(0)
        now -= 1

    calls = [Call("look", number=n) for n in range(6)]
    result = await clerk([calls, Say("done")], Desk().tools()).run("x", on_event=slow)
    assert result.finish == "answer"


@pytest.mark.parametrize("kind", sorted({*KINDS, "pending", "tool_progress"}))
@pytest.mark.parametrize("calls", [1, 3])
async def test_what_the_function_raises_ends_the_run_as_an_error(kind: str, calls: int) -> None:
    told: list[str] = []

    @tool
    async def look(number: int, ctx: ToolContext[Any]) -> str:
        """Looks."""
        ctx.progress("looking")
        return str(number)

    def refuse(event: Event) -> None:
        told.append(event.kind)
        if event.kind == kind:
            raise LookupError(kind)

    ask = [*[Call("look", number=n) for n in range(calls)]]
    last: Any = Call("pay_out", amount=1) if kind == "pending" else Say("done")
    agent = clerk(cut_short([[Say("Hm. "), *ask], last]), [look, Desk().tools()[1]])
    with pytest.raises(LookupError, match=kind):
        await soon(agent.run("x", on_event=refuse))
    assert told.count(kind) == 1
    assert told[-1] == kind


async def test_what_the_function_raises_ends_calls_that_run_beside() -> None:
    desk = Desk()

    async def refuse(event: Event) -> None:
        if event.kind == "tool_result":
            await desk.held.wait()
            raise LookupError("no")

    calls = [Call("look", number=1), Call("hold", number=2)]
    with pytest.raises(LookupError, match="no"):
        await soon(clerk([calls], desk.tools()).run("x", on_event=refuse))
    assert desk.cut.is_set()


async def test_a_providers_error_ends_the_iteration() -> None:
    events: list[Event] = []

    async def read() -> None:
        script: list[Item] = [Call("look", number=1), ProviderError(status=400)]
        async for event in clerk(script, Desk().tools()).stream("x"):
            events.append(event)

    with pytest.raises(ProviderError) as caught:
        await read()
    assert [event.kind for event in events] == ["tool_call", "usage", "turn", "tool_result"]
    assert len(caught.value.messages) == 3


@pytest.mark.slow
@pytest.mark.parametrize("how", ["break", "close", "forget"])
@pytest.mark.parametrize("at", ["text", "tool_call", "tool_result", "done"])
async def test_leaving_early_cancels_the_run_and_leaves_nothing_behind(
    how: str, at: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "asyncio")
    desk = Desk()
    turn: list[Say | Call] = [Say("Hm. "), Call("look", number=1), Call("hold", number=2)]
    agent = clerk(cut_short([turn, Say("done")]), desk.tools())
    if at == "done":
        desk.opened.set()
    before = asyncio.all_tasks()
    events = cast(Any, agent.stream("x"))
    async for event in events:
        if event.kind == at:
            break
    if how == "close":
        await events.aclose()
    del events
    gc.collect()
    for _ in range(20):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    assert desk.held.is_set() == desk.cut.is_set() or at == "done"
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_leaving_when_the_run_has_just_failed_leaves_nothing_behind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its error is nobody's any more, and no complaint about it is left."""
    agent = clerk([Call("look", number=1), ProviderError(status=400)], Desk().tools())
    async with aclosing(cast(Any, agent.stream("x"))) as events:
        async for _ in events:
            for _ in range(20):
                await asyncio.sleep(0)
            break
    gc.collect()
    await asyncio.sleep(0)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_an_iteration_that_never_begins_runs_nothing() -> None:
    before = asyncio.all_tasks()
    events = clerk([]).stream("x")
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    del events
    gc.collect()


async def test_a_reader_that_stops_reading_slows_no_run_and_keeps_no_more_than_some_deltas() -> (
    None
):
    """The text of each turn stands in its `turn`, whatever deltas were missed."""
    text = " ".join(map(str, range(6000)))
    asked = asyncio.Event()

    def last(request: ModelRequest) -> Say:
        asked.set()
        return Say("done")

    script: list[Item] = [[Say(text), Call("look", number=1)], last]
    events = clerk(script, Desk().tools()).stream("x")
    first = await anext(events)
    await soon(asked.wait())
    rest = [event async for event in events]
    kinds = [event.kind for event in rest]
    assert (first.kind, kinds[-1]) == ("text", "done")
    assert 200 < kinds.count("text") < 300
    assert [kind for kind in kinds if kind != "text"] == [
        *["tool_call", "usage", "turn", "tool_result", "usage", "turn", "done"]
    ]
    turn = next(event for event in rest if isinstance(event, TurnEvent))
    assert turn.record.text == text
