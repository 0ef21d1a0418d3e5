"""Steps and workflows that exit, cancel themselves or are cut short: no worker ends for them."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remit import Agent, Budget, WorkflowRun, tool, workflow
from remit.agent.engaged import engaged
from remit.agent.loop import AgentProgram
from remit.errors import StepFailedError
from remit.kernel.exits import ends_process
from remit.kernel.replay import replay
from remit.store.memory import MemoryStore
from remit.store.protocol import Store
from remit.store.records import Query
from remit.store.sqlite import SqliteStore
from remit.testing import Call, ScriptedModel
from remit.testing.clock import ManualClock
from remit.values.clock import SystemClock
from tests.fixtures_store import opened
from tests.journeys.flows import hosting

ROOT = Path(__file__).parents[2]


def exits() -> None:
    sys.exit(3)


def interrupts() -> None:
    raise KeyboardInterrupt


def cancels() -> None:
    raise asyncio.CancelledError


def closes() -> None:
    raise GeneratorExit


def groups() -> None:
    raise BaseExceptionGroup("two", [SystemExit(3), ValueError("no")])


def is_later(one: Callable[[], None]) -> Callable[[], Any]:
    async def later() -> None:
        one()

    return later


EXITS = [exits, interrupts, cancels, closes, groups]
EVERY = pytest.mark.parametrize("raises", EXITS, ids=lambda one: one.__name__)


@EVERY
@pytest.mark.parametrize("on_thread", [True, False], ids=["thread", "task"])
async def test_whatever_a_step_raises_is_its_recorded_failure(
    clock: ManualClock, raises: Callable[[], None], on_thread: bool
) -> None:
    fn = raises if on_thread else is_later(raises)
    caught: list[str] = []

    @workflow
    async def careful(run: WorkflowRun, input: None) -> str:
        try:
            await run.step("exit", fn)
        except StepFailedError as error:
            caught.append(error.error)
        return await run.ask("Go on?", returns=str)

    async with opened(MemoryStore(clock)) as store, hosting(store, clock, careful) as flows:
        run = await flows.start(careful)
        await flows.settled(run)
        await flows.answer(run, {"ask:0": "yes"})
        ended = await flows.settled(run)
        assert await replay(careful.program(), await flows.facts(run)) is None

    assert ended.output == "yes"
    assert len(caught) == 3
    assert len(set(caught)) == 1


@EVERY
@pytest.mark.parametrize("in_branch", [True, False], ids=["branch", "function"])
async def test_whatever_a_workflow_raises_ends_its_run_alone_and_replays(
    clock: ManualClock, raises: Callable[[], None], in_branch: bool
) -> None:
    @workflow
    async def exiting(run: WorkflowRun, input: None) -> None:
        async def branch(run: WorkflowRun) -> None:
            raises()

        if in_branch:
            await run.gather(branch, branch)
        raises()

    @workflow
    async def fine(run: WorkflowRun, input: None) -> str:
        return "fine"

    async with opened(MemoryStore(clock)) as store, hosting(store, clock, exiting, fine) as flows:
        run = await flows.start(exiting)
        ended = await flows.settled(run)
        assert await replay(exiting.program(), await flows.facts(run)) is None
        assert (await flows.settled(await flows.start(fine))).output == "fine"

    assert ended.status == "failed"


async def test_a_replay_that_is_cancelled_is_no_answer(clock: ManualClock) -> None:
    begun = asyncio.Event()

    @workflow
    async def plain(run: WorkflowRun, input: None) -> None:
        begun.set()
        if replaying:
            await asyncio.Event().wait()

    replaying = False
    async with opened(MemoryStore(clock)) as store, hosting(store, clock, plain) as flows:
        run = await flows.start(plain)
        await flows.settled(run)
        facts = await flows.facts(run)
    replaying = True
    begun.clear()
    task = asyncio.ensure_future(replay(plain.program(), facts))
    await asyncio.wait_for(begun.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_end_that_no_encoding_holds_replays(clock: ManualClock) -> None:
    @workflow
    async def odd(run: WorkflowRun, input: None) -> Any:
        return {value: "\udcaf"}

    value = "\ud800"
    async with opened(MemoryStore(clock)) as store, hosting(store, clock, odd) as flows:
        run = await flows.start(odd)
        assert (await flows.settled(run)).status == "succeeded"
        facts = await flows.facts(run)

    assert await replay(odd.program(), facts) is None
    value = "\ud801"
    found = await replay(odd.program(), facts)
    assert found is not None
    assert "ud801" in found.driven


def test_what_a_signal_raises_ends_the_process_and_what_code_raises_does_not() -> None:
    def leave(*_: Any) -> None:
        raise SystemExit(0)

    before = signal.signal(signal.SIGUSR1, leave)
    try:
        with pytest.raises(SystemExit) as by_signal:
            signal.raise_signal(signal.SIGUSR1)
        with pytest.raises(SystemExit) as by_code:
            exits()
    finally:
        assert ends_process(by_signal.value)
        signal.signal(signal.SIGUSR1, before)
    assert not ends_process(by_code.value)
    assert not ends_process(ValueError())


@pytest.mark.slow
async def test_a_run_that_ends_its_process_does_so_only_so_often(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    def live() -> int:
        command = [sys.executable, "-m", "tests.faults.interrupted", str(path)]
        return subprocess.run(command, cwd=ROOT, timeout=60, check=False).returncode

    assert [live() for _ in range(3)] == [130, 130, 0]
    async with opened(SqliteStore(path, SystemClock())) as store:
        (row,) = await store.find(Query())
    assert row.status == "failed"


async def cut_step(run: WorkflowRun, input: None) -> str:
    caught = ""
    try:
        async with asyncio.timeout(0.01):
            await run.step("slow", asyncio.Event().wait)
    except StepFailedError as error:
        caught = error.error
    answer = await run.ask("Go on?", returns=str)
    return f"{answer}: {caught}"


async def cut_branch_step(run: WorkflowRun, input: None) -> str:
    return "".join(await run.gather(lambda branch: cut_step(branch, None)))


@pytest.mark.parametrize("function", [cut_step, cut_branch_step])
async def test_a_step_that_is_cut_short_failed_live_and_on_replay(
    store: Store, clock: ManualClock, function: Any
) -> None:
    flow = workflow(function)
    async with hosting(store, clock, flow) as flows:
        run = await flows.start(flow)
        (asked,) = (await flows.settled(run)).pending
        await flows.answer(run, {asked.id: "yes"})
        ended = await flows.settled(run)
        assert await replay(flow.program(), await flows.facts(run)) is None

    assert ended.output.startswith("yes: it was cut short by a timeout")


async def test_an_agent_that_is_cut_short_failed_live_and_on_replay(
    store: Store, clock: ManualClock
) -> None:
    @tool
    async def hang() -> str:
        """Takes for ever."""
        await asyncio.Event().wait()
        return ""

    model = ScriptedModel([Call("hang")])
    agent = Agent(name="slow", model=model, tools=[hang], budget=Budget(turns=3))
    program = AgentProgram(agent.plan(agent.granted))

    @workflow
    async def hasty(run: WorkflowRun, input: None) -> str:
        caught = ""
        try:
            async with asyncio.timeout(0.05):
                await run.agent("slow", "Hurry")
        except StepFailedError as error:
            caught = error.error
        return f"{await run.ask('Go on?', returns=str)}: {caught}"

    def engage(name: Any, message: Any, recorded: str | None) -> Any:
        return engaged(program, message)

    async with hosting(store, clock, hasty, engage=engage) as flows:
        run = await flows.start(hasty)
        await flows.settled(run)
        await flows.answer(run, {"ask:0": "yes"})
        ended = await flows.settled(run)
        assert await replay(hasty.program(engage), await flows.facts(run)) is None

    assert ended.output.startswith("yes: it was cut short by a timeout")


class SlowToAnswer(MemoryStore):
    """What became of a step is told when it may be, to whoever appended or asks."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.stored, self.tell = asyncio.Event(), asyncio.Event()

    async def append(self, batch: Any) -> Any:
        outcome = await super().append(batch)
        if any(b'"slow"' in body for item in batch for body in item.entries):
            self.stored.set()
            await self.tell.wait()
        return outcome

    async def get(self, run: str) -> Any:
        if self.stored.is_set():
            await self.tell.wait()
        return await super().get(run)


