"""Two processes decide the same call at the same time."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from remit import App, Run
from remit.kernel.facts import Answered, decode
from remit.store.connect import connect
from remit.testing import Call, Say
from remit.values.clock import SystemClock
from tests.journeys.desk import World, desk

ROOT = Path(__file__).parents[2]
ROUNDS = 100


async def paused_runs(address: str) -> list[Run]:
    script = [Call("refund", order="A-1", amount=150)] * ROUNDS
    agent = desk(World(), script)
    async with App(agents=[agent], store=address, grant={"payments:write"}) as app:
        ids = [await app.start("desk", "Refund A-1") for _ in range(ROUNDS)]
        return [await app.wait(run) for run in ids]


async def decider(address: str, name: str) -> Process:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.decider", address, name),
        cwd=ROOT,
        stdin=PIPE,
        stdout=PIPE,
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


async def told(process: Process, run: Run) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{run.id} {run.pending[0].id}\n".encode())
    return (await process.stdout.readline()).decode().strip()


@pytest.mark.slow
@pytest.mark.timeout(200)
async def test_of_two_processes_that_decide_at_once_one_wins(address: str) -> None:
    runs = await paused_runs(address)
    one, other = await decider(address, "staff_1"), await decider(address, "staff_2")
    winners = []
    for run in runs:
        outcomes = await asyncio.gather(told(one, run), told(other, run))
        assert sorted(outcomes)[1] == "won", outcomes
        assert sorted(outcomes)[0] in ("AlreadyDecidedError", "NotPausedError"), outcomes
        winners.append("staff_1" if outcomes[0] == "won" else "staff_2")
    for process in (one, other):
        assert process.stdin is not None
        process.stdin.close()
        assert await process.wait() == 0
    assert len(winners) == ROUNDS

    async with App(agents=[desk(World(), [Say("ok")] * ROUNDS)], store=address) as app:
        for run in runs:
            await app.wait(run.id)
    store = connect(address, SystemClock())
    await store.open()
    for run, winner in zip(runs, winners, strict=True):
        facts = [decode(entry.body) for entry in await store.read(run.id)]
        deciders = [fact.by for fact in facts if isinstance(fact, Answered)]
        assert [by.user for by in deciders if by] == [winner]
    await store.close()
