"""Who drives what: claims, heartbeats, releases and the sweep."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from remit.store.records import Claim, Held, Refusal
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.statements import SQL, pack


@dataclass(frozen=True, slots=True)
class Wish:
    """What a worker would like to claim: up to `room` of `programs`, or just `run`."""

    worker: str
    programs: Collection[str]
    format: int
    room: int
    run: str | None
    deploy: str


@dataclass(frozen=True, slots=True)
class Parting:
    """A worker's giving back of a run that it holds under `token`."""

    worker: str
    run: str
    token: int
    abandoned: bool
    refusal: Refusal | None


def due_for(db: sqlite3.Connection, now: Moment, wish: Wish) -> list[int]:
    """The numbers of the runs that the wish would get, the longest due first."""
    if wish.room < 1 or not _alive(db, now, wish.worker):
        return []
    name = "due_runs" if wish.run is None else "due_run"
    found: list[tuple[int, int]] = []
    for program, refuser in _queues(db, wish.programs):
        if wish.deploy and refuser == wish.deploy:
            continue
        conditions = {
            "program": program,
            "refuser": refuser,
            "wall": now.wall,
            "format": wish.format,
            "room": wish.room,
            "run": wish.run,
        }
        found += [(due, no) for no, due in db.execute(SQL[name], conditions).fetchall()]
    return [no for _, no in sorted(found)[: wish.room]]


def next_due(db: sqlite3.Connection, now: Moment, programs: Collection[str]) -> float | None:
    """`Store.next_due`."""
    dues = []
    for program, refuser in _queues(db, programs):
        queue = {"program": program, "refuser": refuser, "wall": now.wall}
        (due,) = db.execute(SQL["next_due"], queue).fetchone()
        if due is not None:
            dues.append(due)
    return (min(dues) - now.wall) / 1e6 if dues else None


def claim(db: sqlite3.Connection, now: Moment, wish: Wish) -> list[Claim]:
    """`Store.claim`."""
    claims = []
    for no in due_for(db, now, wish):
        row = db.execute(SQL["claim"], {"no": no, "worker": wish.worker}).fetchone()
        run, program, token, seq, inbox, deaths, lost, boot = row
        claims.append(
            Claim(
                run=run,
                program=program,
                token=token,
                seq=seq,
                inbox=inbox,
                deaths=deaths,
                now=now.wall,
                since_lost=(now.steady - lost) / 1e6 if boot == now.boot else None,
            )
        )
    return claims


def beat(
    db: sqlite3.Connection, now: Moment, worker: str, lasts: float, join: bool
) -> list[Held] | None:
    """`Store.beat`."""
    lease = {"worker": worker, "until": now.steady + round(lasts * 1e6), **now.marks()}
    if join:
        db.execute(SQL["join"], lease)
    if db.execute(SQL["beat"], lease).fetchone() is None:
        return None
    return [Held(*row) for row in db.execute(SQL["held"], lease).fetchall()]


def release(db: sqlite3.Connection, now: Moment, parting: Parting) -> bool:
    """`Store.release`."""
    if not _alive(db, now, parting.worker):
        return False
    refusal = parting.refusal
    held = {
        "worker": parting.worker,
        "run": parting.run,
        "token": parting.token,
        "abandoned": parting.abandoned,
        "refuser": None if refusal is None else refusal.deploy,
        "reason": None if refusal is None else pack(refusal.reason),
        **now.marks(),
    }
    return db.execute(SQL["release"], held).fetchone() is not None


def any_lapsed(db: sqlite3.Connection, now: Moment) -> bool:
    """Whether a sweep would find something."""
    return db.execute(SQL["any_lapsed"], now.marks()).fetchone() is not None


def sweep(db: sqlite3.Connection, now: Moment, limit: int) -> list[str]:
    """`Store.sweep`."""
    runs: list[str] = []
    for worker, until in db.execute(SQL["lapsed"], now.marks()).fetchall():
        loss = {
            "worker": worker,
            "wall": now.wall,
            "lost": until,
            "boot": None if until is None else now.boot,
            "limit": max(limit - len(runs), 0),
        }
        runs += [run for (run,) in db.execute(SQL["take_back"], loss).fetchall()]
        db.execute(SQL["forget_lapsed"], loss)
    return runs


def _queues(db: sqlite3.Connection, programs: Collection[str]) -> Iterator[tuple[str, str | None]]:
    """Each program with each deployment that refused runs of it, and with none."""
    for program in dict.fromkeys(programs):
        yield program, None
        for (refuser,) in db.execute(SQL["refusers"], {"program": program}).fetchall():
            yield program, refuser


def _alive(db: sqlite3.Connection, now: Moment, worker: str) -> bool:
    marks = {"worker": worker, **now.marks()}
    return db.execute(SQL["worker_alive"], marks).fetchone() is not None
