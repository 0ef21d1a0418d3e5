"""What model calls cost, added up."""

from __future__ import annotations

from decimal import Decimal

import msgspec


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """One sum of the ledger.

    `by` has the group's values by their names, like `{"user": "u_17", "day": "2026-11-30"}`; None
    is that of calls which have none. `cost` is in the app's currency unit, exact, and `estimated`
    the part of it that no provider confirmed. `calls` is how many model calls it is of.
    """

    by: dict[str, str | None]
    cost: Decimal
    estimated: Decimal
    calls: int
