"""Deleting runs: those that are old, and those of a user who is to be forgotten."""

from __future__ import annotations

import sqlite3

from remit.store.sqlite.statements import SQL


def old_runs(db: sqlite3.Connection, when: int, limit: int) -> list[int]:
    """The numbers of up to `limit` runs that `delete_before` would begin with."""
    found = {"when": when, "limit": max(limit, 0)}
    return [no for (no,) in db.execute(SQL["old_runs"], found).fetchall()]


def delete_before(db: sqlite3.Connection, when: int, limit: int, found: list[int]) -> int:
    """`Store.delete_before`, beginning with the numbers that `old_runs` has found."""
    # The work may be done again from the beginning, and `found` is left as it is.
    left, count = found[:], 0
    while left and count < limit:
        no = left.pop()
        if db.execute(SQL["old_run"], {"no": no, "when": when}).fetchone():
            count += 1
            # What it was built on may be old too, and nobody's base any more.
            base = db.execute(SQL["run_no"], {"run": _delete(db, no)}).fetchone()
            left += base or ()
    return count


def forget(db: sqlite3.Connection, user: str, tenant: str | None, limit: int) -> int:
    """`Store.forget`."""
    theirs = {"user": user, "tenant": tenant, "limit": max(limit, 0)}
    runs = db.execute(SQL["runs_of_user"], theirs).fetchall()
    for (no,) in runs:
        _delete(db, no)
    return len(runs)


def _delete(db: sqlite3.Connection, no: int) -> str | None:
    """Delete the run, and give the id of its base."""
    run, thread, base = db.execute(SQL["delete_run"], {"no": no}).fetchone()
    gone = {"no": no, "run": run, "thread": thread, "base": base}
    for name in ("delete_entries", "delete_signals", "move_head", "delete_thread"):
        db.execute(SQL[name], gone)
    found: str | None = base
    return found
