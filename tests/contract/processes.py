"""What the tests' other processes do; each is a fresh interpreter."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from remit.store.records import Appended
from remit.store.sqlite import SqliteStore
from tests.contract.arrange import held, item, queued, write


def start_together(files: list[Path], name: str, gate: Barrier, results: Queue[str]) -> None:
    """Open each file at the same moment as the others, and carry a run through on it."""
    for path in files:
        gate.wait(30)
        try:
            asyncio.run(_one_run(path, name))
            results.put("fine")
        except BaseException:
            results.put(traceback.format_exc())


async def _one_run(path: Path, name: str) -> None:
    store = SqliteStore(path)
    await store.open()
    had = await held(store, worker=name)
    assert isinstance(await write(store, item(had, status="succeeded")), Appended)
    await store.close()


async def write_for_ever(path: Path) -> None:
    """Append to four runs at once, and tell of each entry that is stored."""
    store = SqliteStore(path)
    await store.open()

    async def writer(number: int) -> None:
        had = await held(store, f"run{number}", worker="doomed")
        for seq in range(1, 1_000_000):
            outcome = await write(store, item(had, b"x" * 700, seq=seq))
            assert isinstance(outcome, Appended)
            os.write(1, f"{had.run} {outcome.seq}\n".encode())

    await asyncio.gather(*map(writer, range(4)))


async def make_a_run(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await queued(store, "from afar")
    await store.close()


if __name__ == "__main__":
    asyncio.run({"write": write_for_ever, "make": make_a_run}[sys.argv[1]](Path(sys.argv[2])))
