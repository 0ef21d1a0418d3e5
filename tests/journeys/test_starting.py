"""Starting a run: once for a key, later, and behind others of its thread."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from remit import App, WorkflowRun, workflow
from remit.app.starting import StartOptions
from remit.errors import ConfigError, StartKeyError, ThreadBusyError
from remit.store.memory import MemoryStore
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import Crash, CrashStore
from remit.testing.model import Call, Say
from remit.values.messages import UserMessage
from tests.journeys.clerk import Desk, app_of, clerk, cut_short, ended, soon


async def test_a_key_starts_one_run_however_often_it_comes(
    store: Store, other_store: Store, clock: ManualClock
) -> None:
    async with (
        app_of(clerk([]), store, clock, work=False) as app,
        app_of(clerk([]), other_store, clock, work=False) as other,
    ):
        made = await asyncio.gather(
            *(
                one.start("clerk", "Refund it", user="u_1", key="hook-7")
                for one in (app, other)
                for _ in range(10)
            )
        )
        assert len(set(made)) == 1
        assert len(await app.runs()) == 1


async def test_a_key_stands_for_one_message(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock, work=False) as app:
        run = await app.start("clerk", "Refund it", user="u_1", key="hook-7")
        with pytest.raises(StartKeyError) as refused:
            await app.start("clerk", "Refund it twice", user="u_1", key="hook-7")
        assert (refused.value.key, refused.value.run) == ("hook-7", run)
        assert len(await app.runs()) == 1


async def test_a_key_is_its_users_own(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock, work=False) as app:
        whose: list[StartOptions] = [
            {"key": "k"},
            {"key": "k", "user": "u_1"},
            {"key": "k", "user": "u_2"},
            {"key": "k", "tenant": "u_1"},
        ]
        made = {await app.start("clerk", "x", **one) for one in whose}
        assert len(made) == 4


async def test_a_key_outlives_its_run(store: Store, clock: ManualClock) -> None:
    """A web hook that comes once more after its run was deleted refunds nothing again."""
    desk = Desk()
    async with app_of(
        clerk([Call("look", number=1), Say("Done.")], desk.tools()), store, clock
    ) as app:
        run = await app.start("clerk", "x", user="u_1", key="k")
        await ended(app, run)
        assert await app.forget("u_1") == 1
        assert await app.start("clerk", "x", user="u_1", key="k") == run
        assert await app.runs() == []
    assert len(desk.ran) == 1


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_start_that_dies_and_comes_again_is_one_run(
    store: Store, clock: ManualClock, when: Any
) -> None:
    crash = CrashStore(store, at=1, when=when)
    with pytest.raises(Crash):
        async with app_of(clerk([]), crash, clock, work=False) as app:
            await app.start("clerk", "x", key="k")
    async with app_of(clerk([]), store, clock, work=False) as app:
        await app.start("clerk", "x", key="k")
        assert len(await app.runs()) == 1


@pytest.mark.parametrize("seconds", [2, 60])
async def test_a_later_start_begins_at_its_time(seconds: int) -> None:
    """Also where that is further away than the next sweep."""
    clock = ManualClock()
    store = MemoryStore(clock)
    async with app_of(clerk([Say("Now.")]), store, clock) as app:
        at = datetime.fromtimestamp(clock.wall() + seconds, UTC)
        run = await app.start("clerk", "x", at=at)
        await settle()
        waiting = await app.get(run)
        assert (waiting.status, waiting.due, waiting.blocked_reason) == ("queued", at, None)
        for _ in range(seconds):
            assert (await app.get(run)).status == "queued"
            clock.advance(1)
            await settle()
        assert (await ended(app, run)).text == "Now."


async def test_a_start_at_a_time_that_is_past_begins_at_once(
    store: Store, clock: ManualClock
) -> None:
    async with app_of(clerk([Say("Now.")]), store, clock) as app:
        run = await app.start("clerk", "x", at=datetime(2020, 1, 1, tzinfo=UTC))
        assert (await ended(app, run)).text == "Now."


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_what_cannot_be_started_is_refused(store: Store, clock: ManualClock) -> None:
    soon_ = datetime.now(UTC) + timedelta(hours=1)
    async with app_of(clerk([]), store, clock, work=False) as app:
        wrong: list[dict[str, Any]] = [
            {"key": ""},
            {"at": datetime.max.replace(tzinfo=UTC)},
            {"key": "k" * 201},
            {"key": "a\nb"},
            {"key": 7},
            {"at": "tomorrow"},
            {"at": datetime(2030, 1, 1)},  # a naive time is what is refused
            {"at": soon_, "thread": "t_1"},
            {"if_busy": "wait"},
        ]
        for options in wrong:
            with pytest.raises(ConfigError):
                await app.start("clerk", "x", **options)
        with pytest.raises(ConfigError, match=r"start takes user, .*, not 'usr'.*mean user="):
            await app.start("clerk", "x", usr="u_1")  # type: ignore[call-arg]  # as a typo would
        assert await app.runs() == []


def said(message: Any) -> list[str]:
    return [part.text for part in message if isinstance(part, UserMessage)]


async def test_what_is_enqueued_runs_in_order_and_reads_what_came_before(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()
    model = cut_short([Call("hold", number=0), *[Say(f"answer {n}") for n in range(4)]])
    async with app_of(clerk(model, desk.tools()), store, clock) as app:
        runs = [await app.start("clerk", "message 0", thread="t")]
        await soon(desk.held.wait())
        for number in range(1, 4):
            runs.append(
                await app.start("clerk", f"message {number}", thread="t", if_busy="enqueue")
            )
        assert [(await app.get(run)).status for run in runs] == ["running", *["queued"] * 3]
        desk.opened.set()
        texts = [(await ended(app, run)).text for run in runs]
        assert texts == [f"answer {n}" for n in range(4)]
        assert said(await app.history("clerk", "t")) == [f"message {n}" for n in range(4)]
    assert said(model.requests[-1].messages) == [f"message {n}" for n in range(4)]


async def test_a_thread_has_room_for_a_hundred_that_wait(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock, work=False) as app:
        for number in range(101):
            await app.start("clerk", f"{number}", thread="t", if_busy="enqueue")
        with pytest.raises(ThreadBusyError) as full:
            await app.start("clerk", "101", thread="t", if_busy="enqueue")
        assert full.value.waiting == 100


async def test_who_cancels_what_goes_on_comes_next(store: Store, clock: ManualClock) -> None:
    desk = Desk()
    model = cut_short([Call("hold", number=0), Say("The newer one.")])
    async with app_of(clerk(model, desk.tools()), store, clock) as app:
        old = await app.start("clerk", "old", thread="t")
        await soon(desk.held.wait())
        new = await app.start("clerk", "new", thread="t", if_busy="cancel")
        assert (await ended(app, new)).text == "The newer one."
        assert (await app.get(old)).status == "cancelled"
        assert said(await app.history("clerk", "t")) == ["old", "new"]


async def test_a_cancelled_waiter_leaves_the_thread_alone(store: Store, clock: ManualClock) -> None:
    desk = Desk()
    model = cut_short([Call("hold", number=0), Say("one"), Say("three")])
    async with app_of(clerk(model, desk.tools()), store, clock) as app:
        first = await app.start("clerk", "1", thread="t")
        await soon(desk.held.wait())
        second = await app.start("clerk", "2", thread="t", if_busy="enqueue")
        third = await app.start("clerk", "3", thread="t", if_busy="enqueue")
        assert await app.cancel(second) == "cancelled"
        desk.opened.set()
        assert [(await ended(app, run)).text for run in (first, third)] == ["one", "three"]
        assert said(await app.history("clerk", "t")) == ["1", "3"]


async def test_a_cancelling_start_that_died_half_way_clears_the_way_when_it_comes_again(
    store: Store, clock: ManualClock
) -> None:
    model = cut_short([Call("pay_out", amount=5), Say("The newer one.")])
    async with app_of(clerk(model, Desk().tools()), store, clock) as app:
        old = await ended(app, await app.start("clerk", "old", thread="t"))
        assert old.status == "paused"
        # As if it had died between the two: it waits, and nothing is cancelled.
        new = await app.start("clerk", "new", thread="t", if_busy="enqueue", key="k")
        again = await app.start("clerk", "new", thread="t", if_busy="cancel", key="k")
        assert again == new
        assert (await ended(app, new)).text == "The newer one."
        assert (await app.get(old.id)).status == "cancelled"


async def test_a_key_is_told_as_it_was_given(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock, work=False) as app:
        await app.start("clerk", "x", key="order/17")
        with pytest.raises(StartKeyError) as refused:
            await app.start("clerk", "y", key="order/17")
        assert refused.value.key == "order/17"


async def test_a_key_stands_for_equal_input_whatever_its_order(
    store: Store, clock: ManualClock
) -> None:
    @workflow
    async def pay(run: WorkflowRun, input: dict[str, set[str]]) -> None:
        """Pays."""

    names = [f"name {number}" for number in range(20)]
    one = {"a": set(names), "b": {"x"}}
    same = {"b": {"x"}, "a": set(reversed(names))}
    async with App(workflows=[pay], store=store, clock=clock, work=False) as app:
        run = await app.start("pay", one, key="k")
        assert await app.start("pay", same, key="k") == run
        with pytest.raises(StartKeyError):
            await app.start("pay", {**same, "b": set()}, key="k")
