"""The App: a store, agents and a worker, joined. The one place where all floors meet."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any

from remit.agent.agent import Agent
from remit.agent.asking import Asking, check_caller, check_page
from remit.agent.decisions import decisions
from remit.agent.grants import grant as check_grant
from remit.agent.loop import AgentProgram
from remit.agent.plan import DepsFactory
from remit.agent.projection import Projector
from remit.agent.roster import Roster
from remit.agent.state import conversation, derive
from remit.agent.view import listed, view
from remit.host.bus.memory import MemoryBus, Passing
from remit.host.client import Client
from remit.host.place import Place
from remit.host.readers import facts_of, follow, settled
from remit.host.signals import TERMINATION
from remit.host.worker import Worker
from remit.kernel.facts import decode
from remit.kernel.interrupt import Answer
from remit.kernel.lease import LeaseTerms
from remit.store.connect import connect
from remit.store.protocol import Store
from remit.store.records import Query, RunRow
from remit.values.clock import Clock, SystemClock
from remit.values.errors import AlreadyDecidedError, ConfigError, NotPausedError, RunNotFoundError
from remit.values.events import DoneEvent, Event
from remit.values.identity import Caller, is_id
from remit.values.messages import Message
from remit.values.results import Run, Status

_PLACE = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")
_DRAIN = timedelta(seconds=20)


class App:
    """Agents with a store: their runs are kept, resumed, decided and read here.

    ```python no-run: shows the shape
    async with App(agents=[desk], store="sqlite:///desk.db", grant={"payments:write"}) as app:
        run_id = await app.start("desk", "Refund 150 euros on A-1042", user="u_17")
    ```

    `store` is an address (`memory:`, `sqlite:///file.db`), or a Store of the caller's, which is
    opened where necessary and left open. `grant` is the most that
    any run may do; each agent's own grant narrows it. `deps` builds a run's `ctx.deps` from its
    user and tenant, in any process. With `work=False` runs are only queued and read. `room` is
    how many runs are driven at once. An App without agents drives nothing, and may look at and
    decide every run of its store. Raises ConfigError for what cannot work.
    """

    def __init__(  # noqa: PLR0913  # each option stands alone, by name
        self,
        agents: Iterable[Agent[Any, Any]] = (),
        *,
        store: str | Store,
        grant: Iterable[str] = frozenset(),
        deps: DepsFactory | None = None,
        lease: LeaseTerms | None = None,
        work: bool = True,
        room: int = 100,
        clock: Clock | None = None,
    ) -> None:
        self._clock: Clock = clock or SystemClock()
        self._agents = Roster(agents)
        self._grant = check_grant(grant, "grant of the app")
        self._deps = deps
        self._work = work
        if type(room) is not int or room < 1:
            raise ConfigError(f"room must be at least 1, not {room!r}")
        if deps is not None and not callable(deps):
            raise ConfigError(f"deps must be a function of user and tenant, not {deps!r}")
        if lease is not None and not isinstance(lease, LeaseTerms):
            raise ConfigError(f"lease must be LeaseTerms(…), not {lease!r}")
        self._room = room
        self._terms = lease or LeaseTerms()
        self._store = connect(store, self._clock) if isinstance(store, str) else store
        self._owns_store = isinstance(store, str)
        if not hasattr(self._store, "append"):
            raise ConfigError(
                f"store must be an address, like 'sqlite:///desk.db', or a Store, not {store!r}"
            )
        self._tasks: asyncio.TaskGroup | None = None
        self._forget_signal: Callable[[], None] = _nothing

    async def __aenter__(self) -> App:
        if self._tasks is not None:
            raise ConfigError("this App is open already: use one `async with` at a time")
        driven = list(self._agents) if self._work else []
        self._programs = [AgentProgram(agent.plan(self._grant, self._deps)) for agent in driven]
        await self._store.open()
        self._bus = MemoryBus()
        place = Place(
            store=self._store,
            programs={program.key: program for program in self._programs},
            bus=self._bus,
            terms=self._terms,
            clock=self._clock,
        )
        self._worker = Worker(place, self._room)
        self._client = Client(place, self._worker.ring, self._worker.notice)
        self._tasks = asyncio.TaskGroup()
        await self._tasks.__aenter__()
        try:
            await self._worker.start(self._tasks, work=bool(driven))
            if driven:
                self._forget_signal = TERMINATION.add(self._drain_and_end, self._tasks)
        except BaseException:
            await self._leave(None, None, None)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None and issubclass(kind, asyncio.CancelledError):
            await self._leave(kind, error, trace)
        else:
            # The group would wrap what the block raised; it is the caller's, and goes on as it is.
            await self._leave(None, None, None)

    async def start(
        self,
        agent: str | Agent[Any, Any],
        message: str,
        *,
        user: str | None = None,
        tenant: str | None = None,
        thread: str | None = None,
        by: Caller | None = None,
    ) -> str:
        """Queue a run and give back its id at once.

        Raises ConfigError for an unknown agent, UserIdError, ThreadBusyError.
        """
        found = self._agents.find(agent)
        asking = Asking(message=message, user=user, tenant=tenant, thread=thread, by=by)
        return await self._open_client().submit(
            f"{found.name}@{found.version}",
            asking.fact(round(self._clock.wall() * 1000)),
            asking.thread_key(found.name),
        )

    async def run(
        self,
        agent: str | Agent[Any, Any],
        message: str,
        *,
        user: str | None = None,
        tenant: str | None = None,
        thread: str | None = None,
        by: Caller | None = None,
    ) -> Run:
        """`start`, then `wait`."""
        run = await self.start(agent, message, user=user, tenant=tenant, thread=thread, by=by)
        return await self.wait(run)

    async def wait(self, run: str) -> Run:
        """The run once it has ended, or waits for people."""
        self._open_client()
        _check_run_id(run)
        return await self._view(self._mine(run, await settled(self._store, self._bus, run)))

    async def get(self, run: str) -> Run:
        """The run as it stands. Raises RunNotFoundError."""
        self._open_client()
        return await self._view(await self._row(run))

    async def runs(
        self,
        *,
        status: Status | None = None,
        agent: str | None = None,
        user: str | None = None,
        tenant: str | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> list[Run]:
        """Runs, newest first, without their contents; `before` ends the page before.

        Raises ConfigError for an unknown agent or status and for a `limit` not from 1 to 1,000,
        UserIdError for ids of another shape.
        """
        self._open_client()
        check_page(status, limit, {"user": user, "tenant": tenant, "run": before})
        names = self._agents.names if agent is None else (self._agents.known(agent),)
        query = Query(
            status=status, names=names, user=user, tenant=tenant, before=before, limit=limit
        )
        return [listed(row) for row in await self._store.find(query)]

    async def decide(
        self,
        run: str,
        *,
        by: Caller,
        approve: Iterable[str] = (),
        deny: Mapping[str, str] | None = None,
        edit: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> int:
        """Decide pending calls by their ids, all of those named or none; how many still wait.

        `deny` maps ids to reasons, `edit` to the arguments that are to run instead. The run goes
        on when none waits. Raises AlreadyDecidedError, NotPausedError, EditRefusedError,
        RunNotFoundError and ConfigError; the pause then stays as it was.
        """
        client = self._open_client()
        check_caller(by)
        row = await self._row(run)
        state = derive(run, await facts_of(self._store, run))
        if row.status != "paused":
            raise NotPausedError(run=run, status=row.status)
        found = decisions(
            state,
            approve=approve,
            deny=deny or {},
            edit=edit or {},
            tool=lambda name: self._agents.tool(row.program, name),
        )
        now = round(self._clock.wall() * 1000)
        answers = {key: Answer(value=value, by=by, at=now) for key, value in found.items()}
        try:
            return await client.answer(run, answers)
        except AlreadyDecidedError as error:
            call = state.asks[error.call].id
            raise AlreadyDecidedError(
                run=run, call=call, by=error.by, caller=error.caller
            ) from None

    async def cancel(
        self, run: str, *, reason: str | None = None, by: Caller | None = None
    ) -> Status:
        """Stop a run. A waiting one is cancelled when this returns; a running one (`running` is
        given back) soon after: `wait` for it. A run that has ended stays as it is."""
        client = self._open_client()
        if by is not None:
            check_caller(by)
        await self._row(run)
        return await client.cancel(run, reason, by)

    async def events(self, run: str, *, after: int | str = 0) -> AsyncIterator[Event]:
        """The run's events after `after` (a `seq`, or an event's `id`): recorded first, then
        live, through pauses and takeovers, to `done`."""
        self._open_client()
        await self._row(run)
        start, index = _position(after)
        projector = Projector(run)
        async for item in follow(self._store, self._bus, run):
            if isinstance(item, Passing):
                yield item.event
                continue
            for event in projector.advance(item.seq, item.fact):
                if (event.seq, event.index) > (start, index):
                    yield event  # type: ignore[misc]  # each FactEvent is an Event
                if isinstance(event, DoneEvent):
                    return

    async def history(
        self,
        agent: str | Agent[Any, Any],
        thread: str,
        *,
        user: str | None = None,
        tenant: str | None = None,
    ) -> list[Message]:
        """Every message of a thread's ended runs, oldest first."""
        self._open_client()
        found = self._agents.find(agent)
        asking = Asking(message="-", user=user, tenant=tenant, thread=thread)
        head = await self._store.thread_head(asking.thread_key(found.name) or "")
        if head is None:
            return []
        journals = [*await self._store.lineage(head), await self._store.read(head)]
        return [
            message
            for entries in journals
            for message in conversation("", [decode(entry.body) for entry in entries])
        ]

    async def drain(self, within: timedelta = _DRAIN) -> bool:
        """Claim no more runs, let the steps under way finish and give the runs back; whether
        that was done `within` this time. On SIGTERM an App drains by itself, and the process
        then ends as it would have, unless it has a handler of its own."""
        self._open_client()
        return await self._worker.drain(within.total_seconds())

    async def recover(self) -> int:
        """Queue the runs whose process is gone; how many there were. Done at start and then
        every `LeaseTerms.sweep_every` by itself."""
        self._open_client()
        return await self._worker.recover()

    async def _leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        tasks, self._tasks = self._tasks, None
        assert tasks is not None
        self._forget_signal()
        try:
            await self._worker.stop()
            wait = self._terms.grace.total_seconds()
            await asyncio.gather(*(program.abandoned.close(wait) for program in self._programs))
        finally:
            try:
                await tasks.__aexit__(kind, error, trace)
            finally:
                self._bus.close()
                if self._owns_store:
                    await self._store.close()

    async def _drain_and_end(self) -> None:
        await self._worker.drain(_DRAIN.total_seconds())
        await self._worker.stop()

    def _open_client(self) -> Client:
        if self._tasks is None:
            raise ConfigError("this App is not open: use `async with App(…) as app:`")
        return self._client

    async def _row(self, run: str) -> RunRow:
        _check_run_id(run)
        return self._mine(run, await self._store.get(run))

    async def _view(self, row: RunRow) -> Run:
        facts = await facts_of(self._store, row.id)
        signals = await self._store.signals(row.id) if row.status == "paused" else ()
        return view(row, facts, {signal.key for signal in signals if signal.answer is not None})

    def _mine(self, run: str, row: RunRow | None) -> RunRow:
        if row is None or not self._agents.covers(row.program):
            raise RunNotFoundError(run=run)
        return row


def _check_run_id(run: object) -> None:
    if not is_id(run):
        raise RunNotFoundError(run=repr(run)[:80])


def _nothing() -> None:
    """There is no signal to forget."""


def _position(after: int | str) -> tuple[int, int]:
    """Where a reader goes on: a whole number means that all of that entry was seen."""
    place = str(after) if isinstance(after, int | str) else ""
    if _PLACE.fullmatch(place) is None:
        raise ConfigError(f"after= takes a sequence number or an event's id, not {after!r}")
    seq, _, index = place.partition(".")
    return int(seq), int(index) if index else 1_000_000
