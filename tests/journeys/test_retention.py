"""Letting go of runs: by age and by user, and never what others build on."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from remit.errors import ConfigError, RunNotFoundError, UserIdError
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Say
from tests.journeys.clerk import Desk, app_of, clerk, cut_short, ended, soon

LATER = datetime.now(UTC) + timedelta(days=3650)


async def test_old_runs_go_and_those_that_go_on_stay(store: Store, clock: ManualClock) -> None:
    model = cut_short([Say("a"), Say("b"), Call("pay_out", amount=5)])
    async with app_of(clerk(model, Desk().tools()), store, clock) as app:
        old = [(await ended(app, await app.start("clerk", "x"))).id for _ in range(2)]
        waiting = await ended(app, await app.start("clerk", "Pay"))
        assert await app.delete_before(datetime(2000, 1, 1, tzinfo=UTC)) == 0
        assert await app.delete_before(LATER) == 2
        assert [run.id for run in await app.runs()] == [waiting.id]
        for run in old:
            with pytest.raises(RunNotFoundError):
                await app.get(run)
        assert (await app.get(waiting.id)).pending == waiting.pending


async def test_a_thread_that_lives_keeps_its_whole_history(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()
    model = cut_short([Say("a"), Say("b"), Call("hold", number=1), Say("c")])
    async with app_of(clerk(model, desk.tools()), store, clock) as app:
        for number in range(2):
            await ended(app, await app.start("clerk", f"{number}", thread="t"))
        live = await app.start("clerk", "2", thread="t")
        await soon(desk.held.wait())
        assert await app.delete_before(LATER) == 0
        desk.opened.set()
        await ended(app, live)
        assert len(await app.history("clerk", "t")) == 8
        assert await app.delete_before(LATER) == 3
        assert await app.history("clerk", "t") == []
        again = clerk(cut_short([Say("new")]))
    async with app_of(again, store, clock) as app:
        await ended(app, await app.start("clerk", "3", thread="t"))
        assert len(await app.history("clerk", "t")) == 2


async def test_what_a_fork_builds_on_stays(store: Store, clock: ManualClock) -> None:
    model = cut_short([Say("a"), Call("hold", number=1), Say("b")])
    desk = Desk()
    async with app_of(clerk(model, desk.tools()), store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))
        fork = await app.fork(run.id, message="y")
        await soon(desk.held.wait())
        assert await app.delete_before(LATER) == 0
        desk.opened.set()
        await ended(app, fork)
        assert await app.delete_before(LATER) == 2


async def test_a_forgotten_user_has_nothing_left_and_nobody_else_lost_anything(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()
    model = cut_short([Say("a"), Say("b"), Call("pay_out", amount=1), Call("hold", number=1)])
    async with app_of(clerk(model, desk.tools()), store, clock) as app:
        await ended(app, await app.start("clerk", "x", user="u_1", thread="t"))
        other = await ended(app, await app.start("clerk", "x", user="u_1", tenant="acme"))
        await ended(app, await app.start("clerk", "x", user="u_1"))
        running = await app.start("clerk", "x", user="u_1")
        await soon(desk.held.wait())
        queued = await app.start("clerk", "x", user="u_1", thread="t2", if_busy="enqueue")
        assert await asyncio.wait_for(app.forget("u_1"), 10) == 4
        assert [run.id for run in await app.runs()] == [other.id]
        assert await app.history("clerk", "t", user="u_1") == []
        for run in (running, queued):
            with pytest.raises(RunNotFoundError):
                await app.get(run)
        assert await app.forget("u_1", tenant="acme") == 1
        assert await app.forget("u_1", tenant="acme") == 0


async def test_what_is_no_time_and_no_user_is_refused(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock, work=False) as app:
        for when in ("2026-01-01", datetime(2026, 1, 1), None):
            with pytest.raises(ConfigError):
                await app.delete_before(when)  # type: ignore[arg-type]
        with pytest.raises(UserIdError):
            await app.forget("ada@example.org")
