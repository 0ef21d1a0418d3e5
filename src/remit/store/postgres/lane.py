"""Carries out what coroutines ask for on one connection, in the order they asked."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from remit.store.postgres.address import Address
from remit.store.postgres.faults import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    BrokenError,
    explained,
    may_come_back,
    passes,
)
from remit.store.postgres.statements import Call
from remit.store.postgres.wire import Rows, Unit, Wire

T = TypeVar("T")

_log = logging.getLogger("remit.store")
_LONGEST_ANSWER = 30.0
_ALONE = 4
_LEAVING = 2.0
"""How many seconds a lane that stops waits for a server that is away."""


class Plan(NamedTuple):
    """Calls that are one transaction, and what their rows mean for each who asked."""

    calls: Sequence[Call]
    meaning: Callable[[Sequence[Rows]], Sequence[Any]]


@dataclass(slots=True, eq=False)
class Order(Generic[T]):
    """What a caller waits for: `asked`, which `draw` makes a plan of, with others' if `shared`.

    `again` marks what may be carried out twice, for whoever does not know whether it was. `told`
    is called when a write is done, or may be. `size` is the bytes that it brings along.
    """

    draw: Callable[[Sequence[Any]], Plan]
    asked: Any
    future: asyncio.Future[T]
    deadline: float
    again: bool = False
    shared: bool = False
    size: int = 0
    told: Callable[[], None] | None = None
    tries: int = 0
    alone: bool = False
    error: Exception | None = None

    def fail(self, error: Exception) -> None:
        """Note what went wrong. Of a write that may have been done, no later error tells more."""
        self.tries += 1
        if self.told is None or not isinstance(self.error, BrokenError):
            self.error = error
        # A broken connection is not this order's own fault; anything else may be.
        self.alone = self.alone or not isinstance(error, BrokenError)


class Lane:
    """Takes orders until it is stopped. All that wait are sent together, up to the limits; an
    order that fails harms no neighbour.

    The connection is opened when it is first needed, and again when it broke. `lost` is called
    when it broke, `rung` with the session of each notification.
    """

    def __init__(
        self,
        address: Address,
        *,
        orders: int = 128,
        size: int = 1_000_000,
        rung: Callable[[int], None] | None = None,
        lost: Callable[[], None] | None = None,
    ) -> None:
        self._address = address
        self._orders, self._size = orders, size
        self._rung, self._lost = rung, lost
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Order[Any]] = deque()
        self._flying = self._resting = 0
        self._due = False
        self._wire: Wire | None = None
        self._opening: asyncio.Task[None] | None = None
        self._stopping: asyncio.Future[None] | None = None
        self._last_hope = math.inf

    @property
    def session(self) -> int | None:
        """The server's process id for the connection, if it is open."""
        return None if self._wire is None else self._wire.session

    def take(self, order: Order[Any]) -> None:
        self._waiting.append(order)
        self._go_soon()

    async def stop(self) -> None:
        """Carry out what waits, and take nothing more. Where the server is away, what waits for it
        fails soon."""
        if self._waiting or self._flying or self._resting:
            self._stopping = self._loop.create_future()
            self._last_hope = self._loop.time() + _LEAVING
            hopeless = self._loop.call_at(self._last_hope, self._give_up)
            await self._stopping
            hopeless.cancel()
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.wait([self._opening])
        if self._wire is not None:
            self._wire.broken = lambda _: None
            self._wire.close()
            self._wire = None

    def _use(self, wire: Wire) -> None:
        self._wire = wire
        wire.broken = self._broke

    def _broke(self, why: str) -> None:
        self._wire = None
        _log.warning("a connection to the database %s broke: %s", self._address.place, why)
        if self._lost is not None:
            self._lost()

    def _go_soon(self) -> None:
        """Once for all who ask before the loop comes round: they then share a transaction."""
        if not self._due and not self._flying:
            self._due = True
            self._loop.call_soon(self._go)

    def _go(self) -> None:
        self._due = False
        if self._flying:
            return
        if not self._waiting:
            self._stop_if_idle()
        elif self._wire is None:
            self._reopen()
        else:
            units = [unit for group in self._groups() if (unit := self._unit(group))]
            self._flying = len(units)
            if units:
                self._wire.send(units, _LONGEST_ANSWER)
            else:
                self._go_soon()

    def _groups(self) -> list[list[Order[Any]]]:
        """All that wait, within the limits; what shares a transaction stands together.

        What failed before may have to wait for a lock again: few of that go with the others.
        """
        groups: list[list[Order[Any]]] = []
        shared: dict[Any, list[Order[Any]]] = {}
        now = self._loop.time()
        count = size = alone = 0
        while self._waiting and count < self._orders and size <= self._size and alone < _ALONE:
            order = self._waiting.popleft()
            if order.error is not None and now >= order.deadline:
                self._settle(order, None, order.error)
                continue
            count += 1
            size += order.size
            alone += order.alone
            if order.alone or not order.shared:
                groups.append([order])
            elif order.draw in shared:
                shared[order.draw].append(order)
            else:
                groups.append([order])
                shared[order.draw] = groups[-1]
        return groups

    def _unit(self, group: Sequence[Order[Any]]) -> Unit | None:
        """The group as a transaction; None if it cannot be written down, which was told."""
        try:
            plan = group[0].draw([order.asked for order in group])
        except Exception as error:
            self._failed(group, error)
            return None

        def done(answers: Sequence[Rows] | Exception) -> None:
            self._flying -= 1
            try:
                if isinstance(answers, Exception):
                    self._failed(group, answers)
                else:
                    for order, value in zip(group, plan.meaning(answers), strict=True):
                        self._settle(order, value)
            except Exception as error:
                for order in group:
                    self._settle(order, None, error)
            self._go_soon()

        return Unit(plan.calls, done)

    def _failed(self, group: Sequence[Order[Any]], error: Exception) -> None:
        """Ask again where that is known to be harmless, each alone; else tell the callers."""
        now = self._loop.time()
        for order in group:
            order.fail(error)
            if isinstance(error, BrokenError):
                again = order.again and now < order.deadline
            elif passes(error):
                again = now < order.deadline
            else:
                again = len(group) > 1
            if not again:
                self._settle(order, None, order.error)
            elif len(group) > 1:
                self._waiting.append(order)
            else:
                self._resting += 1
                self._loop.call_later(_pause(order.tries), self._rested, order)

    def _rested(self, order: Order[Any]) -> None:
        self._resting -= 1
        self.take(order)

    def _settle(self, order: Order[Any], value: Any, error: Exception | None = None) -> None:
        if order.told is not None and (error is None or isinstance(error, BrokenError)):
            order.told()
        if order.future.done():
            return
        if error is None:
            order.future.set_result(value)
        else:
            order.future.set_exception(explained(error, self._address.place))

    def _reopen(self) -> None:
        if self._opening is None:
            # A lane outlives the task that opened the store, so no group can be its parent:
            # `stop` ends it, and waits for it.
            self._opening = self._loop.create_task(self._open_for_those_who_wait())
            self._opening.add_done_callback(self._opened)

    def _opened(self, task: asyncio.Task[None]) -> None:
        self._opening = None
        if not task.cancelled():
            task.result()
        self._go_soon()

    async def _open_for_those_who_wait(self) -> None:
        """Try until the server is there, nobody waits any more, or it is no use."""
        tries = 0
        while self._waiting and self._wire is None:
            tries += 1
            try:
                self._use(await Wire.connect(self._address, self._rung))
            except Exception as error:
                self._refuse(error, may_come_back(error))
                if self._waiting:
                    await asyncio.sleep(_pause(tries))

    def _give_up(self) -> None:
        """Who waits for a connection that is still being made waits no more."""
        if self._wire is None and self._waiting:
            self._refuse(TimeoutError(), False)
            self._go_soon()

    def _refuse(self, error: Exception, may_come_back: bool) -> None:
        """Tell those who have waited long enough, or all, that there is no server."""
        now = self._loop.time()
        may_come_back = may_come_back and now < self._last_hope
        waiting, self._waiting = self._waiting, deque()
        for order in waiting:
            if may_come_back and now < order.deadline:
                self._waiting.append(order)
            else:
                order.fail(error)
                self._settle(order, None, order.error)

    def _stop_if_idle(self) -> None:
        if self._stopping is not None and not self._resting:
            with suppress(asyncio.InvalidStateError):
                self._stopping.set_result(None)


def _pause(tries: int) -> float:
    """Uneven, so that those who failed together do not meet again."""
    return random.uniform(0.5, 1.0) * min(FIRST_PAUSE * 2.0**tries, LONGEST_PAUSE)
