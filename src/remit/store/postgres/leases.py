"""Who drives what: claims, heartbeats, releases and the sweep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from remit.store.postgres.lane import Plan
from remit.store.postgres.statements import Queries
from remit.store.postgres.wire import Rows
from remit.store.records import Claim, Held


class Wish(NamedTuple):
    """What a worker would like to claim: up to `room` of `programs`, or just `run`."""

    worker: str
    programs: Sequence[str]
    format: int
    room: int
    run: str | None


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


def due_for(sql: Queries, wish: Wish) -> Plan:
    """Whether the wish would get anything."""
    if wish.run is None:
        call = sql("due_runs", programs=wish.programs, format=wish.format)
    else:
        call = sql("due_run", run=wish.run, programs=wish.programs, format=wish.format)
    return Plan([call], _found)


def claim(sql: Queries, wish: Wish) -> Plan:
    """`Store.claim`."""
    asked = {"worker": wish.worker, "programs": wish.programs, "format": wish.format}
    if wish.run is None:
        call = sql("claim", **asked, room=wish.room)
    else:
        call = sql("claim_run", **asked, run=wish.run)
    return Plan([call], lambda rows: [[_claim(row) for row in rows[0]]])


def beat(sql: Queries, asked: Beat) -> Plan:
    """`Store.beat`."""
    lease = {"worker": asked.worker, "lasts": asked.lasts}
    calls = [sql("beat", **lease), sql("held", worker=asked.worker)]
    if asked.join:
        calls.insert(0, sql("join", **lease))

    def meaning(rows: Sequence[Rows]) -> list[list[Held] | None]:
        renewed, held = rows[-2:]
        return [[Held(*row) for row in held] if renewed else None]

    return Plan(calls, meaning)


def release(sql: Queries, asked: Release) -> Plan:
    """`Store.release`."""
    return Plan([sql("release", **asked._asdict())], _found)


def any_lapsed(sql: Queries, _: None) -> Plan:
    """Whether a sweep would find something."""
    return Plan([sql("any_lapsed")], _found)


def sweep(sql: Queries, _: None) -> Plan:
    """`Store.sweep`."""
    names = ("mark_lapsed", "lock_held", "take_back", "forget_lapsed")
    return Plan([sql(name) for name in names], lambda rows: [[run for (run,) in rows[2]]])


def _found(rows: Sequence[Rows]) -> list[bool]:
    return [bool(rows[0])]


def _claim(row: Sequence[Any]) -> Claim:
    run, program, token, seq, inbox, deaths, lost = row
    return Claim(
        run=run,
        program=program,
        token=token,
        seq=seq,
        inbox=inbox,
        deaths=deaths,
        since_lost=lost,
    )
