"""The writes of those who do not hold the run: answers and cancels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from remit.store.postgres.lane import Plan
from remit.store.postgres.statements import Queries, pack, unpack
from remit.store.postgres.wire import Rows
from remit.store.records import (
    CANCEL,
    Delivered,
    Over,
    Signalled,
    Stopped,
    Undelivered,
)


class Delivery(NamedTuple):
    """What `Store.deliver` is asked."""

    run: str
    answers: Mapping[str, bytes]
    id: str


class Stop(NamedTuple):
    """What `Store.cancel` is asked."""

    run: str
    body: bytes
    format: int
    signal: bytes


def deliver(sql: Queries, asked: Delivery) -> Plan:
    """`Store.deliver`."""
    run, answers, id = asked
    packed = {pack(key): answer for key, answer in answers.items()}
    calls = [
        sql("lock_run", runs=[run]),
        sql("delivered", run=run, id=id),
        sql("run_signals", run=run),
        sql(
            "answer",
            run=run,
            id=id,
            count=len(packed),
            keys=list(packed),
            answers=list(packed.values()),
        ),
    ]

    def meaning(locked: Rows, before: Rows, signals: Rows, left: Rows) -> object:
        if not locked:
            return None
        ((_, status, needs),) = locked
        if before:
            return Delivered(needs)
        if left:
            return Delivered(left[0][0])
        if status != "paused":
            return Undelivered(status)
        return _refused(signals, packed)

    return Plan(calls, lambda rows: [meaning(*rows)])


def cancel(sql: Queries, asked: Stop) -> Plan:
    """`Store.cancel`."""
    run, body, format, signal = asked
    calls = [
        sql("lock_thread", runs=[run]),
        sql("lock_run", runs=[run]),
        sql("cancel", run=run, body=body, format=format),
        sql("signal", run=run, key=pack(CANCEL), answer=signal),
    ]

    def meaning(_: Rows, locked: Rows, stopped: Rows, sent: Rows) -> object:
        if stopped:
            return Stopped(stopped[0][0])
        if not locked:
            return Over(None)
        ((_, status, _),) = locked
        return Signalled() if status == "running" else Over(status)

    return Plan(calls, lambda rows: [meaning(*rows)])


def _refused(signals: Rows, answers: Mapping[bytes, bytes]) -> Undelivered:
    """Why the run could not take all of `answers`."""
    asked = {key for key, _, _ in signals}
    answered = {
        unpack(key): answer for key, n, answer in signals if n is not None and key in answers
    }
    unknown = tuple(unpack(key) for key in answers if key not in asked)
    return Undelivered("paused", answered, unknown)
