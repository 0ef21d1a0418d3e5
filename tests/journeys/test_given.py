"""What an App's methods are given wrongly is told with the mend, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from remit import App
from remit.errors import ConfigError, RunNotFoundError
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Say
from tests.journeys.clerk import STAFF, app_of, clerk

Ask = Callable[[App, Any], Any]

BY_RUN: dict[str, Ask] = {
    "fork": lambda app, run: app.fork(run),
    "replay": lambda app, run: app.replay(run),
    "wait": lambda app, run: app.wait(run),
    "get": lambda app, run: app.get(run),
    "runs": lambda app, run: app.runs(before=run),
    "decide": lambda app, run: app.decide(run, approve=["call_1"], by=STAFF),
    "answer": lambda app, run: app.answer(run, {"q": 1}, by=STAFF),
    "cancel": lambda app, run: app.cancel(run),
    "events": lambda app, run: anext(aiter(app.events(run))),
    "send": lambda app, run: app.send(run, "Hello"),
    "spend": lambda app, run: app.spend(run=run),
    "watch_spend": lambda app, run: anext(aiter(app.watch_spend(run=run))),
}


@pytest.mark.parametrize("ask", BY_RUN.values(), ids=BY_RUN)
async def test_a_run_or_what_was_not_awaited_is_no_id_and_the_mend_is_told(
    store: Store, clock: ManualClock, ask: Ask
) -> None:
    async with app_of(clerk([Say("hi")]), store, clock) as app:
        run = await app.run("clerk", "x")
        with pytest.raises(ConfigError, match=f"run.id, '{run.id}'"):
            await ask(app, run)
        with pytest.raises(ConfigError, match=r"await app\.start"):  # and no warning comes
            await ask(app, app.start("clerk", "x"))
        assert [found.id for found in await app.runs()] == [run.id]


async def test_what_is_no_text_is_no_run(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock) as app:
        for run in (None, 5, "a run"):
            with pytest.raises(RunNotFoundError):
                await app.wait(run)  # type: ignore[arg-type]  # some are what is refused


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda app, run: app.start("clerk", "x", usr="u"), "start takes .*'usr'.*user="),
        (lambda app, run: app.run("clerk", "x", Tenant="t"), "start takes .*'Tenant'.*tenant="),
        (lambda app, run: app.fork(run, mesage="x"), "fork takes .*'mesage'.*message="),
        (lambda app, run: app.start("clerk", "x", q=1), "start takes .*if_busy, not 'q'$"),
        (lambda app, run: app.spend(usr="u"), "spend takes user, .*'usr'.*user="),
        (lambda app, run: app.spend(evry=1), "spend takes user, .*'evry'$"),
        (lambda app, run: anext(aiter(app.watch_spend(evry=1))), "watch_spend .*every="),
    ],
)
async def test_an_option_that_is_none_is_told_with_those_that_there_are(
    store: Store, clock: ManualClock, ask: Ask, says: str
) -> None:
    async with app_of(clerk([Say("hi")]), store, clock) as app:
        run = await app.run("clerk", "x")
        with pytest.raises(ConfigError, match=says):
            await ask(app, run.id)
        assert [found.id for found in await app.runs()] == [run.id]


async def test_events_after_nothing_are_all(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([Say("hi")]), store, clock) as app:
        run = await app.run("clerk", "x")
        every = [event async for event in app.events(run.id)]
        assert [event async for event in app.events(run.id, after=None)] == every
        assert every[-1].kind == "done"
