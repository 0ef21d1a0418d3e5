"""Whose turn it is on a thread."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from remit.store.records import Base, Busy, NewRun
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.statements import SQL, pack


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run begins: when it is due, None while it waits with the number `no` for its
    thread, and what it builds on, as far as that is known."""

    thread: bytes | None
    no: int | None
    due: int | None
    base: Base | None


def place(db: sqlite3.Connection, now: Moment, new: NewRun) -> Place | Busy:
    """Take the thread of `new`, or a place among those that wait for it, where it may wait."""
    if new.thread is None:
        return Place(None, None, now.wall if new.due is None else new.due, new.base)
    thread = pack(new.thread)
    wish = {"thread": thread, "run": new.id, "begins": new.base is not None}
    db.execute(SQL["make_thread"], wish)
    taken = db.execute(SQL["take_thread"], wish).fetchone()
    if taken is not None:
        head, seq = taken
        base = None if head is None else Base(head, seq)
        return Place(thread, None, now.wall, new.base or base)
    (waiting,) = db.execute(SQL["count_waiting"], wish).fetchone()
    if new.base is not None or waiting >= (new.enqueue or 0):
        (run,) = db.execute(SQL["thread_taken"], wish).fetchone()
        return Busy(run, waiting)
    (no,) = db.execute(SQL["take_place"], wish).fetchone()
    return Place(thread, no, None, None)


def free(db: sqlite3.Connection, now: Moment, run: str) -> None:
    """Make `run`, which has ended, the newest of the thread if it lived there, and let the run
    that waits longest have its turn."""
    row = db.execute(SQL["free_thread"], {"run": run}).fetchone()
    if row is not None and row[0] is not None:
        db.execute(SQL["hand_on"], {"run": row[0], "base": run, "wall": now.wall})
