"""What the ledger adds up to."""

from __future__ import annotations

import sqlite3

from remit.store.money import GROUPS, LedgerQuery, LedgerSum
from remit.store.sqlite.statements import SQL


def usage(db: sqlite3.Connection, query: LedgerQuery) -> list[LedgerSum]:
    """`Store.usage`."""
    conditions = {
        "user": query.user,
        "tenant": query.tenant,
        "run": query.run,
        "name": query.name,
        "since": query.since,
        "until": query.until,
    }
    parts = [SQL[f"usage_{name}"] for name, value in conditions.items() if value is not None]
    statement = "\n".join([SQL["usage"], *parts, SQL["usage_groups"]])
    by = {f"by_{name}": name in query.by for name in GROUPS}
    rows = db.execute(statement, {**conditions, **by}).fetchall()
    places = [GROUPS.index(name) for name in query.by]
    sums = []
    for row in rows:
        high, low, high_estimated, low_estimated, calls = row[len(GROUPS) :]
        nano, estimated = (high << 32) + low, (high_estimated << 32) + low_estimated
        sums.append(LedgerSum(tuple([row[place] for place in places]), nano, estimated, calls))
    if not query.by and not sums:
        return [LedgerSum((), 0, 0, 0)]
    return sorted(sums, key=lambda one: [part or "" for part in one.group])
