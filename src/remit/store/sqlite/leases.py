"""Who drives what: claims, heartbeats, releases and the sweep."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass

from remit.store.records import Claim, Held
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.statements import SQL


@dataclass(frozen=True, slots=True)
class Wish:
    """What a worker would like to claim: up to `room` of `programs`, or just `run`."""

    worker: str
    programs: Collection[str]
    format: int
    room: int
    run: str | None


def due_for(db: sqlite3.Connection, now: Moment, wish: Wish) -> list[int]:
    """The numbers of the runs that the wish would get, the longest due first."""
    if wish.room < 1 or not _alive(db, now, wish.worker):
        return []
    name = "due_runs" if wish.run is None else "due_run"
    found: list[tuple[int, int]] = []
    for program in dict.fromkeys(wish.programs):
        conditions = {
            "program": program,
            "wall": now.wall,
            "format": wish.format,
            "room": wish.room,
            "run": wish.run,
        }
        found += [(due, no) for no, due in db.execute(SQL[name], conditions).fetchall()]
    return [no for _, no in sorted(found)[: wish.room]]


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


def release(
    db: sqlite3.Connection, now: Moment, worker: str, run: str, token: int, abandoned: bool
) -> bool:
    """`Store.release`."""
    if not _alive(db, now, worker):
        return False
    held = {
        "worker": worker,
        "run": run,
        "token": token,
        "abandoned": abandoned,
        **now.marks(),
    }
    return db.execute(SQL["release"], held).fetchone() is not None


def any_lapsed(db: sqlite3.Connection, now: Moment) -> bool:
    """Whether a sweep would find something."""
    return db.execute(SQL["any_lapsed"], now.marks()).fetchone() is not None


def sweep(db: sqlite3.Connection, now: Moment) -> list[str]:
    """`Store.sweep`."""
    runs: list[str] = []
    for worker, until in db.execute(SQL["forget_lapsed"], now.marks()).fetchall():
        loss = {
            "worker": worker,
            "wall": now.wall,
            "lost": until,
            "boot": None if until is None else now.boot,
        }
        runs += [run for (run,) in db.execute(SQL["take_back"], loss).fetchall()]
    return runs


def _alive(db: sqlite3.Connection, now: Moment, worker: str) -> bool:
    marks = {"worker": worker, **now.marks()}
    return db.execute(SQL["worker_alive"], marks).fetchone() is not None
