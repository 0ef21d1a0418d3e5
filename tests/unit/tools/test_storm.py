"""Whatever tools do, and whenever they are cancelled, every call ends and nothing is left."""

import asyncio
import contextlib
import gc
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from remit.tools.execute import Outcome
from remit.tools.tool import tool
from tests.unit.tools.calls import Desk

ERRORS = (ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError)

EAGER = [False, True] if sys.version_info >= (3, 12) else [False]
"""Whether tasks begin at once, which they can from Python 3.12 on."""


class Ways:
    """Ways in which a tool may behave."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def any(self) -> Callable[[], Any]:
        """One of them."""
        names = [name for name in vars(Ways) if not name.startswith("_") and name != "any"]
        way: Callable[[], Any] = getattr(self, self.chance.choice(names))
        return way

    async def sleeps(self) -> int:
        await asyncio.sleep(self.chance.random() * 0.02)
        return 1

    async def raises(self) -> None:
        await asyncio.sleep(0)
        raise self.chance.choice(ERRORS)

    async def swallows_cancels(self) -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.001)

    async def swallows_everything(self) -> None:
        while True:
            with contextlib.suppress(BaseException):
                await asyncio.sleep(0.001)

    async def cleans_up_slowly(self) -> None:
        try:
            await asyncio.sleep(0.02)
        finally:
            await asyncio.sleep(0.05)

    async def answers_a_cancel(self) -> str:
        try:
            await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            return "late"
        return "in time"

    async def cancels_itself(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    async def has_children(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.sleeps())
            group.create_task(self.sleeps())

    def blocks(self) -> int:
        time.sleep(self.chance.random() * 0.02)
        return 1

    def gives_a_coroutine(self) -> Any:
        time.sleep(self.chance.random() * 0.005)
        return self.sleeps()


async def call(desk: Desk, chance: random.Random) -> None:
    """One call, cancelled at some moment or not. A cancel that was taken is never lost."""
    timeout = chance.choice([0.002, 0.01])
    made = tool(Ways(chance).any(), description="Does.", timeout=timeout)
    running = asyncio.create_task(desk.run(made))
    cancelled = False
    for _ in range(chance.choice([0, 1, 2])):
        await asyncio.sleep(chance.random() * 0.01)
        cancelled = running.cancel() or cancelled
    try:
        outcome = await running
    except asyncio.CancelledError:
        assert cancelled
    else:
        assert not cancelled
        assert isinstance(outcome, Outcome)


async def storm(seed: int) -> None:
    chance = random.Random(seed)
    desk = Desk(grace=chance.choice([0.0, 0.003]))
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for _ in range(40):
            group.create_task(call(desk, chance))
    await desk.abandoned.close(5)

    assert desk.abandoned.going == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.slow
@pytest.mark.parametrize("eager", EAGER)
def test_every_call_ends_and_nothing_is_left(eager: bool) -> None:
    complaints: list[dict[str, Any]] = []
    for seed in range(15):
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            loop.set_exception_handler(lambda _, complaint: complaints.append(complaint))
            if eager:
                loop.set_task_factory(getattr(asyncio, "eager_task_factory"))  # noqa: B009
            runner.run(storm(seed))
    gc.collect()

    assert complaints == []
