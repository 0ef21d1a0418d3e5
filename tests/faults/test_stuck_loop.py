"""A tool that blocks its process's event loop loses no run by it."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import timedelta

import pytest

from remit import Agent, App, Budget, LeaseTerms, tool
from remit.store.connect import connect
from remit.testing import Call, Say, ScriptedModel
from remit.values.clock import SystemClock

TERMS = LeaseTerms(
    lasts=timedelta(seconds=2),
    renew_every=timedelta(seconds=0.25),
    sweep_every=timedelta(seconds=0.05),
    grace=timedelta(seconds=0.1),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(5.0, id="for-leases"),
        pytest.param(21.0, id="for-its-timeout", marks=pytest.mark.chaos),
    ],
)
async def test_a_tool_that_blocks_the_loop_keeps_its_lease(address: str, seconds: float) -> None:
    """For more than a lease, and for more than ten of them where its own timeout allows it."""
    blocking = threading.Event()
    entered: list[int] = []

    @tool
    async def block() -> str:
        """Blocks the event loop for many leases."""
        entered.append(1)
        blocking.set()
        time.sleep(seconds)  # noqa: ASYNC251  # the fault that is tested
        return "ok"

    def agent(script: list[Call | Say]) -> Agent[None, str]:
        return Agent(name="a", model=ScriptedModel(script), tools=[block], budget=Budget(turns=3))

    async def live() -> str:
        first = agent([Call("block"), Say("done")])
        async with App(agents=[first], store=address, lease=TERMS) as app:
            return (await app.run("a", "go")).id

    run = asyncio.create_task(asyncio.to_thread(asyncio.run, live()))
    await asyncio.to_thread(blocking.wait, 5)
    async with App(agents=[agent([])], store=address, lease=TERMS) as other:
        run_id = await run
        assert (await other.get(run_id)).status == "succeeded"
    store = connect(address, SystemClock())
    await store.open()
    row = await store.get(run_id)
    await store.close()
    assert row is not None
    assert (row.token, row.deaths, len(entered)) == (1, 0, 1)
