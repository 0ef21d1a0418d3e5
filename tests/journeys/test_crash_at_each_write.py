"""The desk's journey, dying before and after every write."""

from __future__ import annotations

import asyncio
import re
from typing import Literal

import pytest

from remit import App, Caller, Run
from remit.kernel.facts import Stepped, decode
from remit.store.protocol import Store
from remit.store.records import Query
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.life import is_crash
from tests.journeys.desk import World, desk, endless

STAFF = Caller(user="staff_1")


async def live(store: Store, clock: ManualClock, world: World, user: str) -> Run:
    """One life of a process that starts the user's run unless it exists, decides and waits."""
    async with App(
        agents=[desk(world, endless(world))], store=store, grant={"payments:write"}, clock=clock
    ) as app:
        found = await app.runs(user=user)
        run_id = found[0].id if found else await app.start("desk", "Refund A-1", user=user)
        run = await asyncio.wait_for(app.wait(run_id), 10)
        if run.status == "paused":
            await app.decide(run_id, approve=[run.pending[0].id], by=STAFF)
            run = await asyncio.wait_for(app.wait(run_id), 10)
        return run


async def lives(
    store: Store, clock: ManualClock, world: World, user: str, crash: CrashStore
) -> Run:
    """As many lives as the journey takes; the first on a store that dies. What was recorded in
    the first is done by none of the others."""
    try:
        return await live(crash, clock, world, user)
    except BaseException as error:
        if not is_crash(error):
            raise
    done = await recorded(store, user)
    keys, turns = len(world.keys), len(world.turns)
    clock.advance(60)
    run = await live(store, clock, world, user)
    again = {key.split("/", 1)[1] for key in world.keys[keys:]}
    assert not done & (again | {str(turn) for turn in world.turns[turns:]})
    return run


async def recorded(store: Store, user: str) -> set[str]:
    """Which steps of the user's run are recorded: `turn` for a model's, `turn/call` for a call."""
    rows = await store.find(Query(user=user))
    facts = [decode(entry.body) for row in rows for entry in await store.read(row.id)]
    names = [fact.name for fact in facts if isinstance(fact, Stepped)]
    return {"/".join(re.findall(r"\d+", name)) for name in names}


async def test_the_journey_has_many_writes_to_die_at(store: Store, clock: ManualClock) -> None:
    counting = CrashStore(store, at=None, when="before")
    run = await lives(store, clock, World(), "u_0", counting)
    assert run.finish == "answer"
    assert counting.writes >= 12


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_journey_killed_at_any_write_finishes_and_repeats_no_recorded_call(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    counting = CrashStore(store, at=None, when=when)
    whole = await lives(store, clock, World(), "u_0", counting)
    for number in range(1, counting.writes + 1):
        world, user = World(), f"u_{number}"
        run = await lives(store, clock, world, user, CrashStore(store, at=number, when=when))
        assert (run.status, run.finish, run.text) == ("succeeded", "answer", whole.text)
        assert [type(message) for message in run.messages] == [
            type(message) for message in whole.messages
        ]
        assert list(world.effects.values()) == ["A-1:150"]
        assert len(set(world.keys)) == 3
