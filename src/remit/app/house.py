"""What an open App lives in: its store, bus, worker and client, opened and left together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from remit.agent.effect import check_effects
from remit.agent.plan import DepsFactory
from remit.app.programs import Programs
from remit.app.roster import Roster
from remit.host.bus.memory import MemoryBus
from remit.host.client import Client
from remit.host.place import Place
from remit.host.signals import TERMINATION
from remit.host.worker import Worker
from remit.kernel.lease import LeaseTerms
from remit.store.protocol import Store
from remit.tools.abandoned import LeftBehind
from remit.values.clock import Clock
from remit.values.errors import ConfigError

DRAIN = timedelta(seconds=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How an App lives. Raises ConfigError for what cannot work."""

    roster: Roster
    store: Store
    owns_store: bool
    grant: frozenset[str]
    deps: DepsFactory | None
    terms: LeaseTerms
    work: bool
    room: int
    clock: Clock
    deploy: str

    def __post_init__(self) -> None:
        if type(self.room) is not int or self.room < 1:
            raise ConfigError(f"room must be at least 1, not {self.room!r}")
        if self.deps is not None and not callable(self.deps):
            raise ConfigError(f"deps must be a function of user and tenant, not {self.deps!r}")
        if not isinstance(self.terms, LeaseTerms):
            raise ConfigError(f"lease must be LeaseTerms(…), not {self.terms!r}")
        if not hasattr(self.store, "append"):
            raise ConfigError(
                f"store must be an address, like 'sqlite:///desk.db', or a Store, not"
                f" {self.store!r}"
            )
        transacts = getattr(self.store, "transacts", None)
        for agent in self.roster.agents:
            check_effects(agent.tools, transacts)
        if not isinstance(self.deploy, str) or not self.deploy.isprintable():
            raise ConfigError(f"deploy must name the code that is deployed, not {self.deploy!r}")

    def programs(self, roster: Roster) -> Programs:
        """What drives the runs of the members of `roster` here."""
        return Programs(roster, self.grant, self.deps)


class House:
    """An App's life between `open` and `leave`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._forget_signal: Callable[[], None] = _nothing
        self.store = settings.store
        self.roster = settings.roster
        self.bus = MemoryBus()
        self._tasks = asyncio.TaskGroup()
        driven = settings.roster if settings.work else Roster()
        self._programs = settings.programs(driven)
        place = Place(
            store=self.store,
            programs=self._programs.by_key,
            bus=self.bus,
            terms=settings.terms,
            clock=settings.clock,
            deploy=settings.deploy,
            longest=self._programs.longest,
        )
        self.worker = Worker(place, settings.room)
        self.client = Client(place, self.worker)

    def now(self) -> int:
        """Milliseconds since 1970."""
        return round(self._settings.clock.wall() * 1000)

    @property
    def abandoned(self) -> LeftBehind:
        """What its programs ever left behind."""
        return self._programs.abandoned

    async def open(self) -> None:
        """Open the store and begin to work. Raises StoreError."""
        await self.store.open()
        await self._tasks.__aenter__()
        drives = bool(self._programs.by_key)
        try:
            await self.worker.start(self._tasks, work=drives)
            if drives:
                self._forget_signal = TERMINATION.add(self._drain_and_end, self._tasks)
        except BaseException:
            await self.leave(None)
            raise

    async def leave(self, cancelled: asyncio.CancelledError | None) -> None:
        """Give back what is driven here, end every task, and let go of the store."""
        self._forget_signal()
        kind = None if cancelled is None else type(cancelled)
        trace = None if cancelled is None else cancelled.__traceback__
        try:
            await self.worker.stop()
            await self._programs.close(self._settings.terms.grace.total_seconds())
        finally:
            try:
                # What the block raised is the caller's: told of it, the group would wrap it.
                await self._tasks.__aexit__(kind, cancelled, trace)
            finally:
                self.bus.close()
                if self._settings.owns_store:
                    await self.store.close()

    async def _drain_and_end(self) -> None:
        await self.worker.drain(DRAIN.total_seconds())
        await self.worker.stop()


def _nothing() -> None:
    """There is no signal to forget."""
