"""Tells other processes that something was stored, and hears it from them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from remit.store.bells import Bells
from remit.store.postgres.address import Address
from remit.store.postgres.lane import Lane, Order, Plan
from remit.store.postgres.statements import Call, Queries, statement

_log = logging.getLogger("remit.store")

# A notification takes a lock that all databases of the server share: one of many is soon enough.
_SOON, _LATER = 0.015, 0.25
_PATIENCE = 2.0
_TRY_AGAIN = 1.0


class News:
    """One connection that listens and tells, never in the transaction that is told of.

    What gets lost is found by whoever sweeps.
    """

    def __init__(self, address: Address, sql: Queries, bells: Bells) -> None:
        self._bells = bells
        self._loop = asyncio.get_running_loop()
        self._lane = Lane(address, rung=self._heard, lost=self._deaf)
        self._tell = sql("tell")
        self._listen = Call(statement("listen", f'LISTEN "{address.schema}"'), [])
        self._telling: asyncio.TimerHandle | None = None
        self._listening = self._stopping = False

    def listen(self) -> None:
        """Ring the bells from now on when others tell something, and once when that begins."""
        if not self._listening and not self._stopping:
            self._listening = True
            self._order(self._listen, self._listened)

    def changed(self) -> None:
        """Something was stored that a worker or a reader may wait for."""
        self._bells.ring()
        self._tell_within(_SOON)

    def grew(self) -> None:
        """A run that goes on has more entries: only readers elsewhere wait for that."""
        self._tell_within(_LATER)

    async def stop(self) -> None:
        """Tell what is left to tell, and let go of the connection."""
        self._stopping = True
        if self._telling is not None:
            self._telling.cancel()
            self._tell_now()
        await self._lane.stop()

    def _tell_within(self, seconds: float) -> None:
        due = self._loop.time() + seconds
        if self._telling is not None:
            if self._telling.when() <= due:
                return
            self._telling.cancel()
        self._telling = self._loop.call_at(due, self._tell_now)

    def _tell_now(self) -> None:
        self._telling = None
        self._order(self._tell, self._told)

    def _order(self, call: Call, done: Callable[[asyncio.Future[None]], None]) -> None:
        future: asyncio.Future[None] = self._loop.create_future()
        future.add_done_callback(done)
        deadline = self._loop.time() + _PATIENCE
        plan = Plan([call], lambda _: [None])
        self._lane.take(Order(lambda _: plan, None, future, deadline, again=True))

    def _told(self, future: asyncio.Future[None]) -> None:
        if (error := future.exception()) is not None:
            _log.debug("others were not told of news: %s", error)

    def _listened(self, future: asyncio.Future[None]) -> None:
        if (error := future.exception()) is None:
            self._bells.ring()
            return
        _log.warning("listening for news failed, trying again: %s", error)
        self._listening = False
        self._loop.call_later(_TRY_AGAIN, self._listen_if_anybody_waits)

    def _heard(self, session: int) -> None:
        if session != self._lane.session:
            self._bells.ring()

    def _deaf(self) -> None:
        """The connection broke, and what it listened to with it."""
        self._listening = False
        self._listen_if_anybody_waits()

    def _listen_if_anybody_waits(self) -> None:
        if self._bells:
            self.listen()
