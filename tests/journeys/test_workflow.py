"""Workflows on a worker: steps, questions, times, messages and branches."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest
from pydantic import BaseModel

from remit import WorkflowRun, workflow
from remit.errors import AnswerRefusedError, ConfigError, NotPausedError, StepFailedError
from remit.kernel.facts import Stepped
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from tests.journeys.flows import hosting


class Order(BaseModel):
    number: str
    amount: Decimal


class Done(BaseModel):
    receipt: str
    when: datetime


async def test_a_step_is_done_once_and_gives_the_type_that_was_told(
    store: Store, clock: ManualClock
) -> None:
    calls: list[str] = []

    def pay(order: str) -> dict[str, Any]:
        calls.append(order)
        return {"receipt": f"r-{order}", "when": datetime(2026, 1, 2, tzinfo=UTC)}

    @workflow(name="shop")
    async def shop(run: WorkflowRun, input: Order) -> Done:
        done = await run.step("pay", pay, input.number, returns=Done)
        assert await run.ask("Ship it?", returns=bool)
        return done

    async with hosting(store, clock, shop) as flows:
        run = await flows.start(shop, Order(number="A-1", amount=Decimal("1.10")))
        paused = await flows.settled(run)
        await flows.answer(run, {paused.pending[0].id: True})
        ended = await flows.settled(run)

    assert (ended.status, ended.finish) == ("succeeded", "answer")
    assert ended.output == {"receipt": "r-A-1", "when": "2026-01-02T00:00:00Z"}
    assert calls == ["A-1"]


async def test_a_question_waits_with_its_schema_and_takes_only_what_fits(
    store: Store, clock: ManualClock
) -> None:
    @workflow
    async def asking(run: WorkflowRun, input: None) -> Any:
        how_many = await run.ask("How many?", returns=int)
        anything = await run.ask("Anything else?")
        return [how_many, anything]

    async with hosting(store, clock, asking) as flows:
        run = await flows.start(asking)
        paused = await flows.settled(run)
        assert msgspec.to_builtins(paused.pending[0]) == {
            "id": "ask:0",
            "question": "How many?",
            "schema": {"type": "integer"},
        }
        with pytest.raises(AnswerRefusedError, match="should be integer"):
            await flows.answer(run, {"ask:0": "many"})
        with pytest.raises(NotPausedError, match="waiting: ask:0"):
            await flows.answer(run, {"ask:1": 3})
        await flows.answer(run, {"ask:0": 3})
        paused = await flows.settled(run)
        await flows.answer(run, {"ask:1": {"no": [1, None]}})
        ended = await flows.settled(run)

    assert ended.output == [3, {"no": [1, None]}]


async def test_a_sleep_holds_no_process_and_ends_at_its_time(
    store: Store, clock: ManualClock
) -> None:
    woken: list[float] = []

    @workflow
    async def sleeper(run: WorkflowRun, input: None) -> None:
        await run.sleep(timedelta(hours=1))
        woken.append(clock.wall())

    async with hosting(store, clock, sleeper) as flows:
        began = clock.wall()
        run = await flows.start(sleeper)
        assert (await flows.settled(run)).status == "paused"
        clock.advance(3599)
        await flows.worker.recover()
        assert (await flows.row(run)).status == "paused"
        clock.advance(2)
        flows.worker.ring()
        ended = await flows.ended(run)

    assert ended.status == "succeeded"
    assert woken == [began + 3601]


async def test_messages_are_received_once_each_and_in_order(
    store: Store, clock: ManualClock
) -> None:
    @workflow
    async def listener(run: WorkflowRun, input: None) -> list[str]:
        return [await run.receive(returns=str) for _ in range(3)]

    async with hosting(store, clock, listener) as flows:
        run = await flows.start(listener)
        assert (await flows.settled(run)).status == "paused"
        await flows.send(run, "a")
        await flows.send(run, "b")
        await flows.send(run, "c")
        ended = await flows.ended(run)

    assert ended.output == ["a", "b", "c"]


async def test_branches_wait_together_and_give_their_results_in_order(
    store: Store, clock: ManualClock
) -> None:
    made: list[str] = []

    def make(what: str) -> str:
        made.append(what)
        return what

    @workflow
    async def fork(run: WorkflowRun, input: None) -> list[Any]:
        async def asks(run: WorkflowRun) -> str:
            first = await run.step("make", make, "a", returns=str)
            answer = await run.ask("b?", returns=str)
            return first + answer + await run.step("make", make, "c", returns=str)

        async def sleeps(run: WorkflowRun) -> str:
            await run.sleep(600)
            return await run.step("make", make, "d", returns=str)

        async def works(run: WorkflowRun) -> str:
            return await run.step("make", make, "e", returns=str)

        return await run.gather(asks, sleeps, works)

    async with hosting(store, clock, fork) as flows:
        run = await flows.start(fork)
        paused = await flows.settled(run)
        assert [one.id for one in paused.pending] == ["gather:0/0/ask:0"]
        assert (await flows.row(run)).due is not None
        await flows.answer(run, {"gather:0/0/ask:0": "b"})
        paused = await flows.settled(run)
        assert paused.pending == ()
        clock.advance(601)
        flows.worker.ring()
        ended = await flows.ended(run)
        names = await flows.names(run)

    assert ended.output == ["abc", "d", "e"]
    assert sorted(made) == ["a", "c", "d", "e"]
    assert set(names) == {
        "gather:0/0/make",
        "gather:0/1/sleep:0",
        "gather:0/2/make",
        "gather:0/0/make#2",
        "gather:0/1/make",
    }


async def test_what_the_world_tells_is_told_the_same_on_every_drive(
    store: Store, clock: ManualClock
) -> None:
    seen: list[tuple[datetime, UUID, float]] = []

    @workflow
    async def curious(run: WorkflowRun, input: None) -> None:
        seen.append((await run.now(), await run.uuid(), await run.random()))
        await run.ask("Go on?")

    async with hosting(store, clock, curious) as flows:
        run = await flows.start(curious)
        await flows.settled(run)
        clock.advance(100)
        await flows.answer(run, {"ask:0": None})
        assert (await flows.settled(run)).status == "succeeded"

    assert len(seen) == 2
    assert seen[0] == seen[1]


async def test_a_step_that_raised_raises_the_same_on_replay(
    store: Store, clock: ManualClock
) -> None:
    tries: list[int] = []
    caught: list[str] = []
    causes: list[BaseException | None] = []

    async def fail() -> None:
        tries.append(1)
        raise ValueError("no")

    @workflow
    async def careful(run: WorkflowRun, input: None) -> None:
        try:
            await run.step("fail", fail)
        except StepFailedError as error:
            caught.append(str(error))
            causes.append(error.__cause__)
        await run.ask("Go on?")

    async with hosting(store, clock, careful) as flows:
        run = await flows.start(careful)
        await flows.settled(run)
        await flows.answer(run, {"ask:0": None})
        assert (await flows.settled(run)).status == "succeeded"

    assert tries == [1]
    assert caught == ["Step 'fail' failed: ValueError: no"] * 2
    assert isinstance(causes[0], ValueError)
    assert causes[1] is None


async def test_an_error_of_the_function_ends_the_run_failed(
    store: Store, clock: ManualClock
) -> None:
    @workflow
    async def broken(run: WorkflowRun, input: None) -> None:
        raise LookupError("nothing there")

    async with hosting(store, clock, broken) as flows:
        ended = await flows.settled(await flows.start(broken))

    assert (ended.status, ended.error) == ("failed", "LookupError: nothing there")


@pytest.mark.parametrize(
    ("value", "why"),
    [({1, 2}, "a set would not stay"), (float("nan"), "nan has no form"), ({1: 2}, "a key of 1")],
)
async def test_a_value_that_cannot_be_kept_is_an_error_with_its_mend(
    store: Store, clock: ManualClock, value: Any, why: str
) -> None:
    @workflow
    async def odd(run: WorkflowRun, input: None) -> None:
        await run.step("odd", lambda: value)

    async with hosting(store, clock, odd) as flows:
        run = await flows.start(odd)
        ended = await flows.settled(run)
        facts = [fact for _, fact in await flows.facts(run) if isinstance(fact, Stepped)]

    assert ended.status == "failed"
    assert why in (ended.error or "")
    assert all(fact.error is not None for fact in facts)


async def test_steps_of_another_task_or_inside_a_step_are_refused(
    store: Store, clock: ManualClock
) -> None:
    async def nothing() -> None: ...

    @workflow
    async def tangled(run: WorkflowRun, input: None) -> list[str]:
        async def inside() -> None:
            await run.step("b", nothing)

        told = []
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(run.step("a", nothing))
        except* ConfigError as error:
            told.append(str(error.exceptions[0]))
        try:
            await run.step("c", inside)
        except StepFailedError as error:
            told.append(error.error)
        return told

    async with hosting(store, clock, tangled) as flows:
        ended = await flows.settled(await flows.start(tangled))

    assert "use run.gather" in ended.output[0]
    assert "while 'c' is under way" in ended.output[1]
