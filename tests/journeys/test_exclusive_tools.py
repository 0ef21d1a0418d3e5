"""An exclusive tool runs alone among the calls of its turn, and results keep the calls' order."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Literal

import pytest

from remit import Agent, App, Budget, Caller, ModelRequest, Run, Tool, tool
from remit.store.protocol import Store
from remit.testing import Call, Say, ScriptedModel
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.values.clock import SystemClock
from remit.values.messages import ToolMessage
from tests.journeys.clerk import app_of, clerk, cut_short, ended, may_die

CLERK = Caller(user="clerk")


class Room:
    """Who is at work, and who ever met whom."""

    def __init__(self) -> None:
        self.now: set[str] = set()
        self.met: set[frozenset[str]] = set()
        self.order: list[str] = []
        self.both = asyncio.Barrier(2)

    def enter(self, name: str) -> None:
        self.now.add(name)
        self.order.append(name)
        self.met |= {frozenset({name, other}) for other in self.now - {name}}

    def tools(self, **options: Any) -> list[Tool]:
        """One that is done when two of it are at work, and one that runs alone."""

        @tool(timeout=5)
        async def share(name: str) -> str:
            """Works beside others."""
            self.enter(name)
            await self.both.wait()
            self.now.discard(name)
            return name

        @tool(exclusive=True, **options)
        async def alone(name: str, fails: bool = False) -> str:
            """Works alone."""
            self.enter(name)
            for _ in range(20):
                await asyncio.sleep(0)
            self.now.discard(name)
            if fails:
                raise ValueError("broken")
            return name

        return [share, alone]

    def agent(self, calls: list[Call], **options: Any) -> Agent[Any, Any]:
        return Agent(
            name="a",
            model=ScriptedModel([calls, Say("done")]),
            tools=self.tools(**options),
            budget=Budget(turns=3),
        )


def share(name: str) -> Call:
    return Call("share", name=name)


def results(run: Run) -> list[ToolMessage]:
    return [message for message in run.messages if isinstance(message, ToolMessage)]


async def test_an_exclusive_call_meets_no_other(store: Store) -> None:
    room = Room()
    names = ["a", "b", "alone", "c", "d"]
    calls = [Call("alone" if name == "alone" else "share", name=name) for name in names]
    async with App(agents=[room.agent(calls)], store=store, clock=SystemClock()) as app:
        run = await asyncio.wait_for(app.run("a", "go"), 20)
    assert [result.text for result in results(run)] == names
    assert room.met == {frozenset("ab"), frozenset("cd")}
    assert room.order.index("alone") == 2


async def test_two_exclusive_calls_take_their_turns_in_order(store: Store) -> None:
    room = Room()
    calls = [
        Call("alone", name="one"),
        Call("alone", name="two", fails=True),
        share("a"),
        share("b"),
    ]
    async with App(agents=[room.agent(calls)], store=store, clock=SystemClock()) as app:
        run = await asyncio.wait_for(app.run("a", "go"), 20)
    assert [result.status for result in results(run)] == ["ok", "error", "ok", "ok"]
    assert room.met == {frozenset("ab")}
    assert room.order[:2] == ["one", "two"]


async def test_an_exclusive_call_that_waits_for_a_person_holds_up_no_other(store: Store) -> None:
    room = Room()
    calls = [share("a"), share("b"), Call("alone", name="alone"), share("c"), share("d")]
    agent = room.agent(calls, approval="always")
    async with App(agents=[agent], store=store, clock=SystemClock()) as app:
        run = await asyncio.wait_for(app.run("a", "go"), 20)
        assert sorted(room.order) == ["a", "b", "c", "d"]
        await app.decide(run.id, by=CLERK, approve=[run.pending[0].id])
        run = await asyncio.wait_for(app.wait(run.id), 20)
        assert await app.replay(run.id) is None
    assert [result.text for result in results(run)] == ["a", "b", "alone", "c", "d"]
    assert room.met == {frozenset("ab"), frozenset("cd")}


def asks_for_all(request: ModelRequest) -> Say | list[Call]:
    if any(isinstance(message, ToolMessage) for message in request.messages):
        return Say("done")
    return [Call("alone", name="one"), Call("look", name="a"), Call("alone", name="two")]


async def live(room: Room, store: Store, clock: ManualClock, user: str) -> Run:
    @tool
    async def look(name: str) -> str:
        """Looks."""
        room.enter(name)
        room.now.discard(name)
        return name

    agent = clerk(cut_short([asks_for_all] * 9), [look, room.tools()[1]])
    async with app_of(agent, store, clock) as app:
        found = await app.runs(user=user)
        run = found[0].id if found else await app.start("clerk", "x", user=user)
        return await ended(app, run)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_any_write_an_exclusive_call_meets_no_other(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    counting = CrashStore(store, at=None)
    await live(Room(), counting, clock, "u_0")
    deaths = 0
    for number in range(1, counting.writes):
        room, user = Room(), f"u_{number}"
        deaths += await may_die(
            partial(live, room, CrashStore(store, at=number, when=when), clock, user)
        )
        room.now.clear()
        clock.advance(60)
        run = await live(room, store, clock, user)
        assert [result.text for result in results(run)] == ["one", "a", "two"]
        assert room.met == set()
        last = {name: place for place, name in enumerate(room.order)}
        assert last["one"] < last["a"] < last["two"]
    assert deaths > 5
