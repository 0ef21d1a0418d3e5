"""What the tests' other processes do; each is a fresh interpreter."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

from msgspec.structs import replace

from remit.store.money import Ceiling, Charge, Denied, Hold, Meter, Settlement
from remit.store.records import Appended
from remit.store.sqlite import SqliteStore
from remit.testing.store_contract.arrange import LASTS, PROGRAM, held, item, queued, row, write


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


async def spend(path: Path) -> None:
    """Hold and settle, four runs at once, until one ceiling has no room; tell what was spent."""
    store = SqliteStore(path)
    await store.open()
    ceiling = Ceiling(Meter(key="all", slots=1, width=2**60), 1000)
    charge = Charge(model="m", purpose="turn", body=b"")

    async def spender(number: int) -> int:
        had = await held(store, worker=f"{os.getpid()} {number}")
        wish = Hold(name="call", nano=7, ceilings=(ceiling,), charge=charge)
        paid = Settlement(name="call", nano=7, charge=charge)
        for seq in range(1, 1_000_000):
            name = str(seq)
            append = item(
                had,
                seq=seq,
                settles=() if seq == 1 else (replace(paid, name=str(seq - 1)),),
                holds=(replace(wish, name=name),),
            )
            outcome = await write(store, append)
            assert isinstance(outcome, Appended)
            if isinstance(outcome.grants[0], Denied):
                return seq - 1
        raise AssertionError("there is always room")

    spent = sum(await asyncio.gather(*map(spender, range(4))))
    await store.close()
    os.write(1, f"{7 * spent}\n".encode())


async def wait_in_line(path: Path) -> None:
    """Start runs on a thread that others use too, and carry through whichever is due."""
    store = SqliteStore(path)
    await store.open()
    worker = f"w{os.getpid()}"
    await store.beat(worker, LASTS, join=True)
    made = [await queued(store, thread="t", enqueue=1000) for _ in range(20)]
    while not all([(await row(store, run)).ended for run in made]):
        for had in await store.claim(worker, [PROGRAM], format=1):
            outcome = await write(store, item(had, status="succeeded", seen=had.inbox))
            assert isinstance(outcome, Appended)
    await store.close()


TASKS = {"write": write_for_ever, "make": make_a_run, "spend": spend, "line": wait_in_line}

if __name__ == "__main__":
    asyncio.run(TASKS[sys.argv[1]](Path(sys.argv[2])))
