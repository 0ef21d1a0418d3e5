"""What anybody may ask of runs, from any process: make, read, answer and cancel them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from remit.host.bus.memory import Hint
from remit.host.executor import cancelled, finished
from remit.host.place import Place
from remit.kernel.facts import Asked, format_of
from remit.kernel.interrupt import Answer
from remit.store.records import Busy, Delivered, NewRun, Over, Stopped, Undelivered
from remit.values import codec, ids
from remit.values.errors import (
    AlreadyDecidedError,
    NotPausedError,
    RunNotFoundError,
    StoreError,
    ThreadBusyError,
)
from remit.values.identity import Caller
from remit.values.results import Status

T = TypeVar("T")
_log = logging.getLogger("remit.host")
_PAUSES = (0.05, 0.2, 0.8)


class Client:
    """Asks the store, and rings the worker of this process. It drives nothing itself."""

    def __init__(
        self, place: Place, ring: Callable[[], None], notice: Callable[[str], None]
    ) -> None:
        self._store, self._bus, self._clock = place.store, place.bus, place.clock
        self._ring, self._notice = ring, notice

    async def submit(self, program: str, asked: Asked, thread: str | None) -> str:
        """Make a run and ring for it. Raises ThreadBusyError while another is live on `thread`."""
        run = ids.new("run")
        new = NewRun(
            id=run,
            program=program,
            body=codec.encode(asked),
            format=format_of(asked),
            tenant=asked.tenant,
            user=asked.user,
            thread=thread,
        )
        made = await _surely(lambda: self._store.create(new))
        if isinstance(made, Busy):
            raise ThreadBusyError(thread=asked.thread or "", run=made.run)
        self._ring()
        return run

    async def answer(self, run: str, answers: Mapping[str, Answer]) -> int:
        """Answer questions of a paused run: all or none, each once. How many are left.

        Raises AlreadyDecidedError, NotPausedError or RunNotFoundError; then nothing was stored.
        """
        bodies = {key: codec.encode(answer) for key, answer in answers.items()}
        delivery = ids.new("answer")
        outcome = await _surely(lambda: self._store.deliver(run, bodies, delivery))
        match outcome:
            case None:
                raise RunNotFoundError(run=run)
            case Delivered(left):
                self._changed(run)
                return left
            case Undelivered(status, answered, unknown):
                for key, body in answered.items():
                    raise already_decided(run, key, codec.decode(body, Answer).by)
                detail = f" under {', '.join(unknown)}" if unknown else ""
                raise NotPausedError(run=run, status=status, detail=detail)

    async def cancel(self, run: str, reason: str | None, by: Caller | None) -> Status:
        """Ask for the run's end; its status as far as it is known now.

        A waiting run has ended when this returns; a running one ends `cancelled` soon after.
        """
        answer = Answer(value=reason, by=by, at=round(self._clock.wall() * 1000))
        last = finished(cancelled(answer), answer.at)
        body, signal = codec.encode(last), codec.encode(answer)
        outcome = await _surely(lambda: self._store.cancel(run, body, format_of(last), signal))
        match outcome:
            case Over(None):
                raise RunNotFoundError(run=run)
            case Over(status):
                assert status is not None
                return status
            case Stopped():
                self._changed(run)
                return "cancelled"
            case _:
                self._notice(run)
                return "running"

    def _changed(self, run: str) -> None:
        self._bus.publish(run, Hint())
        self._ring()


async def _surely(write: Callable[[], Awaitable[T]]) -> T:
    """What `write` comes to. Where the store fails its outcome is unknown, so it is made again,
    under the id that it has: what was done already is then found done. Raises StoreError after
    a few tries."""
    for pause in _PAUSES:
        try:
            return await write()
        except StoreError as error:
            _log.warning("a write failed, trying again: %s", error)
            await asyncio.sleep(pause)
    return await write()


def already_decided(run: str, call: str, by: Caller | None) -> AlreadyDecidedError:
    """The error for the second decision on a call."""
    who = (by.user if by else None) or "somebody"
    return AlreadyDecidedError(run=run, call=call, by=who, caller=by)
