"""Messages into a run that goes on: seen before its next model call, each once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Literal

import pytest

from remit import App, ModelRequest
from remit.errors import ConfigError, RunEndedError, RunNotFoundError, UserIdError
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.life import is_crash
from remit.testing.model import Call, Item, Say, ScriptedModel
from remit.values.messages import UserMessage
from tests.journeys.clerk import STAFF, Desk, app_of, check_request, clerk, ended, soon


def said(messages: Any) -> list[str]:
    return [message.text for message in messages if isinstance(message, UserMessage)]


async def test_a_message_is_seen_before_the_next_model_call(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()
    model = ScriptedModel([[Call("look", number=1), Call("hold", number=2)], Say("Both.")])
    async with app_of(clerk(model, desk.tools()), store, clock) as app:
        run = await app.start("clerk", "One")
        await soon(desk.held.wait())
        await app.send(run, "And two", by=STAFF)
        desk.opened.set()
        done = await ended(app, run)
    assert said(model.requests[1].messages) == ["One", "And two"]
    assert said(done.messages) == ["One", "And two"]
    check_request(model.requests[1])


async def test_a_run_that_was_about_to_answer_looks_once_more(
    store: Store, clock: ManualClock
) -> None:
    asked = asyncio.Event()
    go_on = asyncio.Event()

    class Slow(ScriptedModel):
        async def stream(self, request: ModelRequest) -> Any:
            asked.set()
            await go_on.wait()
            async for chunk in super().stream(request):
                yield chunk

    model = Slow([Say("First."), Say("Second.")])
    async with app_of(clerk(model), store, clock) as app:
        run = await app.start("clerk", "One")
        await soon(asked.wait())
        await app.send(run, "Two")
        go_on.set()
        done = await ended(app, run)
    assert [message.text for message in done.messages] == ["One", "First.", "Two", "Second."]
    assert done.text == "Second."


async def test_a_message_to_a_waiting_run_decides_nothing(store: Store, clock: ManualClock) -> None:
    desk = Desk()
    model = ScriptedModel([Call("pay_out", amount=5), Say("Paid.")])
    async with app_of(clerk(model, desk.tools()), store, clock) as app:
        run = await ended(app, await app.start("clerk", "Pay"))
        await app.send(run.id, "approve, yes, go ahead")
        assert (await app.get(run.id)).status == "paused"
        assert desk.ran == []
        await app.decide(run.id, approve=[run.pending[0].id], by=STAFF)
        done = await ended(app, run.id)
    assert said(done.messages) == ["Pay", "approve, yes, go ahead"]
    check_request(model.requests[1])


async def test_a_queued_run_sees_what_was_sent_before_it_began(
    store: Store, clock: ManualClock
) -> None:
    model = ScriptedModel([Say("Both.")])
    async with app_of(clerk(model), store, clock, work=False) as app:
        run = await app.start("clerk", "One")
        await app.send(run, "Two")
    async with app_of(clerk(model), store, clock) as app:
        await ended(app, run)
    assert said(model.requests[0].messages) == ["One", "Two"]


async def test_the_same_message_is_heard_once(
    store: Store, other_store: Store, clock: ManualClock
) -> None:
    model = ScriptedModel([Say("Both.")])
    async with app_of(clerk(model), store, clock, work=False) as app:
        run = await app.start("clerk", "One")
        async with app_of(clerk([]), other_store, clock, work=False) as other:
            await asyncio.gather(
                *(one.send(run, "Two", id="m_1") for one in (app, other) for _ in range(5))
            )
    async with app_of(clerk(model), store, clock) as app:
        done = await ended(app, run)
    assert said(done.messages) == ["One", "Two"]


async def test_what_nobody_will_read_is_refused(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([Say("Done.")]), store, clock) as app:
        run = await ended(app, await app.start("clerk", "One"))
        with pytest.raises(RunEndedError):
            await app.send(run.id, "Two")
        with pytest.raises(RunNotFoundError):
            await app.send("nobody", "Two")
        with pytest.raises(ConfigError):
            await app.send(run.id, " ")
        with pytest.raises(UserIdError):
            await app.send(run.id, "Two", id="a b")


SCRIPT: list[Item] = [[Call("look", number=1), Call("look", number=2)], Say("Done.")]


def by_conversation(request: ModelRequest) -> Any:
    return SCRIPT[min(len(request.messages) // 4, 1)]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_message_survives_a_death_at_any_write(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    async def life(mine: Store, user: str) -> list[str]:
        model = ScriptedModel([by_conversation] * 4)
        model.assert_used = lambda: None  # type: ignore[method-assign]  # the plugin asks it
        async with app_of(clerk(model, Desk().tools()), mine, clock) as app:
            found = await app.runs(user=user)
            run = found[0].id if found else await started(app, user)
            if not found:
                await app.send(run, "Two", id="m_1")
            return said((await ended(app, run)).messages)

    async def started(app: App, user: str) -> str:
        return await app.start("clerk", "One", user=user, key=user)

    async def sent(user: str) -> None:
        """What a client does that heard nothing: both again, also where they were under way."""
        async with app_of(clerk([]), store, clock, work=False) as app:
            with suppress(RunEndedError):
                await app.send(await started(app, user), "Two", id="m_1")

    counting = CrashStore(store, at=None, when=when)
    assert await life(counting, "u_0") == ["One", "Two"]
    for at in range(2, counting.writes + 1):
        user = f"u_{at}"
        try:
            await life(CrashStore(store, at=at, when=when), user)
        except BaseException as error:
            if not is_crash(error):
                raise
        await sent(user)
        clock.advance(60)
        assert await life(store, user) == ["One", "Two"], at
