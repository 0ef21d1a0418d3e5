"""Running an agent without a store: the same loop on a journal that nobody keeps."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from remit.agent.answer.typed import Builds, built
from remit.agent.asking import Asking
from remit.agent.effect import check_effects
from remit.agent.loop import AgentProgram
from remit.agent.plan import Plan
from remit.agent.projection import Projector
from remit.agent.state import AgentState
from remit.kernel.facts import AnyFact, Finished, Paused, decode
from remit.kernel.interrupt import PauseWanted
from remit.kernel.journal import UnkeptJournal
from remit.kernel.lease import Lease
from remit.kernel.program import finished
from remit.kernel.run import ActiveRun, Surroundings, Tenure, unseen
from remit.tools.execute import GRACE
from remit.values import codec, ids
from remit.values.clock import Clock, SystemClock
from remit.values.errors import RemitError
from remit.values.events import (
    DoneEvent,
    Event,
    PassingEvent,
    TextEvent,
    has_partial,
    without_partial,
)
from remit.values.results import Result

_ROOM = 256

OnEvent = Callable[[Event], Awaitable[None] | None]


async def run_unkept(plan: Plan, asking: Asking, on_event: OnEvent | None) -> Result:
    """Drive one run to its end or its pause, and tell `on_event` of it on the way."""
    check_effects(plan.tools.values(), None)
    clock: Clock = SystemClock()
    run_id = ids.new("run")
    outbox = _Outbox(run_id, on_event, plan.builds) if on_event else None
    journal = UnkeptJournal(outbox.fact if outbox else None)
    around = Surroundings(
        clock=clock,
        lease=Lease(clock),
        show=outbox.passing if outbox else unseen,
        settle=outbox.settle if outbox else None,
    )
    run = ActiveRun(run_id, (), journal, around, Tenure(grace=GRACE))
    state = AgentState(run_id)
    program = AgentProgram(plan)
    try:
        await run.record(asking.fact(run.now()))
        end = await _end(program, run, state)
        state.advance(await journal.record(end), end)
        if outbox:
            await outbox.settle()
    except RemitError as error:
        error.messages = state.all_messages()
        error.usage = state.usage
        raise
    finally:
        program.abandoned.threads.close()
    result: Result | None = built(plan.builds, state.result())
    assert result is not None
    return result


async def _end(program: AgentProgram, run: ActiveRun, state: AgentState) -> Paused | Finished:
    """The fact that the run comes to."""
    try:
        outcome = await program.follow(run, state)
    except PauseWanted as wanted:
        return Paused(asks=wanted.asks, at=run.now())
    return finished(outcome, run.now())


async def stream_unkept(plan: Plan, asking: Asking) -> AsyncIterator[Event]:
    """The events of one run; leaving early cancels it. A reader that is slow slows nothing: it
    misses passing events where too many of them wait, and no others."""
    waiting = _Waiting()

    async def tell_all() -> None:
        try:
            await run_unkept(plan, asking, waiting.put)
        finally:
            waiting.close()

    run = asyncio.ensure_future(tell_all())
    try:
        while (event := await waiting.get()) is not None:
            yield event
        await run
    finally:
        run.cancel()
        await asyncio.wait([run])


class _Waiting:
    """Events that a reader has not taken yet; the passing ones are bounded in number."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque()
        self._passing = 0
        self._ready = asyncio.Event()
        self._closed = False

    def put(self, event: Event) -> None:
        """Keep `event` for the reader, unless it passes by and too many like it wait."""
        if isinstance(event, PassingEvent):
            if self._passing >= _ROOM:
                return
            self._passing += 1
            if has_partial(event):
                self._drop_partial()
        self._events.append(event)
        self._ready.set()

    def _drop_partial(self) -> None:
        """Keep no value that a newer one takes the place of: all of them together may be large."""
        for at in range(len(self._events) - 1, -1, -1):
            event = self._events[at]
            if isinstance(event, TextEvent) and event.partial is not None:
                self._events[at] = without_partial(event)
                return

    def close(self) -> None:
        """There will be no more."""
        self._closed = True
        self._ready.set()

    async def get(self) -> Event | None:
        """The next event, once there is one; None after the last."""
        while not self._events:
            if self._closed:
                return None
            self._ready.clear()
            await self._ready.wait()
        event = self._events.popleft()
        if isinstance(event, PassingEvent):
            self._passing -= 1
        return event


class _Outbox:
    """Events on their way to `on_event`: in order, one at a time."""

    def __init__(self, run_id: str, on_event: OnEvent, builds: Builds | None) -> None:
        self._builds = builds
        self._projector = Projector(run_id)
        self._on_event = on_event
        self._waiting: deque[Any] = deque()
        self.passing = self._waiting.append
        """Keep an event that no journal holds."""
        self._telling = asyncio.Lock()
        self._awaiting = 0
        self._raised: Exception | None = None

    def fact(self, seq: int, fact: AnyFact) -> None:
        # A value of its own, which who reads it cannot change for the run.
        for event in self._projector.advance(seq, decode(codec.encode(fact))):
            if self._builds is not None and isinstance(event, DoneEvent):
                event = msgspec.structs.replace(event, result=built(self._builds, event.result))
            self._waiting.append(event)

    async def settle(self) -> None:
        """Hand over what waits; raises what `on_event` raises, and calls it no more."""
        # As long as there is nothing to await nobody else can come between.
        told = None if self._awaiting else self._tell()
        if told is None and not self._awaiting:
            return
        self._awaiting += 1
        try:
            async with self._telling:
                while told is not None or (told := self._tell()) is not None:
                    await self._awaited(told)
                    told = None
        finally:
            self._awaiting -= 1

    def _tell(self) -> Awaitable[None] | None:
        """Hand over what waits, up to the first event that must be awaited."""
        while self._waiting:
            if self._raised is not None:
                raise self._raised
            try:
                told = self._on_event(self._waiting.popleft())
            except Exception as error:
                self._raised = error
                raise
            if told is not None:
                return told
        return None

    async def _awaited(self, told: Awaitable[None]) -> None:
        try:
            await told
        except Exception as error:
            self._raised = error
            raise
