"""The demo's worker processes: started, watched, and never left behind."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from remit.cli.demo.stage import Stage

_SECONDS_TO_LEAVE = 5.0


@dataclass(slots=True)
class WorkerProcess:
    """A worker by its letter. `code` is None while it lives, negative if a signal killed it."""

    name: str
    pid: int
    code: int | None = field(default=None)

    @property
    def gone(self) -> bool:
        """Whether the process has ended."""
        return self.code is not None


@asynccontextmanager
async def worker(
    name: str,
    stage: Stage,
    tasks: asyncio.TaskGroup,
    on_end: Callable[[], None],
    *,
    die_after_refund: bool = False,
) -> AsyncIterator[WorkerProcess]:
    """A worker for as long as the block lasts; `on_end` is called when it ends.

    Its standard input is a pipe from here: it leaves when that closes, whatever happens to us.
    """
    words = ["-m", "remit.cli.demo.worker", "--store", stage.store]
    words += ["--orders", str(stage.orders.path)]
    words += stage.model.words() if stage.model else []
    if die_after_refund:
        words.append("--die-after-refund")
    with stage.log(name).open("wb") as log:
        running = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
    found = WorkerProcess(name, running.pid)

    async def watch() -> None:
        found.code = await running.wait()
        on_end()

    tasks.create_task(watch())
    try:
        yield found
    finally:
        await _leave(running)


async def _leave(running: asyncio.subprocess.Process) -> None:
    assert running.stdin is not None
    running.stdin.close()
    try:
        async with asyncio.timeout(_SECONDS_TO_LEAVE):
            await running.wait()
    except TimeoutError:
        running.kill()
        await running.wait()
