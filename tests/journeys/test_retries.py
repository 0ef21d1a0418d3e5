"""A model call that failed before its first token is made again, later, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, Literal

import pytest

from remit import Agent, Budget, Card, Event, ModelRequest, Pricing, Run, Usage
from remit.agent.recorded.failed import Failed
from remit.agent.recorded.steps import step_value
from remit.errors import ConnectionFailedError, ProviderError, StoreError
from remit.events import RetryEvent, UsageEvent
from remit.kernel.facts import Stepped
from remit.models.request import Chunk, UsageChunk
from remit.options import Retry
from remit.store.protocol import Store
from remit.store.records import Query
from remit.testing import Answer, Call, Say, ScriptedModel
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.values.messages import ToolMessage
from tests.journeys.clerk import Desk, app_of, clerk, dies, ended, facts, may_die, pass_time, soon
from tests.journeys.models import BUSY, COST, GONE, PRICED, TIMEOUT, USED, Halting, Trouble, always

A, B = "a:one", "b:two"
AT_ONCE = Retry(first=0)
CUT = ConnectionFailedError(reason="the answer was cut off before its end")
SHORT = Card(pricing=Pricing(input=1, output=10), max_output=100)
"""Of which an unanswered call costs 0.001 for its output."""


def desk_of(*models: Halting, **options: Any) -> Agent[Any, Any]:
    return clerk([], model=list(models), tools=Desk().tools(), **options)


def retries(told: Sequence[Event]) -> list[RetryEvent]:
    return [event for event in told if isinstance(event, RetryEvent)]


async def test_a_free_failure_costs_nothing_and_is_told(store: Store, clock: ManualClock) -> None:
    model = Halting(A, [(0, BUSY), (0, BUSY)])
    async with app_of(desk_of(model, retry=AT_ONCE), store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))
        told = [event async for event in app.events(run.id)]

    assert (run.status, len(run.turns)) == ("succeeded", 2)
    assert run.usage == Usage(input_tokens=200, output_tokens=40, cost=2 * COST)
    assert [(e.model, e.failure, e.status, e.error, e.turn) for e in retries(told)] == [
        (A, "busy", 529, "Overloaded", 0)
    ] * 2
    assert len([event for event in told if isinstance(event, UsageEvent)]) == 2


@pytest.mark.parametrize("error", [TIMEOUT, CUT, ProviderError(status=500)])
async def test_what_may_have_been_charged_is_in_the_sum_before_the_call_is_made_again(
    store: Store, clock: ManualClock, error: Trouble
) -> None:
    model = Halting(A, [(1, error)], card=SHORT)
    async with app_of(desk_of(model, retry=AT_ONCE), store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))
        told = [event async for event in app.events(run.id)]

    usages = [event for event in told if isinstance(event, UsageEvent)]
    first, failed, last = [event.usage for event in usages]
    assert (first.estimated, failed.estimated, last.estimated) == (False, True, False)
    assert failed.output_tokens == 100
    assert run.usage == first + failed + last
    assert [event.kind for event in told if event.kind in ("usage", "retry")] == [
        "usage",
        "usage",
        "retry",
        "usage",
    ]


async def test_usage_that_was_reported_before_an_overload_is_kept_and_nobody_takes_over() -> None:
    a = Halting(A, always(BUSY), card=SHORT, begun=UsageChunk(Usage(input_tokens=9_000)))
    b = Halting(B)

    with pytest.raises(ProviderError, match="Overloaded") as caught:
        await desk_of(a, b, retry=Retry(attempts=2, first=0)).run("x")

    assert (len(a.requests), len(b.requests)) == (2, 0)
    assert caught.value.may_cost
    assert caught.value.usage is not None
    assert (caught.value.usage.input_tokens, caught.value.usage.estimated) == (18_000, True)
    assert caught.value.usage.output_tokens < 10


async def test_every_attempt_has_a_record_of_its_own(store: Store, clock: ManualClock) -> None:
    model = Halting(A, [(0, BUSY), (0, TIMEOUT), (1, BUSY)])
    async with app_of(desk_of(model, retry=AT_ONCE), store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))

    names = [fact.name for fact in await facts(store, run.id) if isinstance(fact, Stepped)]
    assert [name for name in names if "think" in name] == [
        "turn:0/think",
        "turn:0/think:1",
        "turn:0/think:2",
        "turn:1/think",
        "turn:1/think:1",
    ]
    assert run.turns[0].usage_id == f"{run.id}/turn:0/think:2"


async def test_after_the_attempts_the_run_fails_and_what_was_charged_stays(
    store: Store, clock: ManualClock
) -> None:
    model = Halting(A, always(TIMEOUT), card=SHORT)
    async with app_of(desk_of(model, retry=Retry(attempts=3, first=0)), store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))
        told = [event async for event in app.events(run.id)]

    assert (run.status, run.finish, run.turns) == ("failed", None, ())
    assert len(model.requests) == 3
    assert len(retries(told)) == 2
    assert (run.usage.output_tokens, run.usage.estimated) == (300, True)


async def test_the_waits_grow_and_pass_on_the_apps_clock(store: Store, clock: ManualClock) -> None:
    model = Halting(A, always(BUSY))
    retry = Retry(attempts=4, first=8, jitter=0)
    async with app_of(desk_of(model, retry=retry), store, clock) as app:
        run = await app.start("clerk", "x")
        for times, wait in enumerate([8, 16, 32], 1):
            await soon(model.came.get())
            await pass_time(clock, wait - 2)
            assert len(model.requests) == times
            await pass_time(clock, 2)
        found = await ended(app, run)
        told = [event async for event in app.events(run)]

    assert found.status == "failed"
    assert [event.wait for event in retries(told)] == [8, 16, 32]


async def test_a_provider_is_left_alone_for_as_long_as_it_asks(
    store: Store, clock: ManualClock
) -> None:
    model = Halting(A, [(0, ProviderError(status=429, retry_after=30))])
    async with app_of(desk_of(model, retry=Retry(jitter=0)), store, clock) as app:
        run = await app.start("clerk", "x")
        await soon(model.came.get())
        await pass_time(clock, 29)
        assert len(model.requests) == 1
        await pass_time(clock, 2)
        found = await ended(app, run)

    assert found.status == "succeeded"


async def test_two_runs_do_not_come_back_at_once_and_one_always_as_before(
    store: Store, clock: ManualClock
) -> None:
    waits = []
    for _ in range(4):
        model = Halting(A, [(0, BUSY)])
        async with app_of(desk_of(model, retry=Retry(first=10)), store, clock) as app:
            run = await app.start("clerk", "x")
            await soon(model.came.get())
            await pass_time(clock, 12)
            await ended(app, run)
            waits += [e.wait for e in retries([e async for e in app.events(run)])]

    assert len(set(waits)) == 4
    assert all(5 <= wait <= 10 for wait in waits)


async def test_what_is_sent_meanwhile_is_read_by_the_call_that_is_made_again(
    store: Store, clock: ManualClock
) -> None:
    model = Halting(A, [(0, BUSY)])
    async with app_of(desk_of(model, retry=Retry(first=10, jitter=0)), store, clock) as app:
        run = await app.start("clerk", "x")
        await soon(model.came.get())
        await app.send(run, "Hurry.")
        await pass_time(clock, 12)
        await ended(app, run)

    assert [message.text for message in model.requests[1].messages] == ["x", "Hurry."]


async def test_a_wait_ends_when_somebody_cancels(store: Store, clock: ManualClock) -> None:
    model = Halting(A, always(BUSY))
    async with app_of(desk_of(model, retry=Retry(first=50)), store, clock) as app:
        run = await app.start("clerk", "x")
        await soon(model.came.get())
        await app.cancel(run)
        found = await ended(app, run)

    assert (found.status, found.finish) == ("cancelled", "cancelled")
    assert len(model.requests) == 1


async def test_a_drain_does_not_wait_for_a_model_and_the_wait_goes_on_elsewhere(
    store: Store, clock: ManualClock
) -> None:
    model = Halting(A, [(0, BUSY)])
    agent = desk_of(model, retry=Retry(first=50, jitter=0))
    async with app_of(agent, store, clock) as app:
        run = await app.start("clerk", "x")
        async for event in app.events(run):
            if event.kind == "retry":
                break
        draining = asyncio.ensure_future(app.drain())
        await pass_time(clock, 5)
        assert await soon(draining)
        row = await store.get(run)
    assert row is not None
    assert (row.status, row.deaths, len(model.requests)) == ("queued", 0, 1)

    async with app_of(agent, store, clock) as app:
        await pass_time(clock, 40)
        assert len(model.requests) == 1
        await pass_time(clock, 10)
        found = await ended(app, run)
    assert (found.status, len(model.requests)) == ("succeeded", 3)


async def test_nobody_waits_past_the_end_of_the_runs_time() -> None:
    """The error says more than that the time is up, and says it at once."""
    model = Halting(A, always(BUSY))
    agent = desk_of(model, retry=Retry(first=50), budget=Budget(turns=3, seconds=5))

    with pytest.raises(ProviderError, match="Overloaded"):
        await soon(agent.run("x"))

    assert len(model.requests) == 1


async def test_who_can_take_over_does_so_before_the_runs_time_is_up() -> None:
    a, b = Halting(A, always(BUSY)), Halting(B)
    agent = desk_of(a, b, retry=Retry(first=50), budget=Budget(turns=3, seconds=5))

    assert (await soon(agent.run("x"))).text == f"{B} answers."


async def test_waits_count_as_time_at_work() -> None:
    model = Halting(A, [(0, BUSY), (1, BUSY)])
    retry = Retry(first=0.06, most=1, jitter=0)
    agent = desk_of(model, retry=retry, budget=Budget(turns=3, seconds=0.1))

    with pytest.raises(ProviderError, match="Overloaded"):
        await soon(agent.run("x"))

    assert len(model.requests) == 3


@pytest.mark.parametrize(
    ("bound", "asked"),
    [
        ({"cost": "0.0021"}, 1),
        ({"cost": "0.0030"}, 2),
        ({"cost": "0.0100"}, 3),
        ({"tokens": 350}, 1),
        ({"tokens": 2000}, 3),
    ],
)
async def test_a_call_that_may_have_been_charged_is_made_again_only_if_the_budget_holds_both(
    bound: dict[str, Any], asked: int
) -> None:
    """Each reads about 130 tokens and may write 100."""
    model = Halting(A, always(TIMEOUT), card=SHORT)
    retry = Retry(attempts=3, first=0)
    agent = desk_of(model, retry=retry, budget=Budget(**({"turns": 5} | bound)))

    with pytest.raises(ProviderError) as caught:
        await agent.run("x")

    assert len(model.requests) == asked
    assert caught.value.usage is not None
    assert caught.value.usage.output_tokens == 100 * asked


async def test_a_budget_that_is_short_lets_a_free_call_be_made_again() -> None:
    model = Halting(A, [(0, BUSY), (0, BUSY)], card=SHORT)
    agent = desk_of(model, retry=AT_ONCE, budget=Budget(turns=5, cost="0.0007"))

    assert (await agent.run("x")).finish == "answer"


async def test_another_stores_failure_inside_a_model_is_no_failure_of_ours() -> None:
    class Stored(Halting):
        async def stream(self, request: Any) -> Any:
            self.requests.append(request)
            raise StoreError(reason="theirs")
            yield  # pragma: no cover

    model = Stored(A)
    with pytest.raises(ProviderError, match="theirs") as caught:
        await desk_of(model, retry=Retry(attempts=2, first=0)).run("x")

    assert isinstance(caught.value.__cause__, StoreError)
    assert len(model.requests) == 2


async def test_the_ledger_has_every_attempt_that_may_have_been_charged(
    store: Store, clock: ManualClock
) -> None:
    """Failed ones too, to the last digit of what the run says that it cost."""
    model = Halting(A, [(0, BUSY), (0, TIMEOUT), (1, CUT)], card=SHORT)
    async with app_of(desk_of(model, retry=AT_ONCE), store, clock) as app:
        run = await ended(app, await app.start("clerk", "x", user="u_1"))

    assert run.usage.cost is not None
    assert run.usage.cost > Decimal("0.002")
    assert await spent(store, clock, "u_1") == (run.usage.cost, 4)


def folding(failures: Sequence[Trouble], name: str = A) -> ScriptedModel:
    """Six turns, of which the last reads so much that a brief is due, which fails so often."""
    small = [Answer(Call("look", number=n), usage=USED) for n in range(5)]
    large = Answer(Call("look", number=5), usage=Usage(input_tokens=112_000, output_tokens=10))
    return ScriptedModel([*small, large, *failures], name=name, card=PRICED)


async def test_a_brief_is_made_again_and_passed_on_like_every_model_call(
    store: Store, clock: ManualClock
) -> None:
    a = folding([BUSY, TIMEOUT, GONE])
    b = ScriptedModel([Say("Seen 0 to 3."), Say("Done.")], name=B, card=PRICED)
    agent = clerk([], model=[a, b], tools=Desk().tools(), retry=AT_ONCE, budget=Budget(turns=9))
    async with app_of(agent, store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))
        told = [event async for event in app.events(run.id)]
        assert await app.replay(run.id) is None

    assert (run.text, run.turns[-1].model) == ("Done.", B)
    assert "Seen 0 to 3." in b.requests[1].messages[1].text
    assert [event.kind for event in told[-9:-2]] == [
        "fold",
        "retry",
        "usage",
        "retry",
        "fallback",
        "fold",
        "usage",
    ]
    names = [fact.name for fact in await facts(store, run.id) if isinstance(fact, Stepped)]
    assert names[-5:] == [
        "fold:0/brief",
        "fold:0/brief:1",
        "fold:0/brief:2",
        "fold:0/brief:3",
        "turn:6/think",
    ]


class Unlucky(Halting):
    """Fails until its troubles of a turn are recorded of the user's run, and then answers."""

    def __init__(self, name: str, troubles: list[tuple[int, Trouble]], store: Store, user: str):
        super().__init__(name, card=SHORT, turns=4)
        self._all, self._store, self._user = troubles, store, user

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        turn = sum(isinstance(message, ToolMessage) for message in request.messages)
        known = await failed_of(self._store, self._user)
        done = sum(one.model == self.name for name, one in known if f"turn:{turn}/" in name)
        mine = [error for at, error in self._all if at == turn]
        self._troubles = [(turn, error) for error in mine[done : done + 1]]
        async for chunk in super().stream(request):
            yield chunk