async def test_a_step_whose_record_is_under_way_is_done_whatever_cuts_it(
    clock: ManualClock,
) -> None:
    seen: list[str] = []
    is_late = asyncio.Event()
    cuts: list[asyncio.Task[None]] = []

    @workflow
    async def hasty(run: WorkflowRun, input: None) -> str:
        task = asyncio.current_task()
        assert task is not None
        cuts.append(asyncio.create_task(cut(task)))
        seen.append(await run.step("slow", lambda: "done"))
        return await run.ask("Go on?", returns=str)

    async def cut(task: asyncio.Task[Any]) -> None:
        if not is_late.is_set():
            await store.stored.wait()
            task.cancel()
            is_late.set()
            for _ in range(10):
                await asyncio.sleep(0)
            assert seen == []
            store.tell.set()

    store = SlowToAnswer(clock)
    async with opened(store), hosting(store, clock, hasty) as flows:
        run = await flows.start(hasty)
        await flows.settled(run)
        await flows.answer(run, {"ask:0": "yes"})
        assert (await flows.settled(run)).output == "yes"
        await asyncio.gather(*cuts)

    assert seen == ["done", "done"]


async def cut_ask(run: WorkflowRun, input: None) -> None:
    async def asks(branch: WorkflowRun) -> None:
        try:
            async with asyncio.timeout(0.01):
                await branch.ask("Go on?")
        except Exception:
            await branch.step("never", lambda: None)

    async def works(branch: WorkflowRun) -> None:
        await branch.step("long", lambda: asyncio.sleep(0.2))

    await run.gather(asks, works)


