"""The SQLite store's lane carries out all that waits together, within its limits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from remit.store.sqlite.lane import Lane, Order, Outcome


async def batches(sizes: Sequence[int], *, orders: int, size: int) -> list[list[int]]:
    """The sizes of the orders that a lane carries out together, where all wait at once."""
    loop, begun, go_on = asyncio.get_running_loop(), threading.Event(), threading.Event()
    together: list[list[int]] = []

    def carry_out(group: Sequence[Order[Any]]) -> Sequence[Outcome]:
        begun.set()
        go_on.wait(10)
        together.append([order.size for order in group])
        return [(order, None, None) for order in group]

    lane = Lane("test-lane", carry_out, lambda outcomes: None, orders=orders, size=size)
    first = Order(_nothing, loop.create_future())
    lane.take([first])
    await asyncio.to_thread(begun.wait, 10)
    waiting = [Order(_nothing, loop.create_future(), each) for each in sizes]
    lane.take(waiting)
    go_on.set()
    await asyncio.wait_for(asyncio.gather(*(order.future for order in waiting)), 10)
    await lane.stop(_nothing)
    return together[1:]


def _nothing() -> None:
    """There is nothing to do."""


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1] * 10, [[1] * 4, [1] * 4, [1] * 2]),
        # The one that goes past the limit is the last.
        ([60, 60, 60, 60], [[60, 60], [60, 60]]),
        ([500, 1, 1], [[500], [1, 1]]),
        ([1, 500, 1], [[1, 500], [1]]),
    ],
)
async def test_a_batch_has_so_many_orders_and_bytes_at_most(
    sizes: list[int], expected: list[list[int]]
) -> None:
    assert await batches(sizes, orders=4, size=100) == expected
