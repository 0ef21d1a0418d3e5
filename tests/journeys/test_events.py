"""Events of durable runs: each fact once, in order, to whoever reads, whenever they begin."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from remit import App, Budget, Event, LeaseTerms, ModelRequest, ToolContext, tool
from remit.errors import ConfigError, ProviderError, RunNotFoundError
from remit.models.request import Chunk, TextChunk
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import FREE, Answer, Call, Item, Say
from remit.values.events import (
    DoneEvent,
    FactEvent,
    PendingEvent,
    TextEvent,
    ToolProgressEvent,
    TurnEvent,
)
from tests.journeys.clerk import STAFF, Desk, app_of, clerk, ended, paused, soon

LONG: list[Item] = [
    [Say("Let me see."), Call("look", number=1), Call("look", number=2)],
    [Call("look", number=3), Call("pay_out", amount=150)],
    Say("It is done.", pieces=3),
]


async def read(app: App, run: str, after: int | str = 0) -> list[Event]:
    """Every event to the end of the run."""
    return await soon(_all(app.events(run, after=after)))


async def _all(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


def of_facts(events: Sequence[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, FactEvent)]


def places(events: Sequence[Event]) -> list[tuple[int, int]]:
    return [(event.seq, event.index) for event in of_facts(events)]


async def whole(app: App, **options: Any) -> str:
    """The long run, decided and ended."""
    run = await paused(app, **options)
    await app.decide(run.id, approve=[run.pending[0].id], by=STAFF)
    await soon(_all(app.events(run.id)))
    return run.id


async def test_facts_are_numbered_without_a_gap_and_each_told_once(
    store: Store, clock: ManualClock
) -> None:
    async with app_of(clerk(LONG, Desk().tools()), store, clock) as app:
        events = await read(app, await whole(app))
    assert [event.kind for event in events] == [
        "tool_call", "tool_call", "usage", "turn", "tool_result", "tool_result",
        "tool_call", "tool_call", "usage", "turn", "tool_result", "pending", "tool_result",
        "usage", "turn", "done",
    ]  # fmt: skip
    found = places(events)
    assert found == sorted(set(found))
    for seq in {seq for seq, _ in found}:
        indices = [index for at, index in found if at == seq]
        assert indices == list(range(len(indices)))


async def test_a_reader_goes_on_anywhere_and_gets_the_rest_exactly(
    store: Store, clock: ManualClock
) -> None:
    async with app_of(clerk(LONG, Desk().tools()), store, clock) as app:
        run = await whole(app)
        events = of_facts(await read(app, run))
        for cut, last in enumerate(events, 1):
            assert of_facts(await read(app, run, after=last.id)) == events[cut:]
            whole_entry = [event for event in events if event.seq > last.seq]
            assert of_facts(await read(app, run, after=last.seq)) == whole_entry
            assert of_facts(await read(app, run, after=str(last.seq))) == whole_entry
        assert of_facts(await read(app, run, after=10_000)) == []


@pytest.mark.parametrize(
    "after", [-1, "x", "1.x", "1.-1", "-1.0", 1.5, "1.2.3", "", True, "1.", " 1"]
)
async def test_a_place_that_is_none_is_refused(
    store: Store, clock: ManualClock, after: Any
) -> None:
    async with app_of(clerk([Say("hi")]), store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))
        with pytest.raises(ConfigError, match="after="):
            await read(app, run.id, after=after)


async def test_a_run_that_is_not_there_has_no_events(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock) as app:
        with pytest.raises(RunNotFoundError):
            await read(app, "run_x")


Ending = tuple[list[Item], dict[str, Any], str]
ENDINGS: dict[str, Ending] = {
    "answer": ([Say("done")], {}, "answer"),
    "an error of a tool": ([Call("fail"), Say("done")], {}, "answer"),
    "turns": ([Call("look", number=1)], {"budget": Budget(turns=1)}, "turns"),
    "calls": (
        [Call("look", number=1)],
        {"budget": Budget(turns=5, tool_calls=0)},
        "tool_calls",
    ),
    "tokens": ([Call("look", number=1)], {"budget": Budget(turns=5, tokens=1)}, "tokens"),
    "length": ([Answer(Say("I"), stop="length")], {}, "length"),
    "refusal": ([Answer(stop="refusal")], {}, "refusal"),
    "a provider's error": ([ProviderError(status=400)], {}, ""),
    "an error in the middle": ([Call("look", number=1), ValueError("broken")], {}, ""),
}


@pytest.mark.parametrize(("script", "options", "finish"), ENDINGS.values(), ids=ENDINGS)
async def test_every_end_is_told_once(
    store: Store, clock: ManualClock, script: list[Item], options: dict[str, Any], finish: str
) -> None:
    async with app_of(clerk(script, Desk().tools(), **options), store, clock) as app:
        run = await app.start("clerk", "x")
        live = await read(app, run)
        again = await read(app, run)
    assert of_facts(live) == of_facts(again)
    (done,) = [event for event in live if isinstance(event, DoneEvent)]
    assert live[-1] is done
    if finish:
        assert done.result is not None
        assert (done.result.finish, done.error) == (finish, None)
    else:
        assert (done.result, bool(done.error)) == (None, True)


@pytest.mark.parametrize("status", ["queued", "running", "paused"])
async def test_a_cancelled_run_is_told_once_whatever_it_did(
    store: Store, clock: ManualClock, status: str
) -> None:
    desk = Desk()
    call = Call("hold", number=1) if status == "running" else Call("pay_out", amount=1)
    script: list[Item] = [] if status == "queued" else [call]
    app = app_of(clerk(script, desk.tools()), store, clock, work=status != "queued")
    async with app:
        run = await app.start("clerk", "x")
        reading = asyncio.create_task(read(app, run))
        if status == "running":
            await soon(desk.held.wait())
        elif status == "paused":
            await ended(app, run)
        await app.cancel(run, reason="enough")
        live = await reading
        assert of_facts(live) == of_facts(await read(app, run))
    (done,) = [event for event in live if isinstance(event, DoneEvent)]
    assert done.result is not None
    assert (done.result.finish, done.result.reason) == ("cancelled", "enough")
    kinds = [event.kind for event in live]
    assert kinds.count("tool_call") == kinds.count("tool_result")


async def test_a_run_that_is_given_up_is_told_once(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock, work=False) as app:
        run = await app.start("clerk", "x")
    for number in range(3):
        await store.beat(f"dead{number}", 20.0, join=True)
        assert await store.claim(f"dead{number}", ["clerk@1"], format=1)
        clock.advance(21)
        await store.sweep()
    async with app_of(clerk([]), store, clock) as app:
        (done,) = await read(app, run)
    assert isinstance(done, DoneEvent)
    assert done.error is not None
    assert "3 times" in done.error


async def test_each_pause_is_told_once_and_the_reader_stays(
    store: Store, clock: ManualClock
) -> None:
    script: list[Item] = [
        [Call("pay_out", amount=1), Call("pay_out", amount=2)],
        Call("pay_out", amount=3),
        Say("done"),
    ]
    async with app_of(clerk(script, Desk().tools()), store, clock) as app:
        run = await app.start("clerk", "x")
        reading = asyncio.create_task(read(app, run))
        for _ in range(2):
            waiting = await ended(app, run)
            for pending in waiting.pending:
                await app.decide(run, approve=[pending.id], by=STAFF)
        events = await reading
    kinds = [event.kind for event in events]
    assert (kinds.count("pending"), kinds.count("done")) == (2, 1)
    assert [len(event.pending) for event in events if isinstance(event, PendingEvent)] == [2, 1]


async def test_a_reader_in_another_process_hears_of_every_fact(
    store: Store, other_store: Store, clock: ManualClock
) -> None:
    async with (
        app_of(clerk(LONG, Desk().tools()), store, clock) as app,
        app_of(clerk([]), other_store, clock, work=False) as other,
    ):
        run = await app.start("clerk", "x")
        reading = asyncio.create_task(read(other, run))
        waiting = await ended(app, run)
        await app.decide(run, approve=[waiting.pending[0].id], by=STAFF)
        assert of_facts(await reading) == of_facts(await read(app, run))


async def test_a_reader_who_joins_late_gets_what_was_and_what_comes(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()
    script: list[Item] = [Call("look", number=1), Call("hold", number=2), Say("done")]
    async with app_of(clerk(script, desk.tools()), store, clock) as app:
        run = await app.start("clerk", "x")
        early = asyncio.create_task(read(app, run))
        await soon(desk.held.wait())
        late = asyncio.create_task(read(app, run))
        await asyncio.sleep(0)
        desk.opened.set()
        first, second = await early, await late
    assert of_facts(first) == of_facts(second)
    assert of_facts(first)[-1].kind == "done"


async def test_a_slow_reader_loses_no_fact_and_slows_no_run(
    store: Store, clock: ManualClock
) -> None:
    many = "".join(f"{number:04}" for number in range(1_250))
    turn: list[Say | Call] = [Say(many, pieces=5_000), Call("look", number=1)]
    script: list[Item] = [turn, turn, Say("done")]
    async with app_of(clerk(script, Desk().tools()), store, clock) as app:
        run = await app.start("clerk", "x")
        events = app.events(run)
        first = await soon(anext(events))
        await ended(app, run)
        rest = await soon(_all(events))
        whole = await read(app, run)
    assert of_facts([first, *rest]) == of_facts(whole)
    assert len(rest) < 3_000


class Breaking:
    """A model whose first answer never comes to its end."""

    name, card = "own:breaking", FREE

    def __init__(self) -> None:
        self.asked = 0
        self.began = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        self.asked += 1
        if self.asked == 1:
            yield TextChunk("Hel")
            self.began.set()
            await asyncio.Event().wait()
        for piece in ("Hello", " there"):
            yield TextChunk(piece)


async def test_the_text_of_a_turn_is_that_of_its_last_attempt(
    store: Store, clock: ManualClock
) -> None:
    """The lease ends while the model speaks, and the run is taken over; the reader stays."""
    model = Breaking()
    async with app_of(clerk(model), store, clock, lease=LeaseTerms()) as app:
        run = await app.start("clerk", "x")
        reading = asyncio.create_task(read(app, run))
        await soon(model.began.wait())
        clock.advance(100)
        events = await reading
    (turn,) = [event for event in events if isinstance(event, TurnEvent)]
    texts = [event for event in events if isinstance(event, TextEvent)]
    last = max(event.attempt for event in texts)
    assert last > 1
    assert "".join(event.text for event in texts if event.attempt == last) == "Hello there"
    assert turn.record.text == "Hello there"
    assert [event.kind for event in events].count("done") == 1


async def test_events_stay_open_while_another_process_takes_the_run_over(
    store: Store, other_store: Store, clock: ManualClock
) -> None:
    desk, other_desk = Desk(), Desk()
    async with app_of(clerk([]), other_store, clock, work=False) as reader:
        async with app_of(clerk([Call("hold", number=1)], desk.tools()), store, clock) as app:
            run = await app.start("clerk", "x")
            reading = asyncio.create_task(read(reader, run))
            await soon(desk.held.wait())
        other_desk.opened.set()
        async with app_of(clerk([Say("done")], other_desk.tools()), store, clock):
            events = await reading
    kinds = [event.kind for event in events]
    assert kinds == ["tool_call", "usage", "turn", "tool_result", "usage", "turn", "done"]


async def test_a_reader_who_leaves_early_leaves_the_run_alone(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()
    async with app_of(
        clerk([Call("hold", number=1), Say("done")], desk.tools()), store, clock
    ) as app:
        run = await app.start("clerk", "x")
        events: Any = app.events(run)
        await soon(anext(events))
        await events.aclose()
        desk.opened.set()
        assert (await ended(app, run)).finish == "answer"


async def test_progress_is_told_while_the_tool_still_runs_and_never_again(
    store: Store, clock: ManualClock
) -> None:
    heard = asyncio.Event()

    @tool
    async def work(ctx: ToolContext[Any]) -> str:
        """Works."""
        ctx.progress("half way", fraction=0.5)
        await heard.wait()
        return "done"

    async with app_of(clerk([Call("work"), Say("done")], [work]), store, clock) as app:
        run = await app.start("clerk", "x")
        told = []
        async for event in app.events(run):
            if isinstance(event, ToolProgressEvent):
                told.append((event.turn, event.text, event.fraction))
                heard.set()
        again = await read(app, run)
    assert told == [(0, "half way", 0.5)]
    assert len(again) == len(of_facts(again))
