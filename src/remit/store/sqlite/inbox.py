"""The writes of those who do not hold the run: answers and cancels."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from remit.store.delivery import undelivered
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
from remit.store.sqlite.journal import end, write_entry
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.statements import SQL, pack, unpack
from remit.values.results import ENDED


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
    if status in ENDED:
        return Undelivered(status)
    rows = db.execute(SQL["run_signals"], {"no": no}).fetchall()
    refused = undelivered(status, {unpack(key): answer for key, _, answer in rows}, answers)
    if refused is not None:
        return refused
    count = {"no": no, "count": len(answers), "wall": now.wall}
    inbox, left = db.execute(SQL["note_answers"], count).fetchone()
    for n, (key, answer) in enumerate(answers.items(), inbox - len(answers) + 1):
        signal = {"no": no, "key": pack(key), "n": n, "answer": answer, "id": id, "wall": now.wall}
        db.execute(SQL["answer"], signal)
    return Delivered(left)


def cancel(
    db: sqlite3.Connection, now: Moment, run: str, body: bytes, format: int, signal: bytes
) -> Stopped | Signalled | Over:
    """`Store.cancel`."""
    stop = {"run": run, "format": format, "wall": now.wall}
    db.execute(SQL["lock_thread"], stop).fetchall()
    stopped = db.execute(SQL["cancel"], stop).fetchone()
    if stopped is not None:
        no, seq, token = stopped
        write_entry(db, no, seq, token, format, body)
        end(db, now, no, run)
        return Stopped(seq)
    row = db.execute(SQL["lock_run"], {"run": run}).fetchone()
    if row is None:
        return Over(None)
    no, status, _ = row
    if status != "running":
        return Over(status)
    _signal(db, now, no, CANCEL, signal)
    return Signalled()


def send(db: sqlite3.Connection, now: Moment, run: str, body: bytes, id: str) -> Sent | Over:
    """`Store.send`."""
    row = db.execute(SQL["lock_run"], {"run": run}).fetchone()
    if row is None:
        return Over(None)
    no, status, _ = row
    if status in ENDED:
        return Over(status)
    if _signal(db, now, no, MESSAGE + id, body):
        db.execute(SQL["wake"], {"no": no, "wall": now.wall})
    return Sent()


def _signal(db: sqlite3.Connection, now: Moment, no: int, key: str, answer: bytes) -> bool:
    """Leave a signal, unless its key is answered already."""
    left = {"no": no, "key": pack(key), "answer": answer, "wall": now.wall}
    if not db.execute(SQL["signal"], left).rowcount:
        return False
    db.execute(SQL["raise_inbox"], {"no": no})
    return True
