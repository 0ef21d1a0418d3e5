"""Real processes that freeze, are told to leave, or lose a run."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from remit.kernel.facts import Finished, Stepped, decode
from remit.store.connect import connect
from remit.store.records import Entry, Query, RunRow
from remit.values.clock import SystemClock
from tests.faults.conftest import Addresses
from tests.faults.steps import open_world

ROOT = Path(__file__).parents[2]
PATIENCE = 20.0


class Worlds:
    """The run's store, and what processes noted beside it."""

    def __init__(self, store: str, folder: Path) -> None:
        self.store = store
        self.path = f"{folder}/world.db"
        self.world = open_world(self.path)

    def live(self, steps: int, seconds: float, *more: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.faults.steps"]
        options = [self.store, self.path, str(steps), str(seconds), *more]
        return subprocess.Popen(
            [*command, *options],
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def entered(self, what: str, pid: int | None = None) -> list[str]:
        rows = self.world.execute(
            "SELECT key FROM entered WHERE what = ? AND pid = coalesce(?, pid)", (what, pid)
        )
        return [key for (key,) in rows.fetchall()]

    def await_entered(self, what: str, times: int) -> None:
        end = time.monotonic() + PATIENCE
        while len(self.entered(what)) < times:
            assert time.monotonic() < end, f"{what} was not entered {times} times"
            time.sleep(0.01)

    async def journal(self) -> tuple[RunRow, list[Entry]]:
        store = connect(self.store, SystemClock())
        await store.open()
        (row,) = await store.find(Query())
        entries = list(await store.read(row.id))
        await store.close()
        return row, entries


def finished(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    return out


@pytest.fixture
def worlds(address: str, tmp_path: Path) -> Iterator[Worlds]:
    made = Worlds(address, tmp_path)
    yield made
    made.world.close()


@pytest.mark.slow
async def test_a_frozen_worker_writes_nothing_when_it_wakes(worlds: Worlds) -> None:
    frozen = worlds.live(4, 0.3, "start")
    worlds.await_entered("tool", 2)
    frozen.send_signal(signal.SIGSTOP)
    other = worlds.live(4, 0.3)
    assert finished(other) == "succeeded answer\n"
    before = [*worlds.entered("tool", frozen.pid), *worlds.entered("model", frozen.pid)]
    row, entries = await worlds.journal()
    taken = max(entry.token for entry in entries)

    frozen.send_signal(signal.SIGCONT)
    # It sees the end of the run that it lost, which another process brought about.
    assert finished(frozen) == "succeeded answer\n"

    after = [*worlds.entered("tool", frozen.pid), *worlds.entered("model", frozen.pid)]
    assert after == before
    assert await worlds.journal() == (row, entries)
    tokens = [entry.token for entry in entries]
    assert tokens == sorted(tokens)
    assert tokens[-1] == taken
    assert row.status == "succeeded"


@pytest.mark.slow
async def test_a_worker_that_is_told_to_leave_finishes_its_step_and_no_more(
    worlds: Worlds,
) -> None:
    leaving = worlds.live(4, 0.4, "start")
    worlds.await_entered("tool", 2)
    leaving.send_signal(signal.SIGTERM)
    leaving.communicate(timeout=PATIENCE)
    assert leaving.returncode == -signal.SIGTERM
    assert len(worlds.entered("end")) == 2

    row, entries = await worlds.journal()
    assert (row.status, row.deaths) == ("queued", 0)
    facts = [decode(entry.body) for entry in entries]
    assert [fact.name for fact in facts if isinstance(fact, Stepped)] == [
        "turn:0/think",
        "turn:0/call:0",
        "turn:1/think",
        "turn:1/call:0",
    ]

    assert finished(worlds.live(4, 0.01)) == "succeeded answer\n"
    entered = worlds.entered("tool")
    assert len(entered) == len(set(entered)) == 4
    row, entries = await worlds.journal()
    assert isinstance(decode(entries[-1].body), Finished)


@pytest.mark.slow
async def test_a_killed_worker_is_followed_within_lease_and_sweep(worlds: Worlds) -> None:
    killed = worlds.live(3, 0.3, "start")
    worlds.await_entered("tool", 2)
    killed.kill()
    killed.communicate(timeout=PATIENCE)
    began = time.monotonic()
    assert finished(worlds.live(3, 0.05)) == "succeeded answer\n"
    assert time.monotonic() - began < 10 * (0.8 + 0.1 + 0.2)
    keys = worlds.entered("tool")
    assert len(set(keys)) == 3
    assert sorted(keys.count(key) for key in set(keys)) in ([1, 1, 2], [1, 1, 1])


def test_the_world_is_seen_by_all(worlds: Worlds) -> None:
    with closing(sqlite3.connect(worlds.path)) as other, other:
        other.execute("INSERT INTO entered VALUES (1, 'tool', 'k')")
    assert worlds.entered("tool", 1) == ["k"]


TWO_APPS = """
import asyncio, sys
from datetime import timedelta
from remit import App
from tests.faults.conftest import Addresses
from tests.faults.steps import TERMS, open_world, stepper

async def main(world, idle, busy):
    world = open_world(world)
    one, two = stepper(world, 2, 0.5), stepper(world, 2, 0.5)
    async with (
        App(agents=[one], store=idle, lease=TERMS),
        App(agents=[two], store=busy, lease=TERMS) as app,
    ):
        await app.wait(await app.start("stepper", "go"))

asyncio.run(main(*sys.argv[1:]))
"""


def two_apps(worlds: Worlds, idle: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", TWO_APPS, worlds.path, idle, worlds.store]
    return subprocess.Popen(command, cwd=ROOT)


@pytest.mark.slow
async def test_every_app_of_a_process_drains_before_it_ends(
    worlds: Worlds, addresses: Addresses
) -> None:
    leaving = two_apps(worlds, addresses())
    worlds.await_entered("tool", 1)
    leaving.send_signal(signal.SIGTERM)
    assert leaving.wait(PATIENCE) == -signal.SIGTERM
    assert len(worlds.entered("end")) == 1
    row, _ = await worlds.journal()
    assert (row.status, row.deaths) == ("queued", 0)
