"""What is deleted: runs that are old, and what a user leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from remit.store.postgres.lane import Plan
from remit.store.postgres.statements import Queries
from remit.store.postgres.wire import Rows


class Old(NamedTuple):
    """What `Store.delete_before` looks for."""

    when: int
    limit: int


class Theirs(NamedTuple):
    """What `Store.forget` looks for."""

    user: str
    tenant: str | None
    limit: int


class Gone(NamedTuple):
    """The runs to delete; with `when` only those that may still go as old ones."""

    runs: Sequence[str]
    when: int | None = None


def old_runs(sql: Queries, asked: Old) -> Plan:
    """The ids of runs that may go."""
    return Plan([sql("old_runs", **asked._asdict())], _ids)


def runs_of_user(sql: Queries, asked: Theirs) -> Plan:
    """The ids of a user's ended runs."""
    return Plan([sql("runs_of_user", **asked._asdict())], _ids)


def delete(sql: Queries, asked: Gone) -> Plan:
    """The number of those that were deleted."""
    calls = [
        sql("lock_thread", runs=asked.runs),
        sql("lock_gone", runs=asked.runs),
        sql("delete_runs", runs=asked.runs, when=asked.when),
    ]
    return Plan(calls, lambda rows: [len(rows[2])])


def _ids(rows: Sequence[Rows]) -> list[list[str]]:
    return [[run for (run,) in rows[0]]]
