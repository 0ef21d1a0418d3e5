"""A run driven step by step, with the deaths and the time that a test wants in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta
from types import TracebackType
from typing import Any, Unpack

from remit.agent.agent import Agent
from remit.app.app import App
from remit.app.starting import StartOptions
from remit.kernel.lease import LeaseTerms
from remit.store.connect import stored
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.gates import Kind, Moment, Stand
from remit.testing.life import Life
from remit.values.events import FallbackEvent, RetryEvent, ToolResultEvent, TurnEvent
from remit.values.results import Run

_PATIENCE = 10.0
_A_WHILE = timedelta(minutes=3)
_ROUNDS = 20
_ANSWERED = TurnEvent | RetryEvent | FallbackEvent


class Harness:
    """A real App on a real store whose run stands still before each model call and each tool.

    ```python no-run: shows the shape
    async with Harness([desk], store="memory:", grant={"payments:write"}) as process:
        await process.start("desk", "Refund A-1042", user="u_17")
        await process.next_model()
        await process.next_tool("refund", crash="before")
        await process.restart()
        await process.next_tool("refund")
        run = await process.finish()
    ```

    Each method returns once the run stands again, rests before it asks a model that failed once
    more, waits for people or has ended. `store` is an
    address or a Store, shared by all lives of the process, and `options` are those of an App.
    Time is `clock`, which stands still but for `advance` and `restart`: a Store of your own must
    have the same. One run is driven at a time. What does not come within `patience` seconds of
    real time is an AssertionError that says where the run stands.
    """

    def __init__(
        self,
        agents: Iterable[Agent[Any, Any]],
        *,
        store: str | Store = "memory:",
        clock: ManualClock | None = None,
        patience: float = _PATIENCE,
        **options: Any,
    ) -> None:
        self.clock = clock or ManualClock()
        self.run_id = ""
        """The run that is driven."""
        self._agents = list(agents)
        self._own_store = isinstance(store, str)
        self._store = stored(store, None, self.clock)
        self._options = {**options, "clock": self.clock}
        self._terms: LeaseTerms = options.get("lease") or LeaseTerms()
        self._patience = patience
        self._life: Life | None = None
        self._rest = (0, 0.0)
        """The newest retry that was told, and when the clock's steady time comes to it."""
        self._moved = asyncio.Event()
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Harness:
        await self._store.open()
        await self._tasks.__aenter__()
        await self._begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        life = self._life
        try:
            if life is not None:
                await self._leave(life)
        finally:
            await self._tasks.__aexit__(None, None, None)
            if self._own_store:
                await self._store.close()

    @property
    def app(self) -> App:
        """The App of the process that lives: decide, send, cancel and read with it."""
        return self._living().app

    @property
    def standing(self) -> list[str]:
        """What stands at the gate, like `["tool refund"]`."""
        return [str(stand) for stand in self._living().gates.standing]

    async def start(self, agent: str, message: str, **options: Unpack[StartOptions]) -> str:
        """Start a run, which then stands before its first model call; its id."""
        life = self._living()
        self.run_id = await life.app.start(agent, message, **options)
        life.events.clear()
        self._tasks.create_task(life.follow(self.run_id))
        await self._settled()
        return self.run_id

    async def next_model(self, *, crash: Moment | None = None) -> None:
        """Let the model call through that the run stands before. With `crash` the process dies
        before or after the answer is recorded."""
        stand = await self._reached("model", None)
        await self._pass(stand, crash)

    async def next_tool(self, name: str | None = None, *, crash: Moment | None = None) -> None:
        """Let one tool through: the one named, or the first that stands. With `crash` the process
        dies when the tool has run, before or after its result is recorded."""
        stand = await self._reached("tool", name)
        await self._pass(stand, crash)

    async def pause(self) -> Run:
        """Wait until the run waits for people, which it must do without another step."""
        await self._settled()
        run = await self.app.get(self.run_id)
        if run.status != "paused":
            raise AssertionError(f"the run does not wait for people: {self._told(run)}")
        return run

    async def finish(self) -> Run:
        """Let everything through, and the time go by in which a model is left alone, until the
        run ends or waits for people."""
        while True:
            await self._settled()
            if (rest := self._resting()) > 0:
                await self.advance(rest)
                continue
            gates = self._living().gates
            if not gates.standing:
                return await self.app.get(self.run_id)
            await self._pass(gates.standing[0], None)

    async def crash(self) -> None:
        """Kill the process here. Nothing of it reaches the store any more."""
        self._living().die()
        await self._buried()

    async def restart(
        self,
        *,
        after: timedelta = _A_WHILE,
        agents: Iterable[Agent[Any, Any]] | None = None,
    ) -> None:
        """Let `after` go by and start the process again, with other `agents` where they are
        given. A process that still lives leaves in good order before that."""
        if self._life is not None:
            await self._leave(self._life)
        if agents is not None:
            self._agents = list(agents)
        self.clock.advance(after.total_seconds())
        await self._begin()
        if self.run_id:
            self._tasks.create_task(self._living().follow(self.run_id))
            await self._settled()

    async def advance(self, seconds: float) -> None:
        """Let time go by. A process that lives keeps its lease meanwhile."""
        step = self._terms.renew_every.total_seconds()
        while seconds > 0:
            await self._pass_time(min(step, seconds), beats=seconds >= step)
            seconds -= step

    async def _pass_time(self, seconds: float, *, beats: bool) -> None:
        life = self._life
        before = 0 if life is None else life.store.beats
        self.clock.advance(seconds)
        if life is not None and beats:
            await self._until(lambda: life.store.dead or life.store.beats > before, soft=True)
        await _a_few_rounds()

    async def _begin(self) -> None:
        self._life = Life(self._agents, self._store, self._options, self._moved.set)
        self._tasks.create_task(self._life.live())
        await self._life.opened()

    async def _leave(self, life: Life) -> None:
        """Let a life end in good order; what stands at its gates is not let through."""
        life.leave()
        await self._buried()
        life.gates.die()

    async def _buried(self) -> None:
        """Wait until nothing of the life that ends goes on."""
        life, self._life = self._living(), None
        await life.over.wait()
        life.raise_error()

    async def _pass(self, stand: Stand, crash: Moment | None) -> None:
        life = self._living()
        seen = len(life.events)
        life.store.doom = crash
        life.gates.open(stand)
        if crash is not None:
            await self._until(lambda: life.store.dead)
            await self.crash()
            return
        await self._until(lambda: _is_recorded(life, stand, seen))
        await self._settled()

    async def _reached(self, kind: Kind, name: str | None) -> Stand:
        """The call of this kind and name that stands at the gate."""
        gates = self._living().gates

        def found() -> Stand | None:
            fitting = (s for s in gates.standing if s.kind == kind and name in (None, s.name))
            return next(fitting, None)

        await self._settled()
        if kind == "tool" and any(stand.kind == "tool" for stand in gates.standing):
            # Calls of one turn come side by side, and not at the same instant.
            await self._until(lambda: found() is not None, soft=True)
        stand = found()
        if stand is None:
            run = await self.app.get(self.run_id)
            raise AssertionError(f"no {kind} {name or 'call'} comes: {self._told(run)}")
        return stand

    async def _settled(self) -> None:
        """Wait until the run stands at a gate, rests, waits for people or has ended."""
        while not self._living().gates.standing:
            self._moved.clear()
            run = await self.app.get(self.run_id)
            if run.status not in ("queued", "running") or self._resting() > 0:
                return
            if not self._living().gates.standing:
                await self._until(self._moved.is_set)

    def _resting(self) -> float:
        """For how many seconds the run leaves a model alone that failed."""
        events = self._living().events
        last = events[-1] if events else None
        if not isinstance(last, RetryEvent):
            return 0.0
        if last.seq != self._rest[0]:
            self._rest = (last.seq, self.clock.steady() + last.wait)
        return self._rest[1] - self.clock.steady()

    async def _until(self, holds: Callable[[], bool], *, soft: bool = False) -> None:
        """Wait until it holds, as long as our patience lasts; where `soft`, in silence."""
        try:
            async with asyncio.timeout(self._patience):
                while not holds():
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            if not soft:
                raise AssertionError(f"the run does not go on: {self._told(None)}") from None

    def _living(self) -> Life:
        if self._life is None:
            raise AssertionError("the process is dead: `await harness.restart()` first")
        self._life.raise_error()
        return self._life

    def _told(self, run: Run | None) -> str:
        stands = ", ".join(self.standing) if self._life is not None else ""
        status = "" if run is None else f"it is {run.status} ({run.error or run.finish})"
        rest = self._resting() if self._life is not None else 0.0
        rests = f"it leaves a model alone: `await harness.advance({rest:g})`" if rest > 0 else ""
        gate = stands and f"at the gate: {stands}"
        return "; ".join(part for part in (status, rests, gate) if part)


def _is_recorded(life: Life, stand: Stand, seen: int) -> bool:
    """Whether the step that was let through has its result, or the run ended without it."""
    for event in life.events[seen:]:
        if event.kind == "done" or (stand.kind == "model" and isinstance(event, _ANSWERED)):
            return True
        if isinstance(event, ToolResultEvent) and event.call.id == stand.call_id:
            return True
    return False


async def _a_few_rounds() -> None:
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)
