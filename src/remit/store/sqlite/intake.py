"""Where writes come in: one that comes alone is committed at once, others go to the thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from remit.store.sqlite.lane import Lane, Order, Outcome, settle
from remit.store.sqlite.writer import Writer

_BYTES_ON_LOOP = 64_000


class Intake:
    """Collects the orders of one round of the event loop and hands them on together.

    Handing one to the thread and being woken by it costs more than a quick commit, so an order
    that comes alone, to a disk that is quick, is carried out on the loop. Every order waits for
    the loop's next round: who writes always lets the loop's other tasks have their turn.
    """

    def __init__(
        self, lane: Lane, writer: Writer, told: Callable[[Sequence[Outcome]], None]
    ) -> None:
        self._lane, self._writer, self._told = lane, writer, told
        self._loop = asyncio.get_running_loop()
        self._orders: list[Order[Any]] = []

    def take(self, order: Order[Any]) -> None:
        if order.future.get_loop() is not self._loop:
            self._lane.take([order])
            return
        if not self._orders:
            self._loop.call_soon(self._hand_on)
        self._orders.append(order)

    def hand_over(self) -> None:
        """Give what has come to the thread."""
        orders, self._orders = self._orders, []
        if orders:
            self._lane.take(orders)

    def _hand_on(self) -> None:
        orders, self._orders = self._orders, []
        if not orders:
            return
        if len(orders) > 1 or self._lane.waits:
            self._writer.pace.crowded()
        elif self._writer.pace.allows and orders[0].size < _BYTES_ON_LOOP:
            outcome = self._writer.carry_out_now(orders[0])
            if outcome is not None:
                settle([outcome], self._told)
                return
        self._lane.take(orders)
