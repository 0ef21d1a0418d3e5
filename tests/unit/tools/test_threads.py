"""Threads are used again, are as many as are needed, and hold nobody up."""

import subprocess
import sys
import threading
import time

import pytest

from remit.tools.threads import Threads


def names(threads: Threads, count: int) -> list[str]:
    """The names of the threads that `count` pieces of work ran on, side by side."""
    meet, found = threading.Barrier(count + 1), []

    def work() -> None:
        found.append(threading.current_thread().name)
        meet.wait()

    for _ in range(count):
        threads.run(work)
    meet.wait()
    return found


def settled(threads: Threads, count: int) -> None:
    """Wait until `count` threads are idle."""
    while len(threads._free) < count:
        time.sleep(0.001)


def test_an_idle_thread_is_used_again() -> None:
    threads = Threads()
    first = names(threads, 1)
    settled(threads, 1)

    assert names(threads, 1) == first


def test_work_never_waits_for_a_thread() -> None:
    assert len(set(names(Threads(), 50))) == 50


def test_threads_do_not_keep_the_process_alive() -> None:
    found: list[bool] = []
    done = threading.Event()

    def look() -> None:
        found.append(threading.current_thread().daemon)
        done.set()

    Threads().run(look)
    done.wait()

    assert found == [True]


def test_an_idle_thread_ends_after_a_while_or_when_the_pool_is_closed() -> None:
    before = set(threading.enumerate())
    short, closed = Threads(idle=0.01), Threads()
    names(short, 2)
    names(closed, 2)
    settled(closed, 2)
    closed.close()

    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive()


def test_a_closed_pool_still_works() -> None:
    threads = Threads()
    threads.close()

    assert len(names(threads, 2)) == 2


def test_work_given_while_a_thread_gives_up_waiting_is_not_lost() -> None:
    threads = Threads(idle=0.0001)
    done = threading.Semaphore(0)

    for _ in range(500):
        threads.run(done.release)
        time.sleep(0.0001)

    for _ in range(500):
        assert done.acquire(timeout=5)


@pytest.mark.slow
def test_a_process_ends_while_tools_are_stuck() -> None:
    program = """
import asyncio, threading, time
from remit.tools.abandoned import Abandoned
from remit.tools.context import ToolContext
from remit.tools.execute import execute
from remit.tools.tool import tool
from remit.values.clock import SystemClock

@tool(timeout=0.05)
def stuck() -> None:
    "Never ends."
    threading.Event().wait()

@tool(timeout=0.05)
async def swallows() -> None:
    "Never ends."
    while True:
        try:
            await asyncio.sleep(1)
        except BaseException:
            pass

async def main() -> None:
    abandoned = Abandoned()
    context = ToolContext(run_id="r", turn=1, call_id="c", idempotency_key="k", deps=None)
    for tool in (stuck, swallows):
        outcome = await execute(
            tool, tool.check({}), context, clock=SystemClock(), abandoned=abandoned, grace=0.01
        )
        print(outcome.status)

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", "-c", program],
        capture_output=True,
        text=True,
        timeout=20,
    )

    assert done.stdout.split() == ["timeout", "timeout"]
    assert done.returncode == 0
    assert "destroyed" not in done.stderr
    assert "ignored" not in done.stderr
