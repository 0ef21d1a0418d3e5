"""The ledger holds what each model call cost, once, whatever befell its run."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, get_args

import pytest

from remit import App, LeaseTerms
from remit.app.spending import Group
from remit.errors import ConfigError, UserIdError
from remit.models.pricing import Pricing
from remit.models.protocol import Card
from remit.results import Spent
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.life import is_crash
from remit.testing.model import Answer, Call, Say, ScriptedModel
from remit.values.usage import Usage
from tests.journeys.clerk import app_of, clerk, ended, soon
from tests.journeys.desk import World
from tests.journeys.office import chief, office, scout
from tests.journeys.test_starting import settle
from tests.journeys.test_subagent_lives import decided

ODD = Card(pricing=Pricing(input="0.333333", output="7.7"))
"""Rates that make no round sums."""
GROUPS = get_args(Group)


def said(*parts: Say | Call, read: int = 3, wrote: int = 7) -> Answer:
    return Answer(*parts, usage=Usage(input_tokens=read, output_tokens=wrote))


def odd(*script: Any, name: str = "scripted:model") -> ScriptedModel:
    return ScriptedModel(script, name=name, card=ODD)


async def total(app: App, **options: Any) -> tuple[Decimal, int]:
    (found,) = await app.spend(**options)
    return found.cost, found.calls


async def by(app: App, *groups: Group) -> dict[Any, Decimal]:
    return {tuple(each.by.values()): each.cost for each in await app.spend(groups)}


async def test_every_sum_of_the_ledger_is_that_of_the_runs(
    store: Store, clock: ManualClock
) -> None:
    """To the last digit, by whatever it is grouped, with what agents inside spent."""
    inner = scout(odd(said(Say("x"), read=11), said(Say("y"), read=13), name="m:small"))
    agent = chief(
        odd(
            said(Call("scout", task="a")),
            said(Say("so"), read=5),
            said(Call("scout", task="b")),
            said(Say("so"), wrote=9),
        ),
        inner,
    )
    async with app_of(agent, store, clock) as app:
        one = await soon(app.run("chief", "x", user="u_1", tenant="t_1"))
        two = await soon(app.run("chief", "x", user="u_2"))
        spent = one.usage.cost, two.usage.cost
        whole = sum(cost for cost in spent if cost is not None)
        assert await total(app) == (whole, 6)
        for group in GROUPS:
            assert sum(each.cost for each in await app.spend(group)) == whole
        assert await by(app, "run") == {(one.id,): spent[0], (two.id,): spent[1]}
        assert await by(app, "user", "tenant") == {
            ("u_1", "t_1"): spent[0],
            ("u_2", None): spent[1],
        }
        assert set(await by(app, "agent", "model")) == {
            ("chief", "scripted:model"),
            ("scout", "m:small"),
        }
        assert await total(app, agent="scout", user="u_1") == (Decimal("0.000057567"), 1)
        assert await total(app, user="nobody") == (Decimal(0), 0)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
async def test_the_ledger_is_whole_wherever_a_process_died(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    async def live(on: Store, user: str) -> tuple[Decimal, int, Decimal | None]:
        agent = office(World(), [], ODD)
        async with app_of(agent, on, clock, grant={"payments:write"}) as app:
            found = await app.runs(user=user)
            run = found[0].id if found else await app.start("chief", "Refund both", user=user)
            done = await decided(app, await ended(app, run))
            return *await total(app, user=user), done.usage.cost

    counting = CrashStore(store, at=None, when=when)
    cost, calls, usage = await live(counting, "u_0")
    assert (cost, calls) == (usage, 8)
    for number in range(1, counting.writes + 1):
        user = f"u_{number}"
        try:
            found = await live(CrashStore(store, at=number, when=when), user)
        except BaseException as error:
            if not is_crash(error):
                raise
            clock.advance(60)
            found = await live(store, user)
        assert found == (cost, calls, usage)


async def test_what_no_provider_confirmed_is_told_apart(store: Store, clock: ManualClock) -> None:
    agent = clerk(odd(Answer(Say("x"), usage=Usage(output_tokens=7, estimated=True))))
    async with app_of(agent, store, clock) as app:
        await soon(app.run("clerk", "x"))
        assert await app.spend("purpose") == [
            Spent(
                by={"purpose": "turn"},
                cost=Decimal("0.0000539"),
                estimated=Decimal("0.0000539"),
                calls=1,
            )
        ]


async def test_money_is_of_its_day_and_outlives_its_run(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk(odd(said(Say("x")), said(Say("y")))), store, clock) as app:
        await soon(app.run("clerk", "x", user="u_1"))
        first = datetime.fromtimestamp(clock.wall(), UTC)
        clock.advance(86_400)
        await soon(app.run("clerk", "x", user="u_1"))
        days = [f"{first + timedelta(days=day):%Y-%m-%d}" for day in (0, 1)]
        assert [each.by["day"] for each in await app.spend(by="day")] == days
        later = first + timedelta(hours=12)
        assert (await total(app, since=later))[1] == 1
        assert (await total(app, until=later))[1] == 1
        before = await app.spend()
        assert await app.forget("u_1") == 2
        assert await app.spend() == before


async def test_a_run_without_rates_has_its_calls_in_the_ledger(
    store: Store, clock: ManualClock
) -> None:
    model = ScriptedModel([said(Say("x"))], card=Card())
    async with app_of(clerk(model), store, clock) as app:
        await soon(app.run("clerk", "x"))
        assert await total(app) == (Decimal(0), 1)


async def test_who_watches_is_told_of_each_change_and_of_nothing_else(
    store: Store, clock: ManualClock
) -> None:
    agent = clerk(odd(said(Say("x")), said(Say("y"))))
    # Its time is moved on by hand, and its lease is not what is tested.
    async with app_of(agent, store, clock, lease=LeaseTerms(lasts=timedelta(hours=9))) as app:
        watching = app.watch_spend("user", every=5)
        assert await soon(anext(watching)) == []
        for calls in (1, 2):
            told = asyncio.ensure_future(soon(anext(watching)))
            for _ in range(20):
                clock.advance(5)
                await settle()
            assert not told.done()
            await soon(app.run("clerk", "x", user="u_1"))
            while not told.done():
                clock.advance(5)
                await settle()
            assert [each.calls for each in await told] == [calls]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"by": "colour"}, "by= takes any of user"),
        ({"by": ("user", "user")}, "names a group twice"),
        ({"by": 7}, "names of groups"),
        ({"user": "no id"}, "user"),
        ({"agent": 7}, "agent= takes a text"),
        ({"since": datetime(2026, 1, 1)}, "time zone"),  # what is refused
    ],
)
async def test_what_the_ledger_cannot_be_asked_is_refused(
    store: Store, clock: ManualClock, options: dict[str, Any], error: str
) -> None:
    async with app_of(clerk([]), store, clock) as app:
        with pytest.raises((ConfigError, UserIdError), match=error):
            await app.spend(**options)
        with pytest.raises((ConfigError, UserIdError), match=error):
            await anext(app.watch_spend(**options))
