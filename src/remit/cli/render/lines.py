"""Lines of standard input and Ctrl-C, for a command that talks."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_STDIN = 0
_AT_ONCE = 65_536


class Interrupted(Exception):
    """Somebody pressed Ctrl-C while nothing was going on."""


class Lines:
    """Reads lines, and hands Ctrl-C to whatever goes on.

    Reading takes a thread that may be left behind: a read of a terminal cannot be called off.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._ended = False
        self._reading: asyncio.Future[bytes] | None = None
        self._busy: asyncio.Event | None = None

    async def next(self) -> str | None:
        """The next line that says something, None at the end. Raises Interrupted on Ctrl-C."""
        while True:
            line, found, rest = self._rest.partition(b"\n")
            if found:
                self._rest = rest
            elif not self._ended:
                await self._read_more()
                continue
            else:
                self._rest = b""
            text = line.decode("utf-8", "replace").strip()
            if text:
                return text
            if not found:
                return None

    @contextmanager
    def busy(self) -> Iterator[asyncio.Event]:
        """While the block lasts, Ctrl-C sets the event that it is given."""
        self._busy = asyncio.Event()
        try:
            yield self._busy
        finally:
            self._busy = None

    @contextmanager
    def taking_interrupts(self) -> Iterator[None]:
        """Ctrl-C comes here while the block lasts, on the main thread: no other takes signals."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def _interrupt(self) -> None:
        if self._busy is not None:
            self._busy.set()
        elif self._reading is not None and not self._reading.done():
            self._reading.set_exception(Interrupted())

    async def _read_more(self) -> None:
        loop = asyncio.get_running_loop()
        reading: asyncio.Future[bytes] = loop.create_future()
        self._reading = reading

        def deliver(data: bytes) -> None:
            if not reading.done():
                reading.set_result(data)

        def read() -> None:
            data = os.read(_STDIN, _AT_ONCE)
            with suppress(RuntimeError):  # the loop may be closed by then
                loop.call_soon_threadsafe(deliver, data)

        threading.Thread(target=read, daemon=True).start()
        data = await reading
        self._ended = not data
        self._rest += data
