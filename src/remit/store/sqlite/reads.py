"""What is asked of the store without changing it: one statement each, so one moment each."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from remit.store.records import MESSAGE, Base, Entry, Head, Query, RunRow, Signal
from remit.store.sqlite.statements import SQL, pack, unpack

_WHOLE = {"bytes": 2**62, "rows": -1}
_SHORT = {"bytes": 4000, "rows": 101}


def read(db: sqlite3.Connection, run: str, after: int) -> list[Entry]:
    """`Store.read`."""
    rows = db.execute(SQL["read"], {"run": run, "after": after, **_WHOLE}).fetchall()
    return [Entry(*row) for row in rows]


def read_short(db: sqlite3.Connection, run: str, after: int) -> list[Entry] | None:
    """`read`, or None for more entries or longer ones than can be read in passing."""
    rows = db.execute(SQL["read"], {"run": run, "after": after, **_SHORT}).fetchall()
    if len(rows) == _SHORT["rows"] or any(row[3] is None for row in rows):
        return None
    return [Entry(*row) for row in rows]


def lineage(db: sqlite3.Connection, run: str) -> list[list[Entry]]:
    """`Store.lineage`."""
    rows = db.execute(SQL["lineage"], {"run": run}).fetchall()
    return [[Entry(*row[1:]) for row in journal] for _, journal in groupby(rows, itemgetter(0))]


def get(db: sqlite3.Connection, run: str) -> RunRow | None:
    """`Store.get`."""
    row = db.execute(SQL["get"], {"run": run}).fetchone()
    return None if row is None else _run_row(row)


def heads(db: sqlite3.Connection, runs: Collection[str]) -> dict[str, Head]:
    """`Store.heads`."""
    rows = db.execute(SQL["heads"], {"runs": json.dumps(list(runs))}).fetchall()
    return {run: Head(seq, status) for run, seq, status in rows}


def find(db: sqlite3.Connection, query: Query) -> list[RunRow]:
    """`Store.find`."""
    conditions = {
        "status": query.status,
        "names": None if query.names is None else json.dumps(query.names),
        "user": query.user,
        "tenant": query.tenant,
        "thread": None if query.thread is None else pack(query.thread),
        "before": query.before,
    }
    parts = [SQL[f"find_{name}"] for name, value in conditions.items() if value is not None]
    statement = "\n".join([SQL["find"], *parts, SQL["find_limit"]])
    rows = db.execute(statement, {**conditions, "limit": max(query.limit, 0)}).fetchall()
    return [_run_row(row) for row in rows]


def thread_head(db: sqlite3.Connection, thread: str) -> str | None:
    """`Store.thread_head`."""
    row = db.execute(SQL["thread_head"], {"thread": pack(thread)}).fetchone()
    return None if row is None else row[0]


def signals(db: sqlite3.Connection, run: str) -> list[Signal]:
    """`Store.signals`."""
    rows = db.execute(SQL["signals"], {"run": run}).fetchall()
    return [_signal(*row) for row in rows]


def _signal(packed: bytes, answer: bytes | None, id: str | None, at: int | None) -> Signal:
    key = unpack(packed)
    # A message's id is in its key, which holds any text, as the column of ids does not.
    if id is None and answer is not None and key.startswith(MESSAGE):
        id = key.removeprefix(MESSAGE)
    return Signal(key, answer, id, at)


def _run_row(row: Sequence[Any]) -> RunRow:
    run, program, status, seq, token, tenant, user, thread, *rest = row
    deaths, created, ended, due, refused, base_run, base_seq = rest
    return RunRow(
        id=run,
        program=program,
        status=status,
        seq=seq,
        token=token,
        tenant=tenant,
        user=user,
        thread=None if thread is None else unpack(thread),
        deaths=deaths,
        created=created,
        ended=ended,
        due=due,
        base=None if base_run is None else Base(base_run, base_seq),
        refused=None if refused is None else unpack(refused),
    )
