"""What the tests' other processes do with a PostgreSQL store; each is a fresh interpreter."""

from __future__ import annotations

import asyncio
import traceback
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier

from remit.store.money import DAY, Ceiling, Charge, Granted, Hold, Meter
from remit.store.postgres import PostgresStore
from remit.store.records import Appended
from remit.testing.store_contract.arrange import held, item, write

ROUNDS = 20


def start_together(
    address: str, schemas: list[str], name: str, gate: Barrier, results: Queue[str]
) -> None:
    """Open each schema at the same moment as the others, and carry a run through in it."""
    for schema in schemas:
        gate.wait(30)
        try:
            asyncio.run(_one_run(address, schema, name))
            results.put("fine")
        except BaseException:
            results.put(traceback.format_exc())


def spend_together(
    address: str, schema: str, name: str, gate: Barrier, results: Queue[list[bool]]
) -> None:
    """Ask for money with eight runs at once, and as the other processes do; round by round."""
    results.put(asyncio.run(_spend(address, schema, name, gate)))


async def _spend(address: str, schema: str, name: str, gate: Barrier) -> list[bool]:
    store = PostgresStore(address, schema=schema)
    await store.open()
    granted = []
    claims = [await held(store, worker=name, tenant="acme") for _ in range(8)]
    for turn in range(ROUNDS):
        day = Meter(key=f"day {turn}", slots=1, width=DAY, tenant="acme")
        hour = Meter(key=f"hour {turn}", slots=61, width=60_000_000, tenant="acme")
        hold = Hold(
            name=f"call {turn}",
            nano=30,
            ceilings=(Ceiling(hour, 1000), Ceiling(day, 150)),
            charge=Charge(model="m", purpose="turn", body=b""),
        )
        await asyncio.to_thread(gate.wait, 30)
        outcomes = await asyncio.gather(
            *(write(store, item(one, seq=turn + 1, holds=(hold,))) for one in claims)
        )
        for outcome in outcomes:
            assert isinstance(outcome, Appended)
            granted.append(outcome.grants == (Granted(),))
    await store.close()
    return granted


async def _one_run(address: str, schema: str, name: str) -> None:
    store = PostgresStore(address, schema=schema)
    await store.open()
    had = await held(store, worker=name)
    assert isinstance(await write(store, item(had, status="succeeded")), Appended)
    await store.close()
