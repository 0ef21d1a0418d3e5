"""A thread that keeps the lease while a tool blocks the event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable

from remit.kernel.lease import LeaseTerms
from remit.store.protocol import Heart

_log = logging.getLogger("remit.host")
_LEASES = 10


class Pulse:
    """Watches that the loop renews its lease, and does so for it while it is stuck.

    A loop that is stuck for longer than ten leases, and for longer than anything that runs in it
    may take, is given up: its lease ends, and another process takes its runs. `beat` is called
    on the thread, and so is `longest`, which tells the longest timeout of what runs.
    """

    def __init__(
        self,
        heart: Heart,
        terms: LeaseTerms,
        beat: Callable[[Heart], None],
        longest: Callable[[], float],
    ) -> None:
        self._heart = heart
        self._beat = beat
        self._longest = longest
        self._every = terms.renew_every.total_seconds()
        self._patience = _LEASES * terms.lasts.total_seconds()
        self._felt = time.monotonic()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="remit-pulse", daemon=True)
        self._thread.start()

    def felt(self) -> None:
        """The loop is alive."""
        self._felt = time.monotonic()

    async def stop(self) -> None:
        """Watch no more, and wait a moment for a beat that is under way."""
        self._stopping.set()
        await asyncio.to_thread(self._thread.join, 1.0)

    def wanted(self, now: float) -> bool:
        """Whether the loop has been stuck, at `now`, for long enough and not for too long."""
        stuck = now - self._felt
        return self._every * 1.5 < stuck < max(self._patience, self._longest())

    def _watch(self) -> None:
        while not self._stopping.wait(self._every / 2):
            now = time.monotonic()
            if not self.wanted(now):
                continue
            stuck = now - self._felt
            _log.warning("the event loop has been stuck for %.1f s; a tool may block it", stuck)
            try:
                self._beat(self._heart)
            except Exception as error:
                _log.warning("the lease could not be renewed from a thread: %s", error)
        self._heart.close()
