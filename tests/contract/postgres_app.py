"""A process with an App on a PostgreSQL store, which does what it is told.

Usage: python -m tests.contract.postgres_app work|start ADDRESS SCHEMA

One that works tells the time at which each run reaches its model. One that starts makes a run for
each line that it is given, and tells the time before and when it is made.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from remit import Agent, App, Budget, ModelRequest
from remit.store.postgres import PostgresStore
from remit.testing.model import Say, ScriptedModel

MOST = 1000


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def reached(_: ModelRequest) -> Say:
    tell(str(time.time()))
    return Say("done")


def clerk() -> Agent[Any, Any]:
    model = ScriptedModel([reached] * MOST)
    return Agent(name="clerk", model=model, instructions="Help.", budget=Budget(turns=2))


async def main(task: str, address: str, schema: str) -> None:
    store = PostgresStore(address, schema=schema)
    await store.open()
    async with App([clerk()], store=store, work=task == "work") as app:
        tell("ready")
        while await asyncio.to_thread(sys.stdin.readline):
            tell(str(time.time()))
            await app.start("clerk", "hello")
            tell("made")
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
