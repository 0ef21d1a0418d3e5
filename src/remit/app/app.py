"""The App: a store, agents and a worker, joined. The one place where all floors meet."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Any, Unpack

from msgspec.structs import replace

from remit.agent.agent import Agent
from remit.agent.asking import check_page
from remit.agent.parts import Content
from remit.agent.plan import DepsFactory
from remit.agent.toolbox import Inventory
from remit.agent.toolbox import grant as check_grant
from remit.agent.view import listed, view
from remit.app import deciding, reading, retention, spending
from remit.app.asked import asked_of, format_of
from remit.app.deploying import deployed
from remit.app.forking import Fork
from remit.app.house import DRAIN, House, Settings
from remit.app.named import check_no_run, check_run_id
from remit.app.roster import Roster, key_of, thread_name
from remit.app.spending import By, SpendOptions
from remit.app.starting import Starting, StartOptions, begin
from remit.flow.view import is_flow
from remit.flow.view import view as flow_view
from remit.flow.workflow import Workflow
from remit.host.readers import facts_of, settled
from remit.kernel.difference import Difference
from remit.kernel.lease import LeaseTerms
from remit.kernel.replay import replay
from remit.store.connect import stored
from remit.store.payload import Payload
from remit.store.protocol import Store
from remit.store.records import Query, RunRow
from remit.tools.abandoned import LeftBehind
from remit.values.clock import Clock, SystemClock
from remit.values.errors import ConfigError, RunNotFoundError
from remit.values.events import Event
from remit.values.identity import Caller
from remit.values.messages import Message
from remit.values.results import Run, Status
from remit.values.spent import Spent


class App:
    """Agents with a store: their runs are kept, resumed, decided and read here.

    ```python no-run: shows the shape
    async with App(agents=[desk], store="sqlite:///desk.db", grant={"payments:write"}) as app:
        run_id = await app.start("desk", "Refund 150 euros on A-1042", user="u_17")
    ```

    `store` is an address (`memory:`, `sqlite:///file.db`), or a Store of the caller's, which is
    opened where necessary and left open. `grant` is the most that any run may do; each agent's own
    grant narrows it. `deps` builds a run's `ctx.deps` from its user and tenant, in any process.
    With `work=False` runs are only queued and read. `room` is how many runs are driven at once.
    `deploy` names the code that is deployed: a run that it cannot drive is left to other code.
    `payload` encodes what is stored. An App without agents and workflows drives nothing, and may
    look at and decide every run of its store. Raises ConfigError for what cannot work.
    """

    def __init__(  # noqa: PLR0913  # each option stands alone, by name
        self,
        agents: Iterable[Agent[Any, Any]] = (),
        *,
        workflows: Iterable[Workflow] = (),
        store: str | Store,
        grant: Iterable[str] = frozenset(),
        deps: DepsFactory | None = None,
        lease: LeaseTerms | None = None,
        work: bool = True,
        room: int = 100,
        deploy: str | None = None,
        payload: Payload | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._clock: Clock = clock or SystemClock()
        self._members = Roster(agents, workflows)
        self._settings = Settings(
            roster=self._members,
            store=stored(store, payload, self._clock),
            owns_store=isinstance(store, str),
            grant=check_grant(grant, "grant of the app"),
            deps=deps,
            terms=lease or LeaseTerms(),
            work=work,
            room=room,
            clock=self._clock,
            deploy=deployed(self._members) if deploy is None else deploy,
        )
        self._house: House | None = None

    @property
    def agents(self) -> list[Agent[Any, Any]]:
        """The agents whose runs it drives."""
        return self._members.agents

    @property
    def programs(self) -> list[str]:
        """The `name@version` of all whose runs it drives."""
        return [key for key, _ in self._members.programs]

    @property
    def store(self) -> Store:
        """Where its runs are kept."""
        return self._settings.store

    @property
    def abandoned(self) -> LeftBehind:
        """The calls that would not stop when they were told to, since this App was opened."""
        return self._open().abandoned

    def inventory(self) -> list[Inventory]:
        """Everything that each of its agents can do in this App."""
        return [agent.inventory(self._settings.grant) for agent in self.agents]

    def idle(self) -> App:
        """The same App, not open, which drives nothing and may do all else. Raises ConfigError
        where this one is open: both would have one store, and ask it from two places."""
        if self._house is not None:
            raise ConfigError("this App is open in this process: ask it itself, as app.get(…)")
        other = copy.copy(self)
        other._settings, other._house = dataclasses.replace(self._settings, work=False), None
        return other

    async def __aenter__(self) -> App:
        if self._house is not None:
            raise ConfigError("this App is open already: use one `async with` at a time")
        house = House(self._settings)
        self._house = house
        try:
            await house.open()
        except BaseException:
            self._house = None
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        house, self._house = self._open(), None
        await house.leave(error if isinstance(error, asyncio.CancelledError) else None)

    async def start(
        self,
        agent: str | Agent[Any, Any] | Workflow,
        message: Any = None,
        **options: Unpack[StartOptions],
    ) -> str:
        """Queue a run and give back its id at once; with `key=`, that of the run that the key
        made before. An agent is asked a message, which is text or a list of texts, images and
        PDFs, and a workflow its input. The options are those of `StartOptions`.

        Raises ConfigError for an unknown agent, UserIdError, ThreadBusyError and StartKeyError.
        """
        house, found = self._open(), self._members.find(agent)
        starting = Starting.of("start", options)
        asked = starting.asked(asked_of(found, message), self._open().now())
        format = format_of(asked.input)
        start = starting.start(key_of(found), asked, thread_name(found), format=format)
        return await begin(house, starting, start)

    async def run(
        self,
        agent: str | Agent[Any, Any] | Workflow,
        message: Any = None,
        **options: Unpack[StartOptions],
    ) -> Run:
        """`start`, then `wait`."""
        return await self.wait(await self.start(agent, message, **options))

    async def fork(
        self,
        run: str,
        *,
        after_turn: int | None = None,
        message: Content | None = None,
        agent: str | Agent[Any, Any] | None = None,
        model: str | None = None,
        **options: Unpack[StartOptions],
    ) -> str:
        """A new run that goes on from a complete turn of another, which stays as it is.

        Turns are counted from 0; without `after_turn` it is the last. The new run is for the same
        user and tenant unless told, has a budget and idempotency keys of its own, and sees what
        was said until then, and `message` after it. One without a message fails where the other run
        is deleted before it begins. `agent` and `model` take the places of those that the run had.
        A `thread` must be new, whatever `if_busy` says. Raises ConfigError, RunNotFoundError and
        StartKeyError.
        """
        house, row = self._open(), await self._row(run)
        found = self._members.agent(row.program.partition("@")[0] if agent is None else agent)
        fork = Fork(run=run, after_turn=after_turn, message=message, model=model)
        options.setdefault("user", row.user)
        options.setdefault("tenant", row.tenant)
        starting = Starting.of("fork", options, ("after_turn", "message", "agent", "model"))
        return await fork.begin(house, found, starting, self._open().now())

    async def replay(self, run: str) -> Difference | None:
        """Drive what is recorded of a run again, with no model and no tool: the first place where
        this App's code comes to something else, or None. Raises ConfigError where this App has
        not the run's version, and RunNotFoundError."""
        store, row = self._open().store, await self._row(run)
        program = self._settings.programs(self._members).by_key.get(row.program)
        if program is None:
            why = self._members.lacks(row.program) or "an App without agents has no code"
            raise ConfigError(why)
        lineage = partial(reading.journals, store, run)
        return await replay(program, await facts_of(store, run), run=run, lineage=lineage)

    async def wait(self, run: str) -> Run:
        """The run once it has ended, or waits for people. Raises RunNotFoundError, also later,
        where the run is deleted."""
        house = self._open()
        check_run_id(run)
        while True:
            row = self._mine(run, await settled(house.store, house.bus, run))
            if (found := await self._view(row)) is not None:
                return found

    async def get(self, run: str) -> Run:
        """The run as it stands. Raises RunNotFoundError."""
        while (found := await self._view(await self._row(run))) is None:
            pass
        return found

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
        """Runs, newest first, as the store lists them; `before` ends the page before. What their
        journals tell is only in `get`: finish, reason, error, usage and cost, text, what waits.

        Raises ConfigError for an unknown agent or status and for a `limit` not from 1 to 1,000,
        UserIdError for ids of another shape.
        """
        store = self._open().store
        check_no_run(before)
        check_page(status, limit, {"user": user, "tenant": tenant, "run": before})
        names = self._members.names if agent is None else self._members.known(agent)
        query = Query(
            status=status, names=names, user=user, tenant=tenant, before=before, limit=limit
        )
        return [self._told(row, listed(row)) for row in await store.find(query)]

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
        row = await self._row(run)
        return await deciding.decide(
            self._open(), row, by, approve=approve, deny=deny or {}, edit=edit or {}
        )

    async def answer(self, run: str, answers: Mapping[str, Any], *, by: Caller) -> int:
        """Answer a workflow's questions by their ids, all of those named or none; how many still
        wait. Raises AnswerRefusedError for a value that does not fit, AlreadyDecidedError,
        NotPausedError, RunNotFoundError and ConfigError; the pause then stays as it was."""
        return await deciding.answer(self._open(), await self._row(run), answers, by)

    async def cancel(
        self, run: str, *, reason: str | None = None, by: Caller | None = None
    ) -> Status:
        """Stop a run. A waiting one is cancelled when this returns; a running one (`running` is
        given back) soon after: `wait` for it. A run that has ended stays as it is."""
        return await deciding.cancel(self._open(), await self._row(run), reason, by)

    def events(self, run: str, *, after: int | str | None = 0) -> AsyncIterator[Event]:
        """The run's events after `after` (a `seq`, or an event's `id`; None for all): recorded
        first, then live, through pauses and takeovers, to `done`. Raises RunNotFoundError, also
        later, where the run is deleted."""
        return reading.events(self._open, self._row, run, after)

    async def send(
        self, run: str, message: Any, *, by: Caller | None = None, id: str | None = None
    ) -> None:
        """Leave a message for a run that has not ended: text or parts for an agent, which sees
        them before its next model call, also one that was about to answer; plain data for a
        workflow. The same `id` again is the same message. Raises ConfigError, RunNotFoundError,
        RunEndedError.
        """
        deciding.check_sent(by, id)
        await deciding.send(self._open(), await self._row(run), message, by, id)

    async def history(
        self,
        agent: str | Agent[Any, Any],
        thread: str,
        *,
        user: str | None = None,
        tenant: str | None = None,
    ) -> list[Message]:
        """Every message of a thread's ended runs, oldest first."""
        house, found = self._open(), self._members.agent(agent)
        starting = Starting(user=user, tenant=tenant, thread=thread)
        return await reading.said(house.store, starting.thread_key(thread_name(found)) or "")

    async def spend(self, by: By = (), **options: Unpack[SpendOptions]) -> list[Spent]:
        """What model calls cost, by the ledger of the store: one sum for each group of `by`, which
        are any of user, tenant, run, agent, model, purpose and day (of UTC), in their order; one
        sum of all without. The options are those of `SpendOptions`. It holds what runs spent that
        are deleted. Raises ConfigError and UserIdError."""
        return await spending.spend(self._open(), spending.Spending.of("spend", by, options))

    async def watch_spend(
        self,
        by: By = (),
        *,
        every: float = 1.0,
        **options: Unpack[SpendOptions],
    ) -> AsyncIterator[list[Spent]]:
        """`spend`, and again each time that it has changed; looked at `every` so many seconds."""
        asked = spending.Spending.of("watch_spend", by, options)
        async for found in spending.watch(self._open(), self._clock, asked, every):
            yield found

    async def delete_before(self, when: datetime) -> int:
        """Delete the runs that ended before `when`, with their contents; how many there were.

        What other runs build on stays, and the history of threads that ran since. The ledger
        and the start keys outlive the runs.
        """
        return await retention.delete_before(self._open().store, when)

    async def forget(self, user: str, *, tenant: str | None = None) -> int:
        """Cancel a user's runs and delete them with their contents and threads; how many there
        were. None for the tenant means their runs of no tenant: who has runs under tenants is
        forgotten under each of them. The ledger and the start keys stay, with the texts that the
        app chose for keys. Returns when nothing else is left, which takes as long as what runs
        needs to stop."""
        return await retention.forget(self._open(), Starting(user=user, tenant=tenant))

    async def drain(self, within: timedelta = DRAIN) -> bool:
        """Claim no more runs, let the steps under way finish and give the runs back; whether
        that was done `within` this time. On SIGTERM an App drains by itself, and the process
        then ends as it would have, unless it has a handler of its own."""
        return await self._open().worker.drain(within.total_seconds())

    async def recover(self) -> int:
        """Queue the runs whose process is gone; how many there were. Done at start and then
        every `LeaseTerms.sweep_every` by itself."""
        return await self._open().worker.recover()

    def _open(self) -> House:
        if self._house is None:
            raise ConfigError("this App is not open: use `async with App(…) as app:`")
        return self._house

    async def _row(self, run: str) -> RunRow:
        check_run_id(run)
        return self._mine(run, await self._open().store.get(run))

    async def _view(self, row: RunRow) -> Run | None:
        """The run as it was at the moment of its row; None where that cannot be told any more."""
        if (known := await reading.known_at(self._open().store, row)) is None:
            return None
        facts, taken = known
        if is_flow(facts):
            return self._told(row, flow_view(listed(row), facts, taken))
        return self._told(row, self._members.built(row.program, view(row, facts, taken)))

    def _told(self, row: RunRow, run: Run) -> Run:
        """The run with what keeps it from going on, if that is this App's to know."""
        reason = reading.blocked(row, self._members.lacks(row.program), self._open().now())
        return run if reason is None else replace(run, blocked_reason=reason)

    def _mine(self, run: str, row: RunRow | None) -> RunRow:
        if row is None or not self._members.covers(row.program):
            raise RunNotFoundError(run=run)
        return row
