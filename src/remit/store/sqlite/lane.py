"""A thread of its own that carries out what coroutines ask for, in the order they asked."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Order(Generic[T]):
    """Work that a caller waits for. `size` is the bytes it brings along, `news` whether others
    may want to know that it is done, `alone` whether it is to share its commit with no other."""

    work: Callable[..., T]
    future: asyncio.Future[T]
    size: int = 0
    news: bool = False
    alone: bool = False


Outcome = tuple[Order[Any], Any, Exception | None]
"""An order, and what came of it: a value, or an error."""


class Lane:
    """Takes orders until it is stopped; `carry_out` gets all that wait, within the limits."""

    def __init__(
        self,
        name: str,
        carry_out: Callable[[Sequence[Order[Any]]], Sequence[Outcome]],
        told: Callable[[Sequence[Outcome]], None],
        *,
        orders: int = 1,
        size: int = 0,
    ) -> None:
        self._carry_out = carry_out
        self._told = told
        self._orders = orders
        self._size = size
        self._waiting: queue.SimpleQueue[Order[Any] | None] = queue.SimpleQueue()
        self._stopped = False
        self._last: Order[None] | None = None
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def take(self, order: Order[Any]) -> None:
        self._waiting.put(order)

    async def stop(self, last: Callable[[], None]) -> None:
        """Carry out what waits, then `last`, and take nothing more."""
        self._last = Order(last, asyncio.get_running_loop().create_future())
        self._waiting.put(None)
        await self._last.future

    def _work(self) -> None:
        while self._last is None or not self._stopped:
            orders = self._next()
            if orders:
                _tell(self._outcomes(orders), self._told)
        _tell([_outcome(self._last)], self._told)

    def _next(self) -> list[Order[Any]]:
        """All orders that wait, at least one, unless the lane is to stop."""
        orders: list[Order[Any]] = []
        size = 0
        with suppress(queue.Empty):
            while len(orders) < self._orders and size <= self._size:
                order = self._waiting.get(block=not orders)
                if order is None:
                    self._stopped = True
                    break
                orders.append(order)
                size += order.size
        return orders

    def _outcomes(self, orders: Sequence[Order[Any]]) -> Sequence[Outcome]:
        try:
            return self._carry_out(orders)
        except Exception as error:
            return [(order, None, error) for order in orders]


def _outcome(order: Order[Any]) -> Outcome:
    try:
        return order, order.work(), None
    except Exception as error:
        return order, None, error


def _tell(outcomes: Sequence[Outcome], told: Callable[[Sequence[Outcome]], None]) -> None:
    """Hand the outcomes to the callers' loops, each of which is woken once."""
    by_loop: defaultdict[asyncio.AbstractEventLoop, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_loop[outcome[0].future.get_loop()].append(outcome)
    for loop, theirs in by_loop.items():
        # A loop that is closed has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, theirs, told)


def _settle(outcomes: Sequence[Outcome], told: Callable[[Sequence[Outcome]], None]) -> None:
    for order, value, error in outcomes:
        if order.future.done():
            continue
        if error is None:
            order.future.set_result(value)
        else:
            order.future.set_exception(error)
    told(outcomes)
