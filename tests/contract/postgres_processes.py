"""What the tests' other processes do with a PostgreSQL store; each is a fresh interpreter."""

from __future__ import annotations

import asyncio
import traceback
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier

from remit.store.postgres import PostgresStore
from remit.store.records import Appended
from tests.contract.arrange import held, item, write


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


async def _one_run(address: str, schema: str, name: str) -> None:
    store = PostgresStore(address, schema=schema)
    await store.open()
    had = await held(store, worker=name)
    assert isinstance(await write(store, item(had, status="succeeded")), Appended)
    await store.close()
