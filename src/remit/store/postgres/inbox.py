"""The writes of those who do not hold the run: answers, messages and cancels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from remit.store.delivery import undelivered
from remit.store.postgres.lane import Plan
from remit.store.postgres.statements import Queries, pack, unpack
from remit.store.postgres.wire import Rows
from remit.store.records import (
    CANCEL,
    MESSAGE,
    Delivered,
    Over,
    Sent,
    Signalled,
    Stopped,
    Undelivered,
)
from remit.values.results import ENDED


class Delivery(NamedTuple):
    """What `Store.deliver` is asked."""

    run: str
    answers: Mapping[str, bytes]
    id: str


class Message(NamedTuple):
    """What `Store.send` is asked."""

    run: str
    body: bytes
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
        if status in ENDED:
            return Undelivered(status)
        return undelivered(status, {unpack(key): answer for key, _, answer in signals}, answers)

    return Plan(calls, lambda rows: [meaning(*rows)])


def send(sql: Queries, asked: Message) -> Plan:
    """`Store.send`."""
    run, body, id = asked
    calls = [
        sql("lock_run", runs=[run]),
        sql("send", run=run, key=pack(MESSAGE + id), answer=body),
    ]

    def meaning(locked: Rows, _: Rows) -> object:
        status = locked[0][1] if locked else None
        return Over(status) if status is None or status in ENDED else Sent()

    return Plan(calls, lambda rows: [meaning(*rows)])


def cancel(sql: Queries, asked: Stop) -> Plan:
    """`Store.cancel`."""
    run, body, format, signal = asked
    calls = [
        sql("lock_thread", runs=[run]),
        sql("lock_end", runs=[run]),
        sql("cancel", run=run, body=body, format=format),
        sql("hand_on", runs=[run]),
        sql("close_holds", runs=[run]),
        sql("signal", run=run, key=pack(CANCEL), answer=signal),
    ]

    def meaning(locked: Rows, stopped: Rows) -> object:
        if stopped:
            return Stopped(stopped[0][0])
        status = next((status for id, status, _ in locked if id == run), None)
        return Signalled() if status == "running" else Over(status)

    return Plan(calls, lambda rows: [meaning(rows[1], rows[2])])
