"""Who drives what: claims, heartbeats, releases and the sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from remit.store.postgres.lane import Plan
from remit.store.postgres.statements import Queries, pack
from remit.store.postgres.wire import Rows
from remit.store.records import Claim, Held, Refusal


class Wish(NamedTuple):
    """What a worker would like to claim: up to `room` of `programs`, or just `run`."""

    worker: str
    programs: Sequence[str]
    format: int
    room: int
    run: str | None
    deploy: str


class Beat(NamedTuple):
    """What `Store.beat` is asked."""

    worker: str
    lasts: float
    join: bool


class Release(NamedTuple):
    """What `Store.release` is asked."""

    worker: str
    run: str
    token: int
    abandoned: bool
    refusal: Refusal | None


def due_for(sql: Queries, wish: Wish) -> Plan:
    """Whether the wish would get anything."""
    asked = {"programs": wish.programs, "format": wish.format, "deploy": wish.deploy}
    call = sql("due_runs", **asked) if wish.run is None else sql("due_run", **asked, run=wish.run)
    return Plan([call], _found)


def next_due(sql: Queries, programs: Sequence[str]) -> Plan:
    """`Store.next_due`."""
    return Plan([sql("next_due", programs=programs)], lambda rows: [rows[0][0][0]])


def claim(sql: Queries, wish: Wish) -> Plan:
    """`Store.claim`."""
    asked = {
        "worker": wish.worker,
        "programs": wish.programs,
        "format": wish.format,
        "deploy": wish.deploy,
    }
    if wish.run is None:
        call = sql("claim", **asked, room=wish.room)
    else:
        call = sql("claim_run", **asked, run=wish.run)
    return Plan([call], lambda rows: [[_claim(row) for row in rows[0]]])


def beat(sql: Queries, asked: Beat) -> Plan:
    """`Store.beat`."""
    lease = {"worker": asked.worker, "lasts": asked.lasts}
    calls = [sql("beat", **lease)]
    if asked.join:
        calls.insert(0, sql("join", **lease))

    def meaning(rows: Sequence[Rows]) -> list[list[Held] | None]:
        held = [Held(*row) for row in rows[-1] if row[0] is not None]
        return [held if rows[-1] else None]

    return Plan(calls, meaning)


def release(sql: Queries, asked: Release) -> Plan:
    """`Store.release`."""
    refusal = asked.refusal
    call = sql(
        "release",
        worker=asked.worker,
        run=asked.run,
        token=asked.token,
        abandoned=asked.abandoned,
        deploy=None if refusal is None else refusal.deploy,
        reason=None if refusal is None else pack(refusal.reason),
    )
    return Plan([call], _found)


def any_lapsed(sql: Queries, _: None) -> Plan:
    """Whether a sweep would find something."""
    return Plan([sql("any_lapsed")], _found)


def sweep(sql: Queries, limit: int) -> Plan:
    """`Store.sweep`."""
    calls = [
        sql("mark_lapsed"),
        sql("take_back", limit=max(limit, 0)),
        sql("forget_lapsed"),
        sql("unmark_lapsed"),
    ]
    return Plan(calls, lambda rows: [[run for (run,) in rows[1]]])


def _found(rows: Sequence[Rows]) -> list[bool]:
    return [bool(rows[0])]


def _claim(row: Sequence[Any]) -> Claim:
    run, program, token, seq, inbox, deaths, now, lost = row
    return Claim(
        run=run,
        program=program,
        token=token,
        seq=seq,
        inbox=inbox,
        deaths=deaths,
        now=now,
        since_lost=lost,
    )
