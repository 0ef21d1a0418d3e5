"""Threads for sync tools: as many as are needed, used again, and never waited for at exit."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from itertools import count

Work = Callable[[], None]
Box = queue.SimpleQueue[Work | None]


class Threads:
    """Daemon threads. There is no most, so that no number of stuck tools can stop the others.

    The interpreter's exit and the loop's end do not wait for them. One that has had no work for
    `idle` seconds ends.
    """

    def __init__(self, idle: float = 10.0) -> None:
        self._idle = idle
        self._free: list[Box] = []
        self._lock = threading.Lock()
        self._number = count(1)
        self._kept: list[object] | None = None

    def run(self, work: Work) -> None:
        """Have `work`, which must not raise, done on a thread.

        Raises RuntimeError where the system has no thread left.
        """
        with self._lock:
            box = self._free.pop() if self._free else None
        if box is not None:
            box.put(work)
            return
        name = f"remit-tool-{next(self._number)}"
        threading.Thread(target=self._live, args=(work,), name=name, daemon=True).start()

    def keep(self, thing: object) -> None:
        """Never let `thing` be collected, not even when the interpreter ends.

        A thread that waits for ever holds it, since only what such a thread holds is left alone.
        """
        with self._lock:
            if self._kept is None:
                self._kept = []
                name, kept = "remit-tool-kept", self._kept
                thread = threading.Thread(target=_hold, args=(kept,), name=name, daemon=True)
                with contextlib.suppress(RuntimeError):  # no thread is left
                    thread.start()
            self._kept.append(thing)

    def close(self) -> None:
        """Let the threads without work end; those at work end after it."""
        with self._lock:
            self._idle = 0.0
            free, self._free = self._free, []
        for box in free:
            box.put(None)

    def _next(self, box: Box) -> Work | None:
        """The next work for a thread that has none; None when it should end."""
        with self._lock:
            if not self._idle:
                return None
            self._free.append(box)
        try:
            return box.get(timeout=self._idle)
        except queue.Empty:
            pass
        with self._lock:
            if box in self._free:
                self._free.remove(box)
                return None
        # It was taken at the very moment when its wait ended, so there is something in it.
        return box.get()

    def _live(self, work: Work | None) -> None:
        box: Box = queue.SimpleQueue()
        while work is not None:
            work()
            work = None  # what it holds is not kept alive while there is nothing to do
            work = self._next(box)


def _hold(things: list[object]) -> None:
    threading.Event().wait()
