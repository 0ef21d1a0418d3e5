"""Whole journeys through the official SDK against a provider that refuses what OpenAI refuses."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest

from remit import Agent, App, Budget, Caller, Run, tool
from remit.models.openai_chat import OpenAIChat
from remit.models.retry import Retry
from remit.store.protocol import Store
from remit.testing import (
    Call,
    CrashStore,
    Harness,
    ManualClock,
    Quirks,
    Reply,
    Say,
    StrictProvider,
    Think,
)
from remit.testing.life import is_crash
from remit.testing.provider import Sent
from remit.values.messages import ToolMessage
from tests.journeys.desk import World, desk
from tests.unit.models import strict

STAFF = Caller(user="staff_1")
GRANT = {"payments:write"}


def by_conversation(sent: Sent) -> Any:
    """Two lookups side by side, a refund of 150, an answer: decided by what was sent."""
    done = [message for message in sent.body["messages"] if message["role"] == "tool"]
    if not done:
        return [
            Think("Two at once."),
            Call("find_order", number="A-1"),
            Call("find_customer", number="A-1"),
        ]
    if len(done) == 2:
        return [Say("Refunding."), Call("refund", order="A-1", amount=150)]
    return Say(f"Done: {done[-1]['content']}")


@asynccontextmanager
async def serving(script: Any = by_conversation) -> AsyncIterator[StrictProvider]:
    """A provider that in the end has refused nothing."""
    async with StrictProvider(script) as provider:
        yield provider
    assert provider.refused == []
    for sent in provider.requests:
        strict.check(sent.body)


def clerk(provider: StrictProvider, world: World) -> Agent[Any, Any]:
    model = OpenAIChat("gpt-test", base_url=provider.openai_url, api_key="k")
    return desk(world, []).replace(model=model)


async def live(app: App, user: str) -> Run:
    """One life of a process that starts the user's run unless it exists, decides and waits."""
    found = await app.runs(user=user)
    run_id = found[0].id if found else await app.start("desk", "Refund A-1", user=user)
    run = await asyncio.wait_for(app.wait(run_id), 10)
    if run.status == "paused":
        await app.decide(run_id, approve=[run.pending[0].id], by=STAFF)
        run = await asyncio.wait_for(app.wait(run_id), 10)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_journey_killed_at_any_write_sends_nothing_that_is_refused(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    async with serving() as provider:
        counting = CrashStore(store, at=None)
        async with app_on(counting, clock, clerk(provider, World())) as app:
            await live(app, "u_0")
        for number in range(1, counting.writes + 1):
            world = World()
            crashing = CrashStore(store, at=number, when=when)
            agent = clerk(provider, world)
            try:
                async with app_on(crashing, clock, agent) as app:
                    await live(app, f"u_{number}")
            except BaseException as error:
                if not is_crash(error):
                    raise
            clock.advance(60)
            async with app_on(store, clock, agent) as app:
                run = await live(app, f"u_{number}")
            assert (run.status, run.text) == ("succeeded", "Done: refunded 150")
            assert list(world.effects.values()) == ["A-1:150"]


def app_on(store: Store, clock: ManualClock, agent: Agent[Any, Any]) -> App:
    return App(agents=[agent], store=store, grant=GRANT, clock=clock)


async def test_a_process_that_dies_between_two_results_sends_both(
    store: Store, clock: ManualClock
) -> None:
    world = World()
    async with (
        serving() as provider,
        Harness([clerk(provider, world)], store=store, clock=clock, grant=GRANT) as process,
    ):
        await process.start("desk", "Refund A-1", user="u_1")
        await process.next_model()
        await process.next_tool("find_customer")
        await process.next_tool("find_order", crash="before")
        await process.restart()
        run = await process.finish()
    assert run.status == "paused"
    assert world.entered == {"find_customer": 1, "find_order": 2}


@pytest.mark.slow
@pytest.mark.parametrize("usage", ["after", "before", "twice", "never"])
@pytest.mark.parametrize("ids", ["given", "repeated", "empty", "missing"])
@pytest.mark.parametrize("index", ["counted", "reset"])
async def test_a_servers_quirks_lose_and_repeat_no_call(usage: Any, ids: Any, index: Any) -> None:
    ran: Counter[int] = Counter()

    @tool
    async def add(a: int) -> str:
        """Adds."""
        ran[a] += 1
        return f"sum {a}"

    quirks = Quirks(usage=usage, ids=ids, index=index, chunk=7)
    script = [
        Reply(Say("Adding."), Call("add", a=1), Call("add", a=2), quirks=quirks),
        Reply(Call("add", a=3), quirks=quirks),
        Reply(Say("Done."), quirks=quirks),
    ]
    async with serving(script) as provider:
        model = OpenAIChat("gpt-test", base_url=provider.openai_url, api_key="k")
        agent = Agent(name="a", model=model, tools=[add], budget=Budget(turns=4))
        result = await agent.run("Go")

    assert (result.finish, result.text) == ("answer", "Done.")
    assert ran == {1: 1, 2: 1, 3: 1}
    assert [m.text for m in result.messages if isinstance(m, ToolMessage)] == [
        "sum 1",
        "sum 2",
        "sum 3",
    ]
    assert result.usage.estimated == (usage == "never")


async def test_a_connection_cut_at_any_event_leaves_the_thread_usable(
    store: Store, clock: ManualClock
) -> None:
    def answer(sent: Sent) -> Reply:
        said = sent.body["messages"][-1]["content"]
        cut = int(said) if said.isdigit() else None
        return Reply(Say("one two three"), quirks=Quirks(cut=cut))

    async with serving(answer) as provider:
        model = OpenAIChat("gpt-test", base_url=provider.openai_url, api_key="k")
        agent = Agent(name="a", model=model, budget=Budget(turns=2), retry=Retry(attempts=1))
        async with App(agents=[agent], store=store, clock=clock) as app:
            for cut in range(4):
                failed = await asyncio.wait_for(app.run("a", str(cut), thread="t"), 10)
                assert failed.status == "failed"
                done = await asyncio.wait_for(app.run("a", "Again", thread="t"), 10)
                assert done.text == "one two three"
