"""Versions side by side, earlier names, and runs that nobody here can drive."""

from __future__ import annotations

import asyncio

import pytest

from remit.errors import ConfigError, RunNotFoundError
from remit.store.protocol import Store
from remit.store.records import Refusal
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Say, ScriptedModel
from tests.journeys.clerk import STAFF, Desk, app_of, clerk, cut_short, ended


async def test_a_run_keeps_the_version_that_it_began_with(store: Store, clock: ManualClock) -> None:
    one = clerk(ScriptedModel([Call("pay_out", amount=5), Say("By one.")]), Desk().tools())
    two = clerk(ScriptedModel([Say("By two.")]), version="2")
    async with app_of(one, store, clock) as app:
        old = await ended(app, await app.start("clerk", "x"))
    async with app_of([one, two], store, clock) as app:
        new = await ended(app, await app.start("clerk", "y"))
        await app.decide(old.id, approve=[old.pending[0].id], by=STAFF)
        assert (await ended(app, old.id)).text == "By one."
        assert new.text == "By two."


async def test_a_version_may_be_started_by_its_agent(store: Store, clock: ManualClock) -> None:
    one = clerk(ScriptedModel([Say("By one.")]))
    two = clerk(ScriptedModel([]), version="2")
    async with app_of([one, two], store, clock) as app:
        assert (await ended(app, await app.start(one, "x"))).text == "By one."
        with pytest.raises(ConfigError, match="another agent"):
            await app.start(clerk([], version="3"), "x")


async def test_a_run_that_no_version_here_can_drive_waits_and_says_why(
    store: Store, clock: ManualClock
) -> None:
    async with app_of(clerk([]), store, clock, work=False) as app:
        run = await app.start("clerk", "x")
        assert (await app.get(run)).blocked_reason is None
    async with app_of(clerk([], version="2"), store, clock) as app:
        waiting = await app.get(run)
        assert waiting.status == "queued"
        assert waiting.blocked_reason is not None
        assert "'1'" in waiting.blocked_reason
        assert "clerk@2" in waiting.blocked_reason
        assert [one.blocked_reason for one in await app.runs()] == [waiting.blocked_reason]
    async with app_of([clerk([Say("Driven.")]), clerk([], version="2")], store, clock) as app:
        assert (await ended(app, run)).text == "Driven."


async def test_a_refused_run_is_left_to_other_code(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock, work=False) as app:
        run = await app.start("clerk", "x")
    await store.beat("w", 20.0, join=True)
    (claim,) = await store.claim("w", ["clerk@1"], format=2)
    await store.release("w", run, claim.token, refusal=Refusal("blue", "it has another shape"))
    async with app_of(clerk([]), store, clock, deploy="blue") as app:
        for _ in range(3):
            await app.recover()
            await asyncio.sleep(0)
        waiting = await app.get(run)
        assert (waiting.status, waiting.blocked_reason) == ("queued", "it has another shape")
    async with app_of(clerk([Say("Driven.")]), store, clock, deploy="green") as app:
        done = await ended(app, run)
        assert (done.text, done.blocked_reason) == ("Driven.", None)


async def test_a_renamed_agent_keeps_its_runs_threads_and_start_keys(
    store: Store, clock: ManualClock
) -> None:
    before = clerk(cut_short([Say("a"), Call("pay_out", amount=5), Say("b")]), Desk().tools())
    async with app_of(before, store, clock) as app:
        first = await app.start("clerk", "1", thread="t", user="u", key="hook")
        await ended(app, first)
        old = await ended(app, await app.start("clerk", "2", user="u"))
    model = ScriptedModel([Say("b"), Say("c")])
    after = clerk(model, Desk().tools(), name="advisor", aliases=["clerk"])
    async with app_of(after, store, clock) as app:
        await app.decide(old.id, approve=[old.pending[0].id], by=STAFF)
        assert (await ended(app, old.id)).text == "b"
        again = await app.start("advisor", "1", thread="t", user="u", key="hook")
        assert again == first
        await ended(app, await app.start("advisor", "3", thread="t", user="u"))
        said = [message.text for message in await app.history("advisor", "t", user="u")]
        assert said == ["1", "a", "3", "c"]
        assert {run.agent for run in await app.runs(agent="advisor")} == {"clerk", "advisor"}
    async with app_of(clerk([], name="advisor"), store, clock) as app:
        with pytest.raises(RunNotFoundError):
            await app.get(old.id)


def test_two_agents_cannot_have_one_name_and_version(store: Store, clock: ManualClock) -> None:
    for agents in (
        [clerk([]), clerk([])],
        [clerk([]), clerk([], name="advisor", aliases=["clerk"])],
        [clerk([]), clerk([], name="advisor", version="2", aliases=["clerk"])],
    ):
        with pytest.raises(ConfigError):
            app_of(agents, store, clock)
    for aliases in ("clerk", ["clerk"], ["a b"], [""], 7):
        with pytest.raises(ConfigError):
            clerk([], aliases=aliases)
