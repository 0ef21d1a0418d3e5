"""What the worker tells an executor, and which of it counts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from remit.host.bus.memory import MemoryBus
from remit.host.executor import Executor
from remit.host.place import Place
from remit.kernel.facts import Asked
from remit.kernel.interrupt import Answer
from remit.kernel.lease import Lease, LeaseTerms
from remit.kernel.program import Outcome
from remit.kernel.run import ActiveRun
from remit.store.protocol import Store
from remit.store.records import MESSAGE, NewRun, Signal
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import claim
from remit.values import codec
from tests.journeys.host import Drive, Toy

ANSWER = codec.encode(Answer(value="x", by=None, at=1))


class Between:
    """A store in between that notes what is asked of it, and lets a message come in the middle
    of the first look at the signals."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.asked: list[str] = []
        self.comes: str | None = None

    def __getattr__(self, name: str) -> Any:
        self.asked.append(name)
        return getattr(self.store, name)

    async def signals(self, run: str) -> Any:
        self.asked.append("signals")
        found: list[Signal] = list(await self.store.signals(run))
        if found and self.comes is not None:
            id, self.comes = self.comes, None
            await self.store.send(run, ANSWER, id)
        return found


async def executor(
    store: Store, between: Any, clock: ManualClock, tasks: asyncio.TaskGroup, drive: Drive
) -> Executor:
    """What drives a run that was just claimed, with a message for it."""
    body = codec.encode(Asked(at=1, input=None))
    await store.create(NewRun(id="run_1", program="toy@1", body=body, format=1))
    await store.send("run_1", ANSWER, "first")
    had = await claim(store, "run_1", program="toy@1")
    place = Place(
        store=between,
        programs={"toy@1": Toy(drive)},
        bus=MemoryBus(),
        terms=LeaseTerms(),
        clock=clock,
    )
    return Executor(place, had, "w1", Lease(clock), tasks)


@pytest.mark.parametrize("before", ["leave", "cancel"])
async def test_a_lost_lease_comes_before_every_other_reason_to_stop(
    store: Store, clock: ManualClock, before: str
) -> None:
    """Who lost it asks the store for nothing more."""
    began, told, go = asyncio.Event(), asyncio.Event(), asyncio.Event()
    between = Between(store)

    async def drive(run: ActiveRun) -> Outcome:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            told.set()
            await go.wait()
        raise AssertionError("it is stopped")

    async with asyncio.TaskGroup() as tasks:
        one = await executor(store, between, clock, tasks, drive)
        life = tasks.create_task(one.execute())
        await asyncio.wait_for(began.wait(), 5)
        if before == "leave":
            one.leave()
        else:
            await store.cancel("run_1", b"", codec.FORMAT, ANSWER)
            one.notice(2)
        await asyncio.wait_for(told.wait(), 5)
        asked = len(between.asked)
        one.lose()
        go.set()
        await asyncio.wait_for(life, 5)
    assert between.asked[asked:] == []


async def test_a_message_that_comes_during_a_look_is_looked_at_before_the_end(
    store: Store, clock: ManualClock
) -> None:
    """Recording what the look found brings the news of it, which is not seen by that."""
    between = Between(store)
    between.comes = "second"

    async def drive(run: ActiveRun) -> Outcome:
        return Outcome(status="succeeded", output=[one.id for one in run.received])

    async with asyncio.TaskGroup() as tasks:
        one = await executor(store, between, clock, tasks, drive)
        await asyncio.wait_for(tasks.create_task(one.execute()), 5)
    signals = [signal.key for signal in await store.signals("run_1")]
    assert signals == [f"{MESSAGE}first", f"{MESSAGE}second"]
    last = codec.decode((await store.read("run_1"))[-1].body, dict)
    assert (last["t"], last["output"]) == ("finished", ["first", "second"])
