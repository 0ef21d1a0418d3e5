"""Workflows on a worker of the test's own, on any store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from remit import Caller, Run, Workflow
from remit.agent.view import listed
from remit.flow.question import answers
from remit.flow.run import Engage
from remit.flow.view import view, waiting
from remit.host.bus.memory import MemoryBus
from remit.host.client import Client, Start
from remit.host.place import Place
from remit.host.readers import facts_of
from remit.host.worker import Worker
from remit.kernel.facts import AnyFact, Asked, Stepped
from remit.kernel.interrupt import Answer
from remit.kernel.lease import LeaseTerms
from remit.store.protocol import Store
from remit.store.records import RunRow
from remit.values import ids
from remit.values.clock import Clock
from remit.values.results import ENDED

STAFF = Caller(user="staff_1")
TERMS = LeaseTerms(grace=timedelta(0))


@dataclass
class Flows:
    """One process that drives workflows."""

    store: Store
    bus: MemoryBus
    worker: Worker
    client: Client
    clock: Clock
    workflows: dict[str, Workflow] = field(default_factory=dict)

    async def start(self, workflow: Workflow, input: Any = None, user: str | None = None) -> str:
        asked = Asked(at=self._now(), input=workflow.input(input), user=user)
        return await self.client.submit(Start(program=workflow.key, asked=asked))

    async def answer(self, run: str, given: dict[str, Any]) -> int:
        checked = answers(run, waiting(await self.facts(run)), given)
        return await self.client.answer(
            run,
            {key: Answer(value=value, by=STAFF, at=self._now()) for key, value in checked.items()},
        )

    async def decide(self, run: str, decisions: dict[str, Any]) -> int:
        return await self.client.answer(
            run,
            {
                key: Answer(value=value, by=STAFF, at=self._now())
                for key, value in decisions.items()
            },
        )

    async def send(self, run: str, value: Any) -> None:
        message = Answer(value=value, by=STAFF, at=self._now())
        await self.client.send(run, message, ids.new("message"))

    async def row(self, run: str) -> RunRow:
        row = await self.store.get(run)
        assert row is not None
        return row

    async def settled(self, run: str) -> Run:
        """The run once it has ended or waits, be it for a time alone."""
        return await asyncio.wait_for(self._reaches(run, "paused", *ENDED), 20)

    async def ended(self, run: str) -> Run:
        return await asyncio.wait_for(self._reaches(run, *ENDED), 20)

    async def moves(self, run: str, seq: int) -> None:
        """Wait until something is recorded after entry `seq`."""
        with self.bus.subscribe(run) as news:
            while (await self.row(run)).seq <= seq:
                await asyncio.wait_for(news.get(), 20)

    async def _reaches(self, run: str, *statuses: str) -> Run:
        with self.bus.subscribe(run) as news:
            while (row := await self.row(run)).status not in statuses:
                await news.get()
        return view(listed(row), await self.facts(run))

    async def facts(self, run: str) -> list[tuple[int, AnyFact]]:
        return await facts_of(self.store, run)

    async def names(self, run: str) -> list[str]:
        """The names of the steps that are recorded, in their order."""
        return [fact.name for _, fact in await self.facts(run) if isinstance(fact, Stepped)]

    def _now(self) -> int:
        return round(self.clock.wall() * 1000)


@asynccontextmanager
async def hosting(
    store: Store,
    clock: Clock,
    *workflows: Workflow,
    engage: Engage | None = None,
    deploy: str = "",
    terms: LeaseTerms = TERMS,
) -> AsyncIterator[Flows]:
    """A running worker that drives `workflows`; leaving stops it and gives its runs back."""
    place = Place(
        store=store,
        programs={one.key: one.program(engage) for one in workflows},
        bus=MemoryBus(),
        terms=terms,
        clock=clock,
        deploy=deploy,
    )
    worker = Worker(place, 10)
    client = Client(place, worker)
    async with asyncio.TaskGroup() as tasks:
        await worker.start(tasks, work=True)
        try:
            yield Flows(store, place.bus, worker, client, clock)
        finally:
            await worker.stop()
