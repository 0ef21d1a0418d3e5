"""Letting go of runs: by their age, and of one user's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from remit.app.house import House
from remit.app.starting import Starting
from remit.host.readers import settled
from remit.store.protocol import Store
from remit.store.records import Query, RunRow
from remit.values.errors import ConfigError
from remit.values.results import Status

_LIVE: tuple[Status, ...] = ("queued", "paused", "running")
_REASON = "its user is forgotten"


async def delete_before(store: Store, when: object) -> int:
    """Delete the runs that ended before `when`; how many there were. Raises ConfigError."""
    if not isinstance(when, datetime) or when.utcoffset() is None:
        raise ConfigError(f"when must be an aware datetime, not {when!r:.80}")
    return await _all_of(partial(store.delete_before, round(when.timestamp() * 1e6)))


async def forget(house: House, whose: Starting) -> int:
    """Cancel and delete a user's runs; how many there were. Raises ConfigError."""
    if whose.user is None:
        raise ConfigError("forget needs the user whose runs are to be deleted")
    for status in _LIVE:
        query = Query(status=status, user=whose.user, tenant=whose.tenant)
        async for row in _rows(house.store, query):
            if row.tenant == whose.tenant:
                await _stop(house, row.id)
    return await _all_of(partial(house.store.forget, whose.user, whose.tenant))


async def _stop(house: House, run: str) -> None:
    """Cancel a run, and wait until it has ended. One that pauses instead is cancelled again."""
    while True:
        await house.client.cancel(run, _REASON, None)
        row = await settled(house.store, house.bus, run)
        if row is None or row.status != "paused":
            return


async def _all_of(delete: Callable[[], Awaitable[int]]) -> int:
    """How many there were when `delete`, which takes some at a time, finds no more."""
    count = 0
    while found := await delete():
        count += found
    return count


async def _rows(store: Store, query: Query) -> AsyncIterator[RunRow]:
    """Every row that the query means, page by page."""
    while page := await store.find(query):
        for row in page:
            yield row
        query = replace(query, before=page[-1].id)
