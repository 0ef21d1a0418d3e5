"""The writes that make a run and carry it on, as statements of one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from remit.store.records import (
    ENDED,
    Append,
    Appended,
    Busy,
    Created,
    Fenced,
    NewRun,
    News,
)
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.statements import SQL, pack


def create(db: sqlite3.Connection, now: Moment, new: NewRun) -> Created | Busy:
    """`Store.create`."""
    if db.execute(SQL["run_no"], {"run": new.id}).fetchone():
        return Created()
    thread = None if new.thread is None else pack(new.thread)
    base = None
    if thread is not None:
        place = {"thread": thread, "run": new.id}
        db.execute(SQL["make_thread"], place)
        taken = db.execute(SQL["take_thread"], place).fetchone()
        if taken is None:
            return Busy(db.execute(SQL["thread_live"], place).fetchone()[0])
        (base,) = taken
    run = {
        "run": new.id,
        "tenant": new.tenant,
        "user": new.user,
        "program": new.program,
        "thread": thread,
        "base": base,
        "wall": now.wall,
        "format": new.format,
    }
    (no,) = db.execute(SQL["make_run"], run).fetchone()
    write_entry(db, no, 1, 0, new.format, new.body)
    return Created()


def append(
    db: sqlite3.Connection, now: Moment, batch: Sequence[Append]
) -> list[Appended | Fenced | News]:
    """`Store.append`."""
    return [_append(db, now, item) for item in batch]


def write_entry(
    db: sqlite3.Connection, no: int, seq: int, token: int, format: int, body: bytes
) -> None:
    """Store one entry of the run with the number `no`."""
    entry = {"no": no, "seq": seq, "token": token, "format": format, "body": body}
    db.execute(SQL["write_entry"], entry)


def free_thread(db: sqlite3.Connection, run: str) -> None:
    """Let the next run start on the thread of `run`, which has ended, and build on it."""
    db.execute(SQL["free_thread"], {"run": run})


def _append(db: sqlite3.Connection, now: Moment, item: Append) -> Appended | Fenced | News:
    fence: dict[str, Any] = {
        "run": item.run,
        "token": item.token,
        "seq": item.seq,
        "count": len(item.entries),
        "format": item.format,
    }
    row = _advance(db, now, item, fence)
    if row is None:
        return _missed(db, item, fence)
    no, inbox = row
    for seq, body in enumerate(item.entries, item.seq + 1):
        write_entry(db, no, seq, item.token, item.format, body)
    if item.status in ENDED:
        free_thread(db, item.run)
    elif item.status is not None:
        _wait(db, now, no, item.asks)
    return Appended(item.seq + len(item.entries), inbox)


def _advance(
    db: sqlite3.Connection, now: Moment, item: Append, fence: Mapping[str, Any]
) -> tuple[int, int] | None:
    """The run's number and inbox after its row was moved on; None if the fence held it back."""
    row: tuple[int, int] | None
    if item.status is None:
        row = db.execute(SQL["append"], fence).fetchone()
    elif item.status in ENDED:
        db.execute(SQL["lock_thread"], fence).fetchall()
        end = {**fence, "seen": item.seen, "status": item.status, "wall": now.wall}
        row = db.execute(SQL["finish"], end).fetchone()
    else:
        row = db.execute(SQL["pause"], {**fence, "seen": item.seen}).fetchone()
    return row


def _missed(db: sqlite3.Connection, item: Append, fence: Mapping[str, Any]) -> Fenced | News:
    if item.status is None:
        return Fenced()
    held = db.execute(SQL["fence"], fence).fetchone()
    return Fenced() if held is None else News(held[0])


def _wait(db: sqlite3.Connection, now: Moment, no: int, asks: Sequence[str]) -> None:
    for key in asks:
        db.execute(SQL["ask"], {"no": no, "key": pack(key)})
    (needs,) = db.execute(SQL["count_needs"], {"no": no}).fetchone()
    if asks and not needs:
        db.execute(SQL["requeue"], {"no": no, "wall": now.wall})
