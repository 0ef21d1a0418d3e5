"""What waiting costs on PostgreSQL: few questions, and moments until another process's run
starts. Each App is a process of its own."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from remit.kernel.lease import LeaseTerms
from remit.store.postgres import PostgresStore
from tests.contract.test_postgres import own_database
from tests.fixtures_postgres import Place
from tests.fixtures_store import opened

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SWEEP = LeaseTerms().sweep_every.total_seconds()
STARTS_WITHIN = 0.05
SHARE = 10
"""How much longer than expected something may take on a machine that does other things too."""
COUNT = """
SELECT coalesce(sum(calls), 0)::int FROM pg_stat_statements
JOIN pg_database ON pg_database.oid = dbid WHERE datname = %s
"""
LISTENERS = """
SELECT count(pg_terminate_backend(pid))::int FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND (query LIKE 'LISTEN%%' OR query LIKE '%%pg_notify%%')
"""


class Process:
    """An App in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def heard(self) -> str:
        """The next line that it tells."""
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), SHARE * SWEEP)
        assert line, "the process ended"
        return line.decode().strip()

    async def start(self) -> float:
        """Make it start a run; the time before it did."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"go\n")
        began = float(await self.heard())
        assert await self.heard() == "made"
        return began


@asynccontextmanager
async def app(task: str, place: Place) -> AsyncIterator[Process]:
    command = (sys.executable, "-m", "tests.contract.postgres_app", task)
    process = await asyncio.create_subprocess_exec(
        *command, place.address, place.schema, stdin=-1, stdout=-1, cwd=ROOT
    )
    one = Process(process)
    try:
        assert await one.heard() == "ready"
        yield one
    finally:
        process.kill()
        await process.wait()


@pytest.fixture
async def store(place: Place) -> AsyncIterator[PostgresStore]:
    async with opened(store := PostgresStore(place.address, schema=place.schema)):
        yield store


async def test_an_idle_app_asks_less_than_once_a_second(place: Place) -> None:
    place.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public")
    with own_database(place) as alone:
        name = str(conninfo_to_dict(alone.address)["dbname"])

        def asked() -> int:
            ((calls,),) = place.execute(COUNT.replace("FROM pg", "FROM public.pg", 1), name)
            return int(calls)

        async with app("work", alone):
            # The measured time itself; it begins when the App has begun.
            await asyncio.sleep(1)
            before, began = asked(), time.monotonic()
            await asyncio.sleep(4.4 * SWEEP)
            count, seconds = asked() - before, time.monotonic() - began

    assert 0 < count < seconds


async def test_another_process_s_run_starts_within_moments(place: Place) -> None:
    async with app("work", place) as worker, app("start", place) as starter:
        waits = []
        for _ in range(20):
            began = await starter.start()
            waits.append(float(await worker.heard()) - began)

    assert statistics.median(waits) < SHARE * STARTS_WITHIN


async def test_a_run_that_no_notification_tells_of_is_found_by_the_sweep(
    place: Place, store: PostgresStore
) -> None:
    async with app("start", place) as starter:
        await starter.start()
    place.execute("UPDATE runs SET due = now() + interval '1 hour'")
    async with app("work", place) as worker:
        began = time.time()
        place.execute("UPDATE runs SET due = now()")

        reached = float(await worker.heard())

    assert reached - began < SHARE * SWEEP


async def test_a_run_that_comes_while_nobody_listens_costs_at_most_the_sweep(place: Place) -> None:
    with own_database(place) as alone:
        async with app("work", alone) as worker, app("start", alone) as starter:
            await starter.start()
            await worker.heard()
            waits = []
            for _ in range(3):
                ((deaf,),) = alone.execute(LISTENERS)
                assert deaf > 0
                began = await starter.start()
                waits.append(float(await worker.heard()) - began)

    assert statistics.median(waits) < SHARE * SWEEP
