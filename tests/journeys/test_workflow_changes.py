"""Code that changed under a run: refused at the first difference, and nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from remit import Workflow, WorkflowRun, workflow
from remit.errors import ConfigError
from remit.kernel.facts import Answered, Finished, Paused
from remit.store.memory import MemoryStore
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from tests.journeys.flows import Flows, hosting

Body = Callable[[WorkflowRun], Awaitable[Any]]


def made(body: Body) -> Workflow:
    """A workflow of one name, whatever its code."""

    @workflow(name="shop")
    async def shop(run: WorkflowRun, input: Any) -> Any:
        return await body(run)

    return shop


async def begun(store: Store, clock: ManualClock, body: Body, *answers: Any) -> str:
    """A run that code has driven to a pause, and that has got its answers since."""
    async with hosting(store, clock, made(body), deploy="old") as flows:
        run = await flows.start(made(body))
        paused = await flows.settled(run)
        assert paused.status == "paused"
        given = dict(zip([one.id for one in paused.pending], answers, strict=True))
    async with hosting(store, clock, deploy="none") as flows:
        if given:
            await flows.answer(run, given)
    return run


async def refused(flows: Flows, run: str) -> str:
    """Why the code of these processes does not drive the run."""
    wakeups = flows.store.wakeups()
    while (row := await flows.row(run)).refused is None:
        await asyncio.wait_for(anext(wakeups), 20)
    assert row.status == "queued"
    return row.refused


def log(made: list[str]) -> Callable[[str], str]:
    def keep(what: str) -> str:
        made.append(what)
        return what

    return keep


async def old(run: WorkflowRun) -> Any:
    first = await run.step("pay", str.upper, "a")
    second = await run.step("pay", str.upper, "b")
    await run.ask("Ship?")
    return [first, second]


async def renamed(run: WorkflowRun) -> Any:
    await run.step("charge", str.upper, "a")


async def other_arguments(run: WorkflowRun) -> Any:
    await run.step("pay", str.upper, "a")
    await run.step("pay", str.upper, "c")


async def fewer_steps(run: WorkflowRun) -> Any:
    await run.step("pay", str.upper, "a")
    return "early"


async def one_more(run: WorkflowRun) -> Any:
    await run.step("check", str.upper, "x")
    return await old(run)


async def another_question(run: WorkflowRun) -> Any:
    await run.step("pay", str.upper, "a")
    await run.step("pay", str.upper, "b")
    await run.ask("Burn?")


async def early_error(run: WorkflowRun) -> Any:
    await run.step("pay", str.upper, "a")
    raise ValueError("a bug")


async def waits_early(run: WorkflowRun) -> Any:
    await run.step("pay", str.upper, "a")
    await run.receive()


async def another_type(run: WorkflowRun) -> Any:
    await run.step("pay", str.upper, "a", returns=int)


async def swallows(run: WorkflowRun) -> Any:
    try:
        await run.step("charge", str.upper, "a")
    except Exception:
        return "swallowed"


async def swallows_all(run: WorkflowRun) -> Any:
    try:
        await run.step("charge", str.upper, "a")
    except BaseException:
        return "swallowed"


async def gathers(run: WorkflowRun) -> Any:
    async def branch(run: WorkflowRun) -> Any:
        return await run.step("pay", str.upper, "a")

    return await run.gather(branch)


@pytest.mark.parametrize(
    ("code", "seq", "recorded", "driven"),
    [
        (renamed, 2, "pay given", "charge given"),
        (other_arguments, 3, "pay#2 given", "pay#2 given"),
        (fewer_steps, 3, "pay#2 given", "its end"),
        (one_more, 2, "pay given", "check given"),
        (another_question, 4, "ask:0", "ask:0 asking 'Burn?'"),
        (early_error, 3, "pay#2 given", "ValueError: a bug"),
        (waits_early, 3, "pay#2 given", "receive:0"),
        (another_type, 2, "pay given", "pay whose value it does not fit int"),
        (swallows, 2, "pay given", "charge given"),
        (swallows_all, 2, "pay given", "charge given"),
        (gathers, 2, "pay given", "gather:0/0/pay given"),
    ],
)
async def test_changed_code_is_refused_at_the_first_difference_and_code_that_fits_goes_on(
    store: Store, clock: ManualClock, code: Body, seq: int, recorded: str, driven: str
) -> None:
    run = await begun(store, clock, old, None)
    async with hosting(store, clock, made(code), deploy="new") as flows:
        why = await refused(flows, run)
        facts = [fact for _, fact in await flows.facts(run)]
    async with hosting(store, clock, made(old), deploy="old again") as flows:
        ended = await flows.ended(run)

    assert f"at entry {seq} {recorded}" in why
    assert driven in why.partition("this code comes to")[2]
    assert not any(isinstance(fact, Finished) for fact in facts)
    assert (ended.status, ended.output) == ("succeeded", ["A", "B"])


async def test_code_that_was_refused_is_not_tried_again_by_the_same_deployment(
    store: Store, clock: ManualClock
) -> None:
    run = await begun(store, clock, old, None)
    async with hosting(store, clock, made(renamed), deploy="new") as flows:
        await refused(flows, run)
        token = (await flows.row(run)).token
    async with hosting(store, clock, made(renamed), deploy="new") as flows:
        await flows.worker.recover()
        other = await flows.start(made(renamed))
        await flows.ended(other)
        assert (await flows.row(run)).token == token


async def test_records_of_branches_that_are_gone_are_a_difference(
    store: Store, clock: ManualClock
) -> None:
    async def asks(run: WorkflowRun) -> Any:
        return await run.ask("Yes?")

    async def works(run: WorkflowRun) -> Any:
        return await run.step("work", str.upper, "w")

    async def two(run: WorkflowRun) -> Any:
        return await run.gather(asks, works)

    async def one(run: WorkflowRun) -> Any:
        return await run.gather(asks)

    async def swapped(run: WorkflowRun) -> Any:
        return await run.gather(works, asks)

    run = await begun(store, clock, two, "yes")
    for deploy, code in (("one", one), ("swapped", swapped)):
        async with hosting(store, clock, made(code), deploy=deploy) as flows:
            assert "gather:0/" in await refused(flows, run)
    async with hosting(store, clock, made(two), deploy="two") as flows:
        assert (await flows.ended(run)).output == ["yes", "W"]


async def test_a_patch_is_taken_by_runs_that_reach_it_first_with_its_code(
    store: Store, clock: ManualClock
) -> None:
    effects: list[str] = []

    async def patched(run: WorkflowRun) -> Any:
        seen = [await run.patched("fee")]
        await run.step("pay", str.upper, "a")
        if await run.patched("fee"):
            await run.step("fee", log(effects), "fee")
        await run.step("pay", str.upper, "b")
        await run.ask("Ship?")
        seen.append(await run.patched("fee"))
        return seen

    run = await begun(store, clock, old, None)
    async with hosting(store, clock, made(patched), deploy="new") as flows:
        assert (await flows.ended(run)).output == [False, False]
        fresh = await flows.start(made(patched))
        await flows.settled(fresh)
        await flows.answer(fresh, {"ask:0": None})
        assert (await flows.ended(fresh)).output == [True, True]
        names = await flows.names(fresh)

    assert effects == ["fee"]
    assert names == ["patched:fee", "pay", "fee", "pay#2"]


async def test_an_answer_that_no_longer_fits_waits_for_code_that_it_fits(
    store: Store, clock: ManualClock
) -> None:
    async def number(run: WorkflowRun) -> Any:
        return await run.ask("How many?", returns=int)

    async def text(run: WorkflowRun) -> Any:
        return await run.ask("How many?", returns=list[int])

    run = await begun(store, clock, number, 3)
    async with hosting(store, clock, made(text), deploy="new") as flows:
        assert "with another type of answer" in await refused(flows, run)
    async with hosting(store, clock, made(number), deploy="old again") as flows:
        assert (await flows.ended(run)).output == 3
        facts = [fact for _, fact in await flows.facts(run)]
    assert len([fact for fact in facts if isinstance(fact, Answered)]) == 1
    assert len([fact for fact in facts if isinstance(fact, Paused)]) == 1


async def test_a_pause_passes_through_what_the_code_wraps_around_it(
    store: Store, clock: ManualClock
) -> None:
    async def wrapped(run: WorkflowRun) -> Any:
        async def branch(run: WorkflowRun) -> Any:
            async with asyncio.TaskGroup():
                return await run.ask("Inside?")

        async with asyncio.timeout(60), asyncio.TaskGroup():
            try:
                first = await run.ask("First?")
            except BaseException:
                first = None
        return [first, *await run.gather(branch)]

    async with hosting(store, clock, made(wrapped)) as flows:
        run = await flows.start(made(wrapped))
        for id in ("ask:0", "gather:0/0/ask:0"):
            assert [one.id for one in (await flows.settled(run)).pending] == [id]
            await flows.answer(run, {id: id})
        assert (await flows.ended(run)).output == ["ask:0", "gather:0/0/ask:0"]


async def test_code_that_swallows_every_error_ends_no_run_that_is_given_back(
    store: Store, clock: ManualClock
) -> None:
    begun, release = asyncio.Event(), asyncio.Event()

    async def work() -> str:
        begun.set()
        await release.wait()
        return "done"

    async def swallowing(run: WorkflowRun) -> Any:
        given = []
        for name in ("first step", "second step"):
            try:
                given.append(await run.step(name, work))
            except BaseException:
                given.append("swallowed")
        return given

    async with hosting(store, clock, made(swallowing)) as flows:
        run = await flows.start(made(swallowing))
        await asyncio.wait_for(begun.wait(), 10)
        draining = asyncio.ensure_future(flows.worker.drain(10))
        await asyncio.sleep(0)
        release.set()
        assert await draining
        assert (await flows.row(run)).status == "queued"
    async with hosting(store, clock, made(swallowing)) as flows:
        assert (await flows.ended(run)).output == ["done", "done"]
        assert await flows.names(run) == ["first step", "second step"]


@pytest.mark.parametrize("name", ["", "a/b", "a#2", "ask:0", "x" * 101, "a\nb", 3])
async def test_a_step_of_a_name_that_cannot_be_told_apart_is_refused(
    clock: ManualClock, name: Any
) -> None:
    async def odd(run: WorkflowRun) -> Any:
        await run.step(name, str.upper, "a")

    store = MemoryStore(clock)
    async with hosting(store, clock, made(odd)) as flows:
        ended = await flows.ended(await flows.start(made(odd)))
    assert ended.status == "failed"
    assert "printable characters without / # and :" in (ended.error or "")


async def test_what_is_called_already_is_no_step_and_no_branch(clock: ManualClock) -> None:
    async def work() -> None: ...

    async def called(run: WorkflowRun) -> Any:
        told = []
        given: list[Any] = [work(), work()]
        for call in (lambda: run.step("work", given[0]), lambda: run.gather(given[1])):
            try:
                await call()
            except ConfigError as error:
                told.append(str(error))
        return told

    store = MemoryStore(clock)
    async with hosting(store, clock, made(called)) as flows:
        told = (await flows.ended(await flows.start(made(called)))).output
    assert "give the function and its arguments" in told[0]
    assert "calls them itself" in told[1]
