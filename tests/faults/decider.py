"""A process that decides calls when it is told to: `RUN CALL` a line, one outcome a line.

Usage: python -m tests.faults.decider STORE NAME
"""

from __future__ import annotations

import asyncio
import sys

from remit import App, Caller
from remit.errors import AlreadyDecidedError, NotPausedError


async def main(store: str, name: str) -> None:
    async with App(store=store, work=False) as app:
        tell("ready")
        while line := await asyncio.to_thread(sys.stdin.readline):
            run, call = line.split()
            try:
                await app.decide(run, approve=[call], by=Caller(user=name))
                tell("won")
            except (AlreadyDecidedError, NotPausedError) as error:
                tell(type(error).__name__)


def tell(outcome: str) -> None:
    sys.stdout.write(outcome + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