async def cut_gather(run: WorkflowRun, input: None) -> None:
    async def works(branch: WorkflowRun) -> None:
        await branch.step("long", asyncio.Event().wait)

    try:
        async with asyncio.timeout(0.01):
            await run.gather(works, works)
    except Exception:
        await run.step("never", lambda: None)


@pytest.mark.parametrize("function", [cut_ask, cut_gather])
async def test_a_wait_that_is_cut_short_fails_the_run_and_strands_none(
    store: Store, clock: ManualClock, function: Any
) -> None:
    flow = workflow(function)
    async with hosting(store, clock, flow) as flows:
        run = await flows.start(flow)
        ended = await flows.ended(run)
        assert "never" not in "".join(await flows.names(run))

    assert ended.status == "failed"
    assert "was cut short by a timeout or a cancel around it" in (ended.error or "")


async def test_a_process_that_cancels_all_its_tasks_records_no_step_as_cut(
    clock: ManualClock,
) -> None:
    begun = asyncio.Event()
    ways: list[Any] = [asyncio.Event().wait, lambda: "done"]
    runs: list[str] = []

    async def work() -> Any:
        begun.set()
        found = ways.pop(0)()
        return await found if asyncio.iscoroutine(found) else found

    @workflow
    async def long(run: WorkflowRun, input: None) -> Any:
        return await run.step("long", work)

    async def live(store: Store) -> None:
        async with hosting(store, clock, long) as flows:
            runs.append(await flows.start(long))
            await asyncio.Event().wait()

    async with opened(MemoryStore(clock)) as store:
        living = asyncio.create_task(live(store))
        await asyncio.wait_for(begun.wait(), 5)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(living, 20)
        async with hosting(store, clock, long) as flows:
            assert (await flows.ended(runs[0])).output == "done"
            assert await flows.names(runs[0]) == ["long"]
