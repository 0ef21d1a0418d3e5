"""Asks a store's ledger, and shows what it answers."""

from __future__ import annotations

from remit.cli import status
from remit.cli.render import output
from remit.cli.spend.asked import Asked
from remit.cli.spend.listing import line, ordered, page
from remit.cli.where import Where, opened
from remit.values.clock import SystemClock


async def spend(where: Where, asked: Asked) -> int:
    """Tell what was spent. The store is left as it is.

    Raises ConfigError, and StoreError for a store whose schema is older.
    """
    groups, options = asked.groups(), asked.options(SystemClock().wall())
    async with opened(where) as (app, _):
        sums = ordered(await app.spend(groups, **options))
    output.show(page(groups, sums), [line(each) for each in sums], json=where.json)
    return status.OK
