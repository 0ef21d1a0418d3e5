"""What anybody may ask of runs, from any process: make, read, answer and cancel them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import msgspec

from remit.host.bus.memory import Hint
from remit.host.executor import cancelled
from remit.host.place import Place
from remit.host.worker import Worker
from remit.kernel.facts import Asked, format_of
from remit.kernel.interrupt import Answer, read_answer
from remit.kernel.program import finished
from remit.store.records import (
    Base,
    Busy,
    Delivered,
    Existing,
    NewRun,
    Over,
    StartKey,
    Stopped,
    Undelivered,
)
from remit.values import codec, ids
from remit.values.errors import (
    AlreadyDecidedError,
    NotPausedError,
    RunEndedError,
    RunNotFoundError,
    StartKeyError,
    StoreError,
    ThreadBusyError,
)
from remit.values.identity import Caller
from remit.values.results import Status

T = TypeVar("T")
_log = logging.getLogger("remit.host")
_PAUSES = (0.05, 0.2, 0.8)
_PATIENT = 5.0
"""How many seconds of tries are enough: a store that takes longer has tried again itself."""


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is to be made. `thread` is the whole key of a thread, `due` a wall time in
    microseconds, `format` the oldest whose readers know what is asked."""

    program: str
    asked: Asked
    thread: str | None = None
    key: StartKey | None = None
    due: int | None = None
    enqueue: int | None = None
    base: Base | None = None
    format: int = 1


class Client:
    """Asks the store, and rings the worker of this process. It drives nothing itself."""

    def __init__(self, place: Place, worker: Worker) -> None:
        self._store, self._bus, self._clock = place.store, place.bus, place.clock
        self._worker = worker

    async def submit(self, start: Start) -> str:
        """Make a run and ring for it; its id, or that of the run that its key made before.

        Raises ThreadBusyError where it may not wait for its thread, and StartKeyError where the
        key was used for something else.
        """
        asked, run = start.asked, ids.new("run")
        new = NewRun(
            id=run,
            program=start.program,
            body=codec.encode(asked),
            format=max(start.format, format_of(asked)),
            tenant=asked.tenant,
            user=asked.user,
            thread=start.thread,
            key=start.key,
            due=start.due,
            enqueue=start.enqueue,
            base=start.base,
        )
        made = await self._surely(lambda: self._store.create(new))
        match made:
            case Busy(live, waiting):
                raise ThreadBusyError(thread=asked.thread or "", run=live, waiting=waiting)
            case Existing(found, other):
                if other:
                    assert start.key is not None
                    raise StartKeyError(key=start.key.key.split("/", 3)[3], run=found)
                return found
            case _:
                if start.due is not None:
                    self._worker.expect()
                self._worker.ring()
                return run

    async def send(self, run: str, message: Answer, id: str) -> None:
        """Leave a message for a run, once for each `id`. Raises RunNotFoundError, and
        RunEndedError where nobody will read it any more."""
        body = codec.encode(message)
        outcome = await self._surely(lambda: self._store.send(run, body, id))
        match outcome:
            case Over(None):
                raise RunNotFoundError(run=run)
            case Over(status):
                raise RunEndedError(run=run, status=status or "")
            case _:
                self._worker.notice(run)
                self._worker.ring()

    async def answer(self, run: str, answers: Mapping[str, Answer]) -> int:
        """Answer questions of a paused run: all or none, each once. How many are left.

        Raises AlreadyDecidedError, NotPausedError or RunNotFoundError; then nothing was stored.
        """
        bodies = {key: codec.encode(answer) for key, answer in answers.items()}
        delivery = ids.new("answer")
        outcome = await self._surely(lambda: self._store.deliver(run, bodies, delivery))
        match outcome:
            case None:
                raise RunNotFoundError(run=run)
            case Delivered(left):
                self._changed(run)
                return left
            case Undelivered(status, answered, unknown):
                for key, body in answered.items():
                    raise already_decided(run, key, read_answer(body).by)
                detail = f" under {', '.join(unknown)}" if unknown else ""
                raise NotPausedError(run=run, status=status, detail=detail)

    async def cancel(self, run: str, reason: str | None, by: Caller | None) -> Status:
        """Ask for the run's end; its status as far as it is known now.

        A waiting run has ended when this returns; a running one ends `cancelled` soon after.
        """
        answer = Answer(value=reason, by=by, at=round(self._clock.wall() * 1000))
        last = finished(cancelled(answer), answer.at)
        body, signal = codec.encode(last), codec.encode(answer)
        outcome = await self._surely(lambda: self._store.cancel(run, body, format_of(last), signal))
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
                self._worker.notice(run)
                return "running"

    async def _surely(self, write: Callable[[], Awaitable[T]]) -> T:
        """What `write` comes to. Where the store fails its outcome is unknown, so it is made again,
        under the id that it has: what was done already is then found done. Raises StoreError after
        a few tries, and where the store was patient itself after the first."""
        asked = self._clock.steady()
        for pause in _PAUSES:
            try:
                return await write()
            except StoreError as error:
                if self._clock.steady() - asked >= _PATIENT:
                    raise
                _log.warning("a write failed, trying again: %s", error)
                await self._clock.sleep(pause)
        return await write()

    def _changed(self, run: str) -> None:
        self._bus.publish(run, Hint())
        self._worker.ring()


def already_decided(run: str, call: str, by: Caller | None) -> AlreadyDecidedError:
    """The error for the second decision on a call."""
    who = (by.user if by else None) or "somebody"
    return AlreadyDecidedError(run=run, call=call, by=who, caller=by)
