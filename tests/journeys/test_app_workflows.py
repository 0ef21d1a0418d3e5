"""Workflows through an App: started, asked, messaged, put to sleep, changed and replayed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from remit import WorkflowRun, workflow
from remit.errors import (
    AlreadyDecidedError,
    AnswerRefusedError,
    ConfigError,
    NotPausedError,
    RunEndedError,
    RunNotFoundError,
)
from remit.store.memory import MemoryStore
from remit.store.payload import Compressed
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Say
from remit.values.results import Pending, Question
from tests.journeys.clerk import STAFF, Desk, app_of, clerk, cut_short, ended
from tests.journeys.test_starting import settle


@workflow
async def onboard(run: WorkflowRun, name: str) -> str:
    who = await run.step("greet", lambda: f"Hello {name}")
    agreed = await run.ask("Take them in?", returns=bool)
    told = await run.receive()
    return f"{who}, {agreed}, {told}"


async def test_a_workflow_waits_for_people_and_messages_and_ends(
    store: Store, clock: ManualClock
) -> None:
    async with app_of([], store, clock, workflows=[onboard]) as app:
        run = await ended(app, await app.start("onboard", "Ada", user="u_1"))
        assert (run.status, run.agent, run.user) == ("paused", "onboard", "u_1")
        (question,) = run.pending
        assert (question.kind, run.finish) == ("question", None)
        assert isinstance(question, Question)
        assert question.question == "Take them in?"
        with pytest.raises(AnswerRefusedError):
            await app.answer(run.id, {question.id: "perhaps"}, by=STAFF)
        with pytest.raises(NotPausedError):
            await app.answer(run.id, {"nobody": True}, by=STAFF)
        assert await app.answer(run.id, {question.id: True}, by=STAFF) == 0
        with pytest.raises(AlreadyDecidedError):
            await app.answer(run.id, {question.id: False}, by=STAFF)
        waiting = await ended(app, run.id)
        assert (waiting.status, waiting.pending) == ("paused", ())
        await app.send(run.id, {"start": "Monday"}, by=STAFF)
        done = await ended(app, run.id)
        assert (done.status, done.finish) == ("succeeded", "answer")
        assert done.output == "Hello Ada, True, {'start': 'Monday'}"
        kinds = [event.kind async for event in app.events(run.id)]
        assert kinds == ["pending", "pending", "done"]
        assert await app.replay(run.id) is None
        with pytest.raises(RunEndedError):
            await app.send(run.id, "late")


async def test_an_agent_inside_a_workflow_is_decided_about_from_outside(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()

    @workflow
    async def pay(run: WorkflowRun, amount: int) -> str:
        result = await run.agent("clerk", f"Pay {amount}")
        return str(result.text)

    agent = clerk(cut_short([Call("pay_out", amount=5), Say("Paid.")]), desk.tools())
    async with app_of(agent, store, clock, workflows=[pay]) as app:
        run = await ended(app, await app.start(pay, 5))
        (pending,) = run.pending
        assert (pending.kind, run.finish) == ("call", "approval")
        assert isinstance(pending, Pending)
        assert (pending.tool, pending.arguments) == ("pay_out", {"amount": 5})
        await app.decide(run.id, edit={pending.id: {"amount": 3}}, by=STAFF)
        done = await ended(app, run.id)
        assert done.output == "Paid."
        assert done.usage.input_tokens == 200
        assert await app.replay(run.id) is None
    assert desk.ran == [("pay_out", 3)]


async def test_a_sleep_costs_nothing_and_ends_in_time() -> None:
    clock = ManualClock()
    store = MemoryStore(clock)

    @workflow
    async def remind(run: WorkflowRun, days: int) -> str:
        await run.sleep(timedelta(days=days))
        return "Now."

    async with app_of([], store, clock, workflows=[remind]) as app:
        run = await app.start(remind, 3)
        await settle()
        asleep = await app.get(run)
        assert asleep.status == "paused"
        assert asleep.due is not None
        assert asleep.due.timestamp() == pytest.approx(clock.wall() + 3 * 86400)
        clock.advance(3 * 86400 - 1)
        await settle()
        assert (await app.get(run)).status == "paused"
        clock.advance(6)
        await settle()
        assert (await ended(app, run)).output == "Now."


def of_version(version: str, *steps: str) -> Any:
    @workflow(name="order", version=version)
    async def order(run: WorkflowRun, input: None) -> str:
        for step in steps:
            await run.step(step, lambda: None)
        await run.ask("Go on?")
        return version

    return order


async def test_code_that_no_longer_fits_leaves_the_run_to_code_that_does(
    store: Store, clock: ManualClock
) -> None:
    before, changed = of_version("1", "a", "b"), of_version("1", "b", "a")
    async with app_of([], store, clock, workflows=[before], deploy="one") as app:
        run = await ended(app, await app.start("order"))
        assert await app.replay(run.id) is None
    async with app_of([], store, clock, workflows=[changed], deploy="two") as app:
        difference = await app.replay(run.id)
        assert difference is not None
        assert "a" in difference.recorded
        assert "b" in difference.driven
        await app.answer(run.id, {run.pending[0].id: "yes"}, by=STAFF)
        while (blocked := await app.get(run.id)).blocked_reason is None:
            await settle()
        assert blocked.status == "queued"
        assert blocked.blocked_reason == "at entry 2 a is recorded, and this code comes to b"
    async with app_of([], store, clock, workflows=[before], deploy="one") as app:
        assert (await ended(app, run.id)).output == "1"


async def test_two_versions_of_a_workflow_run_side_by_side(
    store: Store, clock: ManualClock
) -> None:
    one, two = of_version("1", "a"), of_version("2", "b")
    async with app_of([], store, clock, workflows=[one]) as app:
        old = await ended(app, await app.start("order"))
    async with app_of([], store, clock, workflows=[one, two]) as app:
        new = await ended(app, await app.start("order"))
        for run in (old, new):
            await app.answer(run.id, {run.pending[0].id: None}, by=STAFF)
        assert [(await ended(app, run.id)).output for run in (old, new)] == ["1", "2"]


async def test_what_a_workflow_cannot_be_asked_is_refused(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock, workflows=[onboard], work=False) as app:
        with pytest.raises(ConfigError):
            await app.start("onboard", 7)
        with pytest.raises(ConfigError):
            await app.start("clerk", {"not": "text"})
        run = await app.start("onboard", "Ada")
        with pytest.raises(ConfigError):
            await app.fork(run, message="x")
        with pytest.raises(ConfigError, match=r"give plain data, like model\.model_dump"):
            await app.send(run, object())
        with pytest.raises(ConfigError):
            await app.history("onboard", "t")
        with pytest.raises(RunNotFoundError):
            await app.replay("nobody")
    with pytest.raises(ConfigError):
        app_of(clerk([], name="onboard"), store, clock, workflows=[onboard])
    with pytest.raises(ConfigError):
        app_of([], store, clock, workflows=[lambda run: None])


async def test_bodies_are_encoded_at_rest(tmp_path: Path, store: Store, clock: ManualClock) -> None:
    asked = "a question that can be made much shorter " * 50
    async with app_of(clerk([Say("Yes.")]), store, clock, payload=Compressed()) as app:
        run = await ended(app, await app.start("clerk", asked))
        assert run.text == "Yes."
        (first, *_) = await store.read(run.id)
        assert len(first.body) < len(asked) / 5
        assert [message.text for message in run.messages] == [asked, "Yes."]
    with pytest.raises(ConfigError):
        app_of(clerk([]), store, clock, payload="zlib")
