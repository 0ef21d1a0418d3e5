"""A worker with programs of the test's own, on any store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from remit.host.bus.memory import MemoryBus
from remit.host.client import Client, Start
from remit.host.place import Place
from remit.host.readers import facts_of, settled
from remit.host.worker import Worker
from remit.kernel.facts import AnyFact, Asked
from remit.kernel.lease import LeaseTerms
from remit.kernel.program import Outcome
from remit.kernel.run import ActiveRun
from remit.store.protocol import Store
from remit.store.records import RunRow
from remit.values.clock import Clock

Drive = Callable[[ActiveRun], Awaitable[Outcome]]
DONE = Outcome(status="succeeded", finish="answer")


@dataclass
class Toy:
    """A program made of one function."""

    function: Drive
    key: str = "toy@1"

    async def drive(self, run: ActiveRun) -> Outcome:
        return await self.function(run)


@dataclass
class Host:
    """One process's worker and client."""

    store: Store
    bus: MemoryBus
    worker: Worker
    client: Client
    clock: Clock

    async def start(self, input: Any = None, thread: str | None = None) -> str:
        asked = Asked(at=0, input=input, thread=thread)
        return await self.client.submit(Start(program="toy@1", asked=asked, thread=thread))

    async def settled(self, run: str) -> RunRow:
        row = await asyncio.wait_for(settled(self.store, self.bus, run), 20)
        assert row is not None
        return row

    async def facts(self, run: str) -> list[AnyFact]:
        return [fact for _, fact in await facts_of(self.store, run)]


@asynccontextmanager
async def hosting(
    store: Store,
    clock: Clock,
    function: Drive,
    *,
    terms: LeaseTerms | None = None,
    room: int = 10,
    work: bool = True,
) -> AsyncIterator[Host]:
    """A running worker that drives `function`; leaving stops it and gives its runs back."""
    place = Place(
        store=store,
        programs={"toy@1": Toy(function)},
        bus=MemoryBus(),
        terms=terms or LeaseTerms(),
        clock=clock,
    )
    worker = Worker(place, room)
    client = Client(place, worker)
    async with asyncio.TaskGroup() as tasks:
        await worker.start(tasks, work=work)
        try:
            yield Host(store, place.bus, worker, client, clock)
        finally:
            await worker.stop()
