"""A thread of its own that carries out what coroutines ask for, in the order they asked."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from remit.store.records import Append

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Order(Generic[T]):
    """Work that a caller waits for. `size` is the bytes it brings along, `news` whether others
    may want to know that it is done, `alone` whether it is to share its commit with no other;
    `item` is all that the work does, if that is to append to a run that goes on."""

    work: Callable[..., T]
    future: asyncio.Future[T]
    size: int = 0
    news: bool = False
    alone: bool = False
    item: Append | None = None


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
        self._waiting: queue.SimpleQueue[Sequence[Order[Any]] | None] = queue.SimpleQueue()
        self._left: deque[Order[Any]] = deque()
        self._stopped = False
        self._last: Order[None] | None = None
        threading.Thread(target=self._work, name=name, daemon=True).start()

    @property
    def waits(self) -> bool:
        """Whether there is something that the thread has not begun."""
        return bool(self._left) or not self._waiting.empty()

    def take(self, orders: Sequence[Order[Any]]) -> None:
        """Have `orders` carried out; the thread is woken once for all of them."""
        self._waiting.put(orders)

    async def stop(self, last: Callable[[], None]) -> None:
        """Carry out what waits, then `last`, and take nothing more."""
        self._last = Order(last, asyncio.get_running_loop().create_future())
        self._waiting.put(None)
        await self._last.future

    def _work(self) -> None:
        while orders := self._next():
            _tell(self._outcomes(orders), self._told)
        assert self._last is not None
        _tell([_outcome(self._last)], self._told)

    def _next(self) -> list[Order[Any]]:
        """All orders that wait, at least one, unless the lane is to stop."""
        self._fetch(block=not self._left and not self._stopped)
        orders: list[Order[Any]] = []
        size = 0
        while self._left and len(orders) < self._orders and size <= self._size:
            orders.append(self._left.popleft())
            size += orders[-1].size
        return orders

    def _fetch(self, block: bool) -> None:
        """Take in all that was given; with `block` wait for something."""
        with suppress(queue.Empty):
            while not self._stopped:
                given = self._waiting.get(block=block)
                block = False
                if given is None:
                    self._stopped = True
                else:
                    self._left.extend(given)

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
            loop.call_soon_threadsafe(settle, theirs, told)


def settle(outcomes: Sequence[Outcome], told: Callable[[Sequence[Outcome]], None]) -> None:
    """Give each caller its value or its error; on the callers' loop."""
    for order, value, error in outcomes:
        if order.future.done():
            continue
        if error is None:
            order.future.set_result(value)
        else:
            order.future.set_exception(error)
    told(outcomes)
