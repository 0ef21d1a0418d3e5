"""What is asked of the store without changing it: one statement each, so one moment each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from remit.store.postgres.lane import Plan
from remit.store.postgres.statements import Queries, pack, unpack
from remit.store.records import MESSAGE, Base, Entry, Head, Query, RunRow, Signal


def read(sql: Queries, asked: tuple[str, int]) -> Plan:
    """`Store.read`."""
    run, after = asked
    call = sql("read", run=run, after=after)
    return Plan([call], lambda rows: [[Entry(*row) for row in rows[0]]])


def lineage(sql: Queries, run: str) -> Plan:
    """`Store.lineage`."""
    return Plan(
        [sql("lineage", run=run)],
        lambda rows: [
            [[Entry(*row[1:]) for row in journal] for _, journal in groupby(rows[0], itemgetter(0))]
        ],
    )


def get(sql: Queries, run: str) -> Plan:
    """`Store.get`."""
    return Plan([sql("get", run=run)], lambda rows: [_run_row(rows[0][0]) if rows[0] else None])


def heads(sql: Queries, runs: Sequence[str]) -> Plan:
    """`Store.heads`."""
    return Plan(
        [sql("heads", runs=runs)],
        lambda rows: [{run: Head(seq, status) for run, seq, status in rows[0]}],
    )


def find(sql: Queries, query: Query) -> Plan:
    """`Store.find`."""
    conditions = {
        "status": query.status,
        "names": query.names,
        "user": query.user,
        "tenant": query.tenant,
        "thread": None if query.thread is None else pack(query.thread),
        "before": query.before,
    }
    given = {name: value for name, value in conditions.items() if value is not None}
    call = sql.joined("find", [*given, "limit"], **given, limit=max(query.limit, 0))
    return Plan([call], lambda rows: [[_run_row(row) for row in rows[0]]])


def thread_head(sql: Queries, thread: str) -> Plan:
    """`Store.thread_head`."""
    call = sql("thread_head", thread=pack(thread))
    return Plan([call], lambda rows: [rows[0][0][0] if rows[0] else None])


def signals(sql: Queries, run: str) -> Plan:
    """`Store.signals`."""
    return Plan(
        [sql("signals", run=run)],
        lambda rows: [[_signal(*row) for row in rows[0]]],
    )


def _signal(packed: bytes, answer: bytes | None, id: str | None, at: int | None) -> Signal:
    key = unpack(packed)
    if id is None and answer is not None and key.startswith(MESSAGE):
        id = key.removeprefix(MESSAGE)
    return Signal(key, answer, id, at)


def _run_row(row: Sequence[Any]) -> RunRow:
    run, program, status, seq, token, tenant, user, thread, deaths, *times, base, upto, refused = (
        row
    )
    created, ended, due = times
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
        base=None if base is None else Base(base, upto),
        refused=None if refused is None else unpack(refused),
    )
