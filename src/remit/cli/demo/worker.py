"""One of the demo's workers, a process of its own: `python -m remit.cli.demo.worker`.

It drives runs until its standard input ends, so that it never outlives who started it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
from datetime import timedelta
from pathlib import Path

from remit.app import App
from remit.cli.demo.agent import GRANT, Desk, help_desk, nothing
from remit.cli.demo.orders import OrderBook
from remit.cli.models import Wanted, named
from remit.kernel.lease import LeaseTerms

TERMS = LeaseTerms(
    lasts=timedelta(seconds=1),
    renew_every=timedelta(seconds=0.25),
    sweep_every=timedelta(seconds=0.25),
    grace=timedelta(seconds=0.25),
)
_STDIN = 0
ROOM = 3
"""Few runs side by side, so that a reader can follow."""
PAUSE = 0.05
"""What an answer takes, for the same reason."""


def die() -> None:
    """End this process at once, as a power cut would: no handler runs, nothing is written."""
    os.kill(os.getpid(), signal.SIGKILL)


async def work(store: str, orders: Path, model: Wanted | None, *, die_after_refund: bool) -> None:
    """Drive the store's runs until standard input ends."""
    desk = Desk(OrderBook(orders), die if die_after_refund else nothing)
    app = App(
        agents=[help_desk(PAUSE, named(model) if model else None)],
        store=store,
        grant=GRANT,
        deps=lambda user, tenant: desk,
        lease=TERMS,
        room=ROOM,
    )
    async with app:
        await _end_of_input()


async def _end_of_input() -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()

    def read() -> None:
        while os.read(_STDIN, 1024):
            pass
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()
    await ended.wait()


def main() -> None:
    """Read the arguments and work."""
    parser = argparse.ArgumentParser(description="A worker of the demo's help desk.")
    parser.add_argument("--store", required=True, help="the runs' store")
    parser.add_argument("--orders", required=True, type=Path, help="the order database")
    parser.add_argument(
        "--die-after-refund",
        action="store_true",
        help="SIGKILL this process after a refund's commit, before its result is recorded",
    )
    for option in ("--model", "--base-url", "--price"):
        parser.add_argument(option, help="as for the demo")
    parser.add_argument("--json-tools", action="store_true", help="as for the demo")
    told = parser.parse_args()
    model = None
    if told.model is not None:
        model = Wanted(
            name=told.model,
            base_url=told.base_url,
            price=told.price,
            json_tools=told.json_tools,
        )
    try:
        asyncio.run(work(told.store, told.orders, model, die_after_refund=told.die_after_refund))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
