"""Handing on what work tells of itself while it still goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def telling(
    settle: Callable[[], Awaitable[None]],
    news: asyncio.Event,
    work: Callable[[], Awaitable[T]],
) -> T:
    """What `work` gives. Whenever `news` is set meanwhile `settle` hands it on, and what that
    raises ends the work."""
    over = False

    async def tell() -> None:
        while not over:
            await news.wait()
            news.clear()
            await settle()

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(tell())
            value = await work()
            over = True
            news.set()
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    return value
