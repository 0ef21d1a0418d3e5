"""The writes that make a run and carry it on, as statements of one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from remit.store.records import Append, Appended, Busy, Created, Existing, Fenced, NewRun, News
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.money import holds
from remit.store.sqlite.runs import keys, threads
from remit.store.sqlite.statements import SQL, many, pack, positional
from remit.values.results import ENDED

T = TypeVar("T")

_ROWS = 64
_APPEND = positional("append", "count", "format", "run", "token", "seq")
_WRITE_ENTRY = positional("write_entry", "no", "seq", "token", "format", "body")


def create(db: sqlite3.Connection, now: Moment, new: NewRun) -> Created | Existing | Busy:
    """`Store.create`."""
    if db.execute(SQL["run_no"], {"run": new.id}).fetchone():
        return Created()
    existing = keys.taken(db, new)
    if existing is not None:
        return existing
    place = threads.place(db, now, new)
    if isinstance(place, Busy):
        return place
    keys.keep(db, now, new)
    run = {
        "run": new.id,
        "tenant": new.tenant,
        "user": new.user,
        "program": new.program,
        "thread": place.thread,
        "place": place.no,
        "base": None if place.base is None else place.base.run,
        "base_seq": None if place.base is None else place.base.seq,
        "due": place.due,
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
    db.execute(_WRITE_ENTRY, (no, seq, token, format, body))


def refusal(db: sqlite3.Connection, item: Append) -> Fenced | News | None:
    """Why the item would not be written; None if it would."""
    held = db.execute(SQL["fence"], _fence(item)).fetchone()
    if held is None:
        return Fenced()
    (inbox,) = held
    looks = item.status is not None or item.withdraws
    return News(inbox) if looks and inbox != item.seen else None


def end(db: sqlite3.Connection, now: Moment, no: int, run: str) -> None:
    """What follows from the end of `run`, with the number `no`: for its money, and its thread."""
    holds.close(db, now, no)
    threads.free(db, now, run)


def carries_on(item: Append) -> bool:
    """Whether all that the item does is to write entries of a run that goes on."""
    return item.status is None and not (item.withdraws or item.settles or item.holds)


def _append(db: sqlite3.Connection, now: Moment, item: Append) -> Appended | Fenced | News:
    if carries_on(item):
        return _carry_on(db, item)
    if item.withdraws:
        refused = refusal(db, item)
        if refused is not None:
            return refused
    row = _advance(db, now, item)
    if row is None:
        # Without a change of the status there is nothing else that the fence can mean.
        return Fenced() if item.status is None else refusal(db, item) or Fenced()
    no, inbox = row
    grants = holds.carry_out(db, now, no, item) if item.settles or item.holds else ()
    for seq, body in enumerate(item.entries, item.seq + 1):
        write_entry(db, no, seq, item.token, item.format, body)
    if item.withdraws:
        _withdraw(db, no, item.withdraws)
    if item.status in ENDED:
        end(db, now, no, item.run)
    elif item.status is not None:
        _wait(db, now, no, item.asks)
    return Appended(item.seq + len(item.entries), inbox, grants)


def _advance(db: sqlite3.Connection, now: Moment, item: Append) -> tuple[int, int] | None:
    """The run's number and inbox after its row was moved on; None if the fence held it back."""
    row: tuple[int, int] | None
    fence = _fence(item)
    if item.status is None:
        row = db.execute(SQL["append"], fence).fetchone()
    elif item.status in ENDED:
        db.execute(SQL["lock_thread"], fence).fetchall()
        finish = {**fence, "seen": item.seen, "status": item.status, "wall": now.wall}
        row = db.execute(SQL["finish"], finish).fetchone()
    else:
        pause = {**fence, "seen": item.seen, "due": item.due, "listens": item.listens}
        row = db.execute(SQL["pause"], pause).fetchone()
    return row


def _fence(item: Append) -> dict[str, Any]:
    return {
        "run": item.run,
        "token": item.token,
        "seq": item.seq,
        "count": len(item.entries),
        "format": item.format,
    }


def _withdraw(db: sqlite3.Connection, no: int, keys: Sequence[str]) -> None:
    for key in keys:
        db.execute(SQL["withdraw"], {"no": no, "key": pack(key)})
    db.execute(SQL["count_needs"], {"no": no}).fetchone()


def _carry_on(db: sqlite3.Connection, item: Append) -> Appended | Fenced:
    """Append to a run that goes on."""
    token, seq, format, entries = item.token, item.seq, item.format, item.entries
    fence = (len(entries), format, item.run, token, seq)
    row = db.execute(_APPEND, fence).fetchone()
    if row is None:
        return Fenced()
    no, inbox = row
    for body in entries:
        seq += 1
        db.execute(_WRITE_ENTRY, (no, seq, token, format, body))
    return Appended(seq, inbox)


def carry_on_together(db: sqlite3.Connection, items: Sequence[Append]) -> list[Appended | Fenced]:
    """Append to as many runs, which all go on."""
    advanced: dict[str, tuple[int, int]] = {}
    for part in _parts(items):
        fences: list[object] = []
        for item in part:
            fences += (item.run, item.token, item.seq, len(item.entries), item.format)
        rows = db.execute(many("append_each", len(part)), fences).fetchall()
        advanced.update((run, (no, inbox)) for run, no, inbox in rows)
    stored = [item for item in items if item.run in advanced]
    entries = [
        (advanced[item.run][0], seq, item.token, item.format, body)
        for item in stored
        for seq, body in enumerate(item.entries, item.seq + 1)
    ]
    for part_of_entries in _parts(entries):
        values = [value for entry in part_of_entries for value in entry]
        db.execute(many("write_entry", len(part_of_entries)), values)
    return [
        Appended(item.seq + len(item.entries), advanced[item.run][1])
        if item.run in advanced
        else Fenced()
        for item in items
    ]


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """All items in parts whose sizes are powers of 2: few statements, of few different texts."""
    at = 0
    while at < len(items):
        size = min(1 << (len(items) - at).bit_length() - 1, _ROWS)
        yield items[at : at + size]
        at += size


def _wait(db: sqlite3.Connection, now: Moment, no: int, asks: Sequence[str]) -> None:
    for key in asks:
        db.execute(SQL["ask"], {"no": no, "key": pack(key)})
    (needs,) = db.execute(SQL["count_needs"], {"no": no}).fetchone()
    if asks and not needs:
        db.execute(SQL["requeue"], {"no": no, "wall": now.wall})
