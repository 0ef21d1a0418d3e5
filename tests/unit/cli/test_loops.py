"""A command's coroutine, where the caller's thread runs a loop and where it does not."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import pytest

from remit.cli.loops import go

CELL: ContextVar[str] = ContextVar("CELL", default="none")


async def cell() -> str:
    return CELL.get()


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, as it does in a notebook."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def test_without_a_loop_it_runs_here() -> None:
    assert go(cell()) == "none"


async def test_within_a_loop_it_runs_apart_and_in_the_callers_context() -> None:
    CELL.set("seventh")
    assert go(cell()) == "seventh"


async def test_what_it_raises_is_raised() -> None:
    async def fails() -> None:
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        go(fails())


async def test_an_interrupt_cancels_what_runs_apart() -> None:
    ended: list[str] = []

    async def waits() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with interruptible(), pytest.raises(KeyboardInterrupt):
        go(waits())
    assert ended == ["cancelled"]