def unlucky(store: Store, user: str) -> list[Unlucky]:
    """Two models that fail in each way that a run survives."""
    of_a: list[tuple[int, Trouble]] = [(0, BUSY), (0, TIMEOUT), (1, BUSY), (1, GONE)]
    of_b: list[tuple[int, Trouble]] = [(1, BUSY), (2, TIMEOUT)]
    return [Unlucky(A, of_a, store, user), Unlucky(B, of_b, store, user)]


async def live(store: Store, clock: ManualClock, models: Sequence[Halting], user: str) -> Run:
    """One life of a process, which starts the user's run unless it exists."""
    agent = clerk([], model=list(models), tools=Desk().tools(), retry=AT_ONCE)
    async with app_of(agent, store, clock) as app:
        found = await app.runs(user=user)
        return await ended(app, found[0].id if found else await app.start("clerk", "x", user=user))


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_run_killed_at_any_write_charges_nothing_twice_and_keeps_its_model(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    counting = CrashStore(store, at=None, when=when)
    whole = await live(counting, clock, unlucky(store, "u_0"), "u_0")
    assert [turn.model for turn in whole.turns] == [A, B, B, B]
    assert whole.usage.output_tokens == 4 * 20 + 2 * 100
    for number in range(1, counting.writes + 1):
        user = f"u_{number}"
        models = unlucky(store, user)
        dying = CrashStore(store, at=number, when=when)
        await may_die(partial(live, dying, clock, models, user))
        before = await failed_of(store, user)
        clock.advance(60)
        run = await live(store, clock, models, user)
        after = await failed_of(store, user)
        assert run.status == "succeeded"
        assert after[: len(before)] == before
        assert [turn.model for turn in run.turns] == [turn.model for turn in whole.turns]
        assert run.usage == whole.usage
        assert await spent(store, clock, user) == (whole.usage.cost, 6)
        assert [one for _, one in after] == [one for _, one in await failed_of(store, "u_0")]
        # The call whose record was lost is made again, and only that one.
        asked = sum(len(model.requests) for model in models)
        assert asked - len(after) - len(run.turns) in (0, 1)


async def spent(store: Store, clock: ManualClock, user: str) -> tuple[Decimal, int]:
    """What the ledger holds of the user's model calls, and of how many."""
    async with app_of(clerk([]), store, clock) as app:
        (found,) = await app.spend(user=user)
    return found.cost, found.calls


async def failed_of(store: Store, user: str) -> list[tuple[str, Failed]]:
    """The failed calls that are recorded of the user's run, by their steps."""
    rows = await store.find(Query(user=user))
    known = [fact for row in rows for fact in await facts(store, row.id)]
    steps = [(fact.name, step_value(fact)) for fact in known if isinstance(fact, Stepped)]
    return [(name, value) for name, value in steps if isinstance(value, Failed)]


async def test_a_process_that_takes_over_waits_no_longer_than_what_is_left(
    store: Store, clock: ManualClock
) -> None:
    model = Halting(A, [(0, BUSY)])
    agent = desk_of(model, retry=Retry(first=50, jitter=0))
    crash, runs = CrashStore(store, at=None), []

    async def life() -> None:
        async with app_of(agent, crash, clock) as app:
            runs.append(await app.start("clerk", "x"))
            async for event in app.events(runs[0]):
                if event.kind == "retry":
                    crash.dead = True
                    break

    await dies(life)
    clock.advance(60)
    async with app_of(agent, store, clock) as app:
        found = await ended(app, runs[0])

    assert (found.status, len(model.requests)) == ("succeeded", 3)
