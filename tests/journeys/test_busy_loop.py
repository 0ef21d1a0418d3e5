"""What runs tells how long it may take, so that a loop that it blocks keeps its lease so long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from remit import Agent, App, ToolContext, Workflow, WorkflowRun, tool, workflow
from remit.host import worker
from remit.host.pulse import Pulse
from remit.store.memory import MemoryStore
from remit.store.sqlite import SqliteStore
from remit.testing.model import Call, Say
from tests.journeys.clerk import clerk, ended, soon


class Listening(Pulse):
    """Is asked by the test what a stuck loop is waited for."""

    made: list[Listening]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.made.append(self)

    def would_wait(self) -> float:
        return self._longest()


@asynccontextmanager
async def opened(app: App, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Listening]:
    Listening.made = []
    monkeypatch.setattr(worker, "Pulse", Listening)
    async with app:
        (pulse,) = Listening.made
        assert pulse.would_wait() == 0
        yield pulse
        assert pulse.would_wait() == 0


async def test_a_tool_and_a_step_are_waited_for_as_long_as_they_may_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began, go = asyncio.Queue[str](), asyncio.Event()

    @tool(timeout=900)
    async def work() -> str:
        """Works."""
        await began.put("tool")
        await go.wait()
        return "done"

    @workflow
    async def flow(run: WorkflowRun, input: None) -> Any:
        async def step() -> int:
            await began.put("step")
            await go.wait()
            return 1

        return await run.step("step", step, timeout=1200)

    agent: Agent[Any, Any] = clerk([Call("work"), Say("done")], [work])
    flows: list[Workflow] = [flow]
    app = App([agent], workflows=flows, store=MemoryStore())
    async with opened(app, monkeypatch) as pulse:
        first = await app.start("clerk", "x")
        await soon(began.get())
        assert pulse.would_wait() == pytest.approx(900, abs=9)
        second = await app.start("flow")
        await soon(began.get())
        assert pulse.would_wait() == pytest.approx(1200, abs=9)
        go.set()
        for run in (first, second):
            assert (await ended(app, run)).status == "succeeded"


async def test_a_call_inside_the_stores_transaction_is_waited_for_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    seen: list[float] = []

    @tool(transactional=True, timeout=700)
    def book(ctx: ToolContext[Any]) -> str:
        """Books."""
        seen.append(Listening.made[0].would_wait())
        return "booked"

    store = SqliteStore(tmp_path / "runs.db")
    await store.open()
    app = App([clerk([Call("book"), Say("done")], [book])], store=store)
    async with opened(app, monkeypatch):
        run = await app.run("clerk", "x")
    await store.close()
    assert (run.status, seen) == ("succeeded", [700])
