"""What readers of a typed run see on the way to its answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest
from pydantic import BaseModel, Field

from remit import Agent, App, Budget, Card, Event, Result, tool
from remit.errors import ConnectionFailedError
from remit.events import DoneEvent, RetryEvent, TextEvent, TurnEvent
from remit.models.request import CallChunk, Chunk, ModelRequest, StopChunk, TextChunk
from remit.store.protocol import Store
from remit.testing import Call, ManualClock, Say, ScriptedModel
from remit.testing.model import FREE

LEAK = '<tool_call>{"name": "find_order", "arguments": {"number": "A-1"}}</tool_call>'


class Order(BaseModel):
    number: str
    lines: list[str] = Field(max_length=100)


GOOD: dict[str, Any] = {"number": "A-1", "lines": [f"line {each}" for each in range(60)]}
BAD: dict[str, Any] = {"number": "A-1", "lines": [f"line {each}" for each in range(101)]}
ORDER = Order(**GOOD)


@tool
async def find_order(number: str) -> str:
    """Finds an order."""
    return f"{number} is there"


class Pieces:
    """A model that answers with these pieces, one list for each request; an error is raised. One
    that `lets_read` gives readers their turn after each."""

    name = "own:pieces"
    card: Card = FREE

    def __init__(self, *answers: Sequence[Chunk | Exception], lets_read: bool = False) -> None:
        self.lets_read = lets_read
        self._answers = list(answers)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        for chunk in self._answers.pop(0):
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk
            if self.lets_read:
                await asyncio.sleep(0)


def cut(text: str, size: int = 7) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def as_text(value: Any) -> list[Chunk]:
    return [TextChunk(piece) for piece in cut(json.dumps(value))]


def as_call(value: Any, index: int = 0) -> list[Chunk]:
    pieces = [CallChunk(index, "", piece) for piece in cut(json.dumps(value))]
    return [CallChunk(index, "final_answer"), *pieces]


def typed(model: Any, output: Any = Order, **changes: Any) -> Agent[Any, Any]:
    options: dict[str, Any] = {"tools": [find_order], "budget": Budget(turns=8)}
    return Agent(name="desk", model=model, output=output, **(options | changes))


async def events_of(agent: Agent[Any, Any]) -> list[Event]:
    seen: list[Event] = []
    await agent.run("go", on_event=seen.append)
    return seen


def partials(events: Sequence[Event]) -> list[Any]:
    return [e.partial for e in events if isinstance(e, TextEvent) and e.partial is not None]


def ended(events: Sequence[Event]) -> Result:
    done = events[-1]
    assert isinstance(done, DoneEvent)
    assert done.result is not None
    return done.result


@pytest.mark.parametrize("way", [as_text, as_call])
async def test_a_reader_sees_the_answer_grow(way: Any) -> None:
    events = await events_of(typed(Pieces(way(GOOD))))

    grown = [len(known.get("lines", ())) for known in partials(events)]
    assert grown == sorted(grown)
    assert len(set(grown)) > 10
    assert events[-1].kind == "done"
    texts = [event.text for event in events if isinstance(event, TextEvent)]
    assert "".join(texts) == (json.dumps(GOOD) if way is as_text else "")


@pytest.mark.parametrize("way", [as_text, as_call])
async def test_what_is_no_object_is_seen_without_the_one_around_it(way: Any) -> None:
    events = await events_of(typed(Pieces(way({"answer": list(range(100))})), list[int]))

    known = partials(events)
    assert len(known) > 5
    assert all(each == list(range(len(each))) for each in known)


async def test_an_untyped_answer_has_no_partial_ones() -> None:
    events = await events_of(typed(Pieces(as_text(GOOD)), None))
    assert partials(events) == []


@pytest.mark.parametrize("way", [as_text, as_call])
async def test_a_call_inside_of_the_answer_is_shown_to_nobody(way: Any) -> None:
    leaking = {"number": "A-1", "lines": ["fine", LEAK, *["more"] * 20]}
    seen = await events_of(typed(Pieces(way(leaking), way(GOOD))))

    shown = [event for event in seen if isinstance(event, TextEvent)]
    assert partials(seen)
    assert not any("tool_call" in f"{event.text} {event.partial}" for event in shown)
    retry = next(event for event in seen if isinstance(event, RetryEvent))
    assert (retry.failure, retry.turn) == ("malformed_output", 0)


@pytest.mark.parametrize("way", [as_text, as_call])
async def test_an_answer_that_does_not_fit_is_taken_back(way: Any) -> None:
    seen = await events_of(typed(Pieces(way(BAD), way(GOOD))))

    kinds = [event.kind for event in seen if event.kind != "text"]
    assert kinds == ["usage", "turn", "retry", "usage", "turn", "done"]
    turns = [event.record.text for event in seen if isinstance(event, TurnEvent)]
    assert turns[0] == ""
    assert json.loads(turns[1]) == GOOD
    retry = next(event for event in seen if isinstance(event, RetryEvent))
    assert (retry.turn, retry.failure, retry.model) == (0, "invalid_output", "own:pieces")
    assert [event.id for event in seen if event.id is not None] == sorted(
        {event.id for event in seen if event.id is not None}
    )


async def test_the_last_answer_that_does_not_fit_is_not_asked_for_again() -> None:
    seen = await events_of(typed(Pieces(*[as_call(BAD)] * 3)))

    assert [event.turn for event in seen if isinstance(event, RetryEvent)] == [0, 1]
    result = ended(seen)
    assert (result.reason, result.text) == ("invalid_output", "")


async def test_of_two_answers_in_one_turn_the_first_counts() -> None:
    other = {**GOOD, "number": "B-2"}
    seen = await events_of(typed(Pieces([*as_call(GOOD), *as_call(other, 1), StopChunk("calls")])))

    assert ended(seen).output == ORDER
    assert {known.get("number", "") for known in partials(seen)} <= {"", "A", "A-", "A-1"}


async def test_a_second_answer_mends_a_first_that_does_not_fit() -> None:
    seen = await events_of(typed(Pieces([*as_call(BAD), *as_call(GOOD, 1)])))

    result = ended(seen)
    assert (result.output, len(result.turns)) == (ORDER, 1)


async def test_stored_runs_tell_the_same(store: Store) -> None:
    agent = typed(Pieces(as_call(BAD), as_text(GOOD), lets_read=True))
    async with App(agents=[agent], store=store) as app:
        run = await app.start("desk", "go")
        async with aclosing(app.events(run)) as events:  # type: ignore[type-var]  # a generator
            live = [event async for event in events]
        async with aclosing(app.events(run)) as events:  # type: ignore[type-var]  # a generator
            again = [event async for event in events]

    assert len(partials(live)) > 10
    assert again == [event for event in live if event.id is not None]
    assert [event.kind for event in again] == [
        "usage", "turn", "retry", "usage", "turn", "done",
    ]  # fmt: skip


class Breaking:
    """A model whose first answer never comes to its end."""

    name, card = "own:breaking", FREE

    def __init__(self) -> None:
        self.asked = 0
        self.began = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        self.asked += 1
        if self.asked == 1:
            for chunk in as_text(GOOD)[:20]:
                yield chunk
            self.began.set()
            await asyncio.Event().wait()
        for chunk in as_text({**GOOD, "number": "B-2"}):
            yield chunk


async def test_another_attempt_at_an_answer_is_read_from_its_start(
    store: Store, clock: ManualClock
) -> None:
    """The lease ends while the model speaks, and the run is taken over; the reader stays."""
    model, seen = Breaking(), list[Event]()

    async def read(app: App, run: str) -> None:
        async for event in app.events(run):
            seen.append(event)

    async with App(agents=[typed(model)], store=store, clock=clock) as app:
        run = await app.start("desk", "go")
        reading = asyncio.create_task(read(app, run))
        await asyncio.wait_for(model.began.wait(), 10)
        clock.advance(100)
        await asyncio.wait_for(reading, 10)

    texts = [event for event in seen if isinstance(event, TextEvent)]
    last = max(event.attempt for event in texts)
    assert last > 1
    shown = partials([event for event in texts if event.attempt == last])
    assert shown[-1]["number"] == "B-2"
    assert {known.get("number", "") for known in shown} <= {"", "B", "B-", "B-2"}


async def test_for_a_reader_that_stalls_the_newest_value_is_kept() -> None:
    """All of them may be many times the answer, which itself comes whole."""
    big = {"number": "A-1", "lines": [f"line {each} " + "x" * 300 for each in range(100)]}
    agent = typed(Pieces([TextChunk(piece) for piece in cut(json.dumps(big), 2)]))
    stream = agent.stream("go")
    first = await anext(stream)
    assert first.kind == "text"
    rest = [event async for event in stream]
    passing = [event for event in rest if event.id is None]
    assert len(passing) <= 256
    assert len(partials(passing)) <= 1
    assert rest[-1].kind == "done"


async def test_the_answer_may_be_none() -> None:
    model = ScriptedModel([[Say("Well."), Call("final_answer", answer=None)]])
    result = await typed(model, int | None).run("go")
    assert (result.finish, result.output) == ("answer", None)


async def test_a_model_that_fails_midway_leaves_no_partial_answer_behind() -> None:
    lost: list[Any] = [*as_text(GOOD)[:20], ConnectionFailedError(reason="gone")]
    seen: list[Event] = []
    with pytest.raises(ConnectionFailedError):
        await typed(Pieces(lost)).run("go", on_event=seen.append)
    assert [event for event in seen if isinstance(event, TurnEvent)] == []
