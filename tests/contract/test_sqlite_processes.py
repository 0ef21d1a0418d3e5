"""Laws of a SQLite file that several processes use, or die upon."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import sys
from pathlib import Path

import pytest

from remit.store.money import LedgerQuery
from remit.store.sqlite import SqliteStore
from remit.testing.store_contract.arrange import LASTS, PROGRAM, claim, item, queued, write
from tests.contract import processes
from tests.fixtures_store import opened

ROOT = Path(__file__).parents[2]


async def other_process(task: str, path: Path) -> asyncio.subprocess.Process:
    """A process that does one of the tasks of `processes`."""
    command = [sys.executable, "-m", "tests.contract.processes", task, str(path)]
    return await asyncio.create_subprocess_exec(*command, stdout=-1, cwd=ROOT)


@pytest.mark.slow
def test_fresh_files_can_be_opened_by_eight_processes_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    files = [tmp_path / f"{number}.db" for number in range(20)]
    gate, results = context.Barrier(8), context.Queue()
    starters = [
        context.Process(target=processes.start_together, args=(files, f"p{number}", gate, results))
        for number in range(8)
    ]

    for starter in starters:
        starter.start()
    outcomes = [results.get(timeout=50) for _ in range(160)]
    for starter in starters:
        starter.join()
    results.close()

    assert outcomes == ["fine"] * 160


@pytest.mark.slow
async def test_a_writer_killed_in_the_middle_leaves_all_it_was_told_is_stored(
    tmp_path: Path,
) -> None:
    for number, lines in enumerate((5, 60, 400)):
        path = tmp_path / f"{number}.db"
        doomed = await other_process("write", path)
        assert doomed.stdout is not None
        told = [await doomed.stdout.readline() for _ in range(lines)]
        doomed.kill()
        told += (await doomed.stdout.read()).splitlines(keepends=True)
        await doomed.wait()

        async with opened(SqliteStore(path)) as store:
            for line in told:
                run, seq = line.split() if line.endswith(b"\n") else (b"run0", b"1")
                stored = await store.read(run.decode())
                assert [entry.seq for entry in stored] == list(range(1, len(stored) + 1))
                assert len(stored) >= int(seq)
        with sqlite3.connect(path) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        db.close()


async def test_a_run_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    doomed = await other_process("write", path)
    assert doomed.stdout is not None
    while b"run0" not in await doomed.stdout.readline():
        pass
    doomed.kill()
    await doomed.communicate()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE workers SET alive_until = alive_until - ?", (LASTS * 1e6,))
    db.close()

    async with opened(SqliteStore(path)) as store:
        swept = await store.sweep()
        had = await claim(store, "run0", "heir")
        await write(store, item(had, status="succeeded"))
        entries = await store.read("run0")

    assert "run0" in swept
    assert had.deaths == 1
    assert had.since_lost is not None
    assert 0 <= had.since_lost < 30
    assert [entry.token for entry in entries] == [0, *[1] * (len(entries) - 2), had.token]


async def test_another_process_wakes_a_listener(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with opened(SqliteStore(path)) as store:
        wakeups = store.wakeups()
        other = await other_process("make", path)

        while await store.get("from afar") is None:
            await asyncio.wait_for(anext(wakeups), 20)

        assert await other.wait() == 0


async def test_handles_side_by_side_never_see_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    stores = [SqliteStore(path, patience=20) for _ in range(4)]
    await asyncio.gather(*(store.open() for store in stores))

    async def use(store: SqliteStore, name: str) -> int:
        await store.beat(name, 60, join=True)
        taken = 0
        for _ in range(25):
            await queued(store)
            for had in await store.claim(name, [PROGRAM], format=1, room=2):
                await write(store, item(had, status="succeeded"))
                taken += 1
        return taken

    taken = await asyncio.gather(*(use(store, f"w{n}") for n, store in enumerate(stores)))

    assert sum(taken) == 100
    await asyncio.gather(*(store.close() for store in stores))


@pytest.mark.slow
async def test_processes_that_spend_at_once_stay_under_one_ceiling(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    spenders = [await other_process("spend", path) for _ in range(3)]

    told = [await one.communicate() for one in spenders]

    assert [one.returncode for one in spenders] == [0, 0, 0]
    assert sum(int(spent) for spent, _ in told) == 994
    async with opened(SqliteStore(path)) as store:
        (total,) = await store.usage(LedgerQuery())
        assert (total.nano, total.calls) == (994, 142)


@pytest.mark.slow
async def test_processes_that_share_a_thread_strand_nobody(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    lines = [await other_process("line", path) for _ in range(3)]

    for one in lines:
        await asyncio.wait_for(one.communicate(), 60)

    assert [one.returncode for one in lines] == [0, 0, 0]
    async with opened(SqliteStore(path)) as store:
        head = await store.thread_head("t")
        assert head is not None
        assert len(await store.lineage(head)) == 59
