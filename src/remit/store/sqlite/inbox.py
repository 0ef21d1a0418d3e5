"""The writes of those who do not hold the run: answers and cancels."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from remit.store.records import (
    CANCEL,
    Delivered,
    Over,
    Signalled,
    Stopped,
    Undelivered,
)
from remit.store.sqlite.journal import free_thread, write_entry
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.statements import SQL, pack, unpack


def deliver(
    db: sqlite3.Connection, now: Moment, run: str, answers: Mapping[str, bytes], id: str
) -> Delivered | Undelivered | None:
    """`Store.deliver`."""
    row = db.execute(SQL["lock_run"], {"run": run}).fetchone()
    if row is None:
        return None
    no, status, needs = row
    if db.execute(SQL["delivered"], {"no": no, "id": id}).fetchone():
        return Delivered(needs)
    if status != "paused":
        return Undelivered(status)
    packed = {pack(key): answer for key, answer in answers.items()}
    refused = _refused(db, no, packed)
    if refused is not None:
        return refused
    count = {"no": no, "count": len(packed), "wall": now.wall}
    inbox, left = db.execute(SQL["note_answers"], count).fetchone()
    for n, (key, answer) in enumerate(packed.items(), inbox - len(packed) + 1):
        signal = {"no": no, "key": key, "n": n, "answer": answer, "id": id, "wall": now.wall}
        db.execute(SQL["answer"], signal)
    return Delivered(left)


def cancel(
    db: sqlite3.Connection, now: Moment, run: str, body: bytes, format: int, signal: bytes
) -> Stopped | Signalled | Over:
    """`Store.cancel`."""
    end = {"run": run, "format": format, "wall": now.wall}
    db.execute(SQL["lock_thread"], end).fetchall()
    stopped = db.execute(SQL["cancel"], end).fetchone()
    if stopped is not None:
        no, seq, token = stopped
        write_entry(db, no, seq, token, format, body)
        free_thread(db, run)
        return Stopped(seq)
    row = db.execute(SQL["lock_run"], {"run": run}).fetchone()
    if row is None:
        return Over(None)
    no, status, _ = row
    if status != "running":
        return Over(status)
    sent = {"no": no, "key": pack(CANCEL), "answer": signal, "wall": now.wall}
    if db.execute(SQL["signal"], sent).rowcount:
        db.execute(SQL["raise_inbox"], {"no": no})
    return Signalled()


def _refused(db: sqlite3.Connection, no: int, answers: Mapping[bytes, bytes]) -> Undelivered | None:
    """Why the run cannot take all of `answers`, if so."""
    asked: set[bytes] = set()
    answered: dict[str, bytes] = {}
    for key, n, answer in db.execute(SQL["run_signals"], {"no": no}).fetchall():
        asked.add(key)
        if n is not None and key in answers:
            answered[unpack(key)] = answer
    unknown = tuple(unpack(key) for key in answers if key not in asked)
    if answered or unknown:
        return Undelivered("paused", answered, unknown)
    return None
