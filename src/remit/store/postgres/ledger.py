"""What is asked about money without changing it."""

from __future__ import annotations

from collections.abc import Sequence

from remit.store.money import GROUPS, LedgerQuery, LedgerSum, Meter, MeterState
from remit.store.postgres.lane import Plan
from remit.store.postgres.money import named
from remit.store.postgres.statements import Queries
from remit.store.postgres.wire import Rows


def meters(sql: Queries, asked: Sequence[Meter]) -> Plan:
    """`Store.meters`."""
    call = sql("meters", **named(asked))
    return Plan([call], lambda rows: [[MeterState(*row) for row in rows[0]]])


def usage(sql: Queries, query: LedgerQuery) -> Plan:
    """`Store.usage`."""
    conditions = {
        "user": query.user,
        "tenant": query.tenant,
        "run": query.run,
        "name": query.name,
        "since": query.since,
        "until": query.until,
    }
    given = {name: value for name, value in conditions.items() if value is not None}
    call = sql.joined("usage", [*given, "groups"], **given, by=query.by)
    return Plan([call], lambda rows: [_sums(query, rows[0])])


def _sums(query: LedgerQuery, rows: Rows) -> list[LedgerSum]:
    if not rows and not query.by:
        return [LedgerSum((), 0, 0, 0)]
    places = [GROUPS.index(name) for name in query.by]
    sums = [
        LedgerSum(tuple([row[place] for place in places]), int(nano), int(estimated), calls)
        for *row, nano, estimated, calls in rows
    ]
    return sorted(sums, key=lambda one: [part or "" for part in one.group])
