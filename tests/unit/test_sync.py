"""One loop thread for scripts: it lasts, it is one, and it gives back what was raised."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

import remit.sync
from remit import Agent, Budget, run_sync
from remit.errors import ConfigError
from remit.testing.model import Say, ScriptedModel


async def where() -> tuple[int, int]:
    return id(asyncio.get_running_loop()), threading.get_ident()


def test_every_call_shares_one_loop_on_a_thread_of_its_own() -> None:
    assert run_sync(where()) == run_sync(where())
    assert run_sync(where())[1] != threading.get_ident()


def test_what_one_call_started_goes_on_in_the_next() -> None:
    async def start() -> tuple[asyncio.Event, asyncio.Task[str]]:
        opened = asyncio.Event()

        async def work() -> str:
            await opened.wait()
            return "done"

        return opened, asyncio.create_task(work())

    async def end(opened: asyncio.Event, task: asyncio.Task[str]) -> str:
        opened.set()
        return await task

    assert run_sync(end(*run_sync(start()))) == "done"


def a_fresh_copy() -> Any:
    """The module as a process has it that never ran anything."""
    spec = importlib.util.spec_from_file_location("fresh_sync", str(remit.sync.__file__))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_threads_that_come_first_at_once_share_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh, all_came, started = a_fresh_copy(), threading.Event(), threading.Thread.start

    def slow(thread: threading.Thread) -> None:
        started(thread)
        if thread.name.startswith("remit"):
            all_came.wait(5)

    monkeypatch.setattr(threading.Thread, "start", slow)
    found: list[tuple[int, int]] = []
    callers = [
        threading.Thread(target=lambda: found.append(fresh.run_sync(where())), name="caller")
        for _ in range(8)
    ]
    for caller in callers:
        caller.start()
    all_came.set()
    for caller in callers:
        caller.join(10)
    assert len(found) == 8
    assert len(set(found)) == 1


def test_what_was_raised_is_raised_here() -> None:
    async def fail() -> None:
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        run_sync(fail())


async def test_it_works_beside_a_loop_that_runs() -> None:
    """As in a notebook."""
    assert run_sync(where())[0] != id(asyncio.get_running_loop())


def test_on_its_own_thread_it_is_refused_and_says_what_to_do() -> None:
    async def inside() -> None:
        run_sync(where())

    with pytest.raises(ConfigError, match="await"):
        run_sync(inside())


def test_an_interrupt_cancels_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    began, cut = threading.Event(), threading.Event()

    async def hang() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            cut.set()

    given = asyncio.run_coroutine_threadsafe

    def interrupted(coroutine: Coroutine[Any, Any, Any], loop: asyncio.AbstractEventLoop) -> Any:
        future = given(coroutine, loop)

        def result() -> None:
            began.wait(5)
            raise KeyboardInterrupt

        future.result = result  # type: ignore[assignment, method-assign]  # as Ctrl-C does
        return future

    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_sync(hang())
    assert cut.wait(5)


@pytest.mark.parametrize("given", [None, 5, where])
def test_what_is_no_coroutine_is_refused(given: Any) -> None:
    with pytest.raises((ConfigError, TypeError), match="coroutine"):
        run_sync(given)


def test_an_agent_runs_from_a_script() -> None:
    agent: Agent[None, str] = Agent(
        name="desk", model=ScriptedModel([Say("hi")]), budget=Budget(turns=1)
    )
    assert run_sync(agent.run("Hello")).text == "hi"


def test_an_exit_is_raised_where_it_was_asked_for_and_the_loop_goes_on() -> None:
    async def leave() -> None:
        raise SystemExit(3)

    async def answer() -> int:
        return 1

    with pytest.raises(SystemExit):
        run_sync(leave())
    assert run_sync(answer()) == 1


def test_a_forked_child_gets_a_loop_of_its_own() -> None:
    code = (
        "import os, sys, remit\n"
        "async def one(): return 1\n"
        "remit.run_sync(one())\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(7 if remit.run_sync(one()) == 1 else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=20, check=False)
    assert done.returncode == 7
