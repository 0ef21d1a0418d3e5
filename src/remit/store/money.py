"""What crosses the store about money: whole nano-units, a billionth of the app's currency unit.

Times are wall times in microseconds since 1970.
"""

from __future__ import annotations

import msgspec

DAY = 86_400_000_000
"""A day's microseconds."""
MOST = 2**63 - 1
"""What a meter counts up to: where it comes to more, it stands there."""
DEAREST = 2**60
"""The most that one call holds or settles."""
GROUPS = ("user", "tenant", "run", "program", "model", "purpose", "day")
"""What a ledger can be grouped by."""


class Meter(msgspec.Struct, frozen=True, kw_only=True):
    """What is spent and held in one scope over a period, as a ring of `slots` that are each
    `width` microseconds wide: a UTC day is one slot of a day, a rolling window 61 of a sixtieth.

    `tenant` and `user` tell whose money it is, None for everybody's: a meter that is not there
    yet begins with what the ledger holds of theirs.
    """

    key: str
    slots: int
    width: int
    tenant: str | None = None
    user: str | None = None


class Ceiling(msgspec.Struct, frozen=True):
    """The most that a meter may come to, from 0 to `MOST`."""

    meter: Meter
    limit: int

    def __post_init__(self) -> None:
        _check("a ceiling", self.limit, MOST)


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """What a model call was for, as the ledger keeps it; `body` is for the reader alone. `program`
    is the name of who made it, None for the run's own."""

    model: str
    purpose: str
    body: bytes
    program: str | None = None


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """Money reserved before a model call. It is granted if every ceiling has room for it. The
    run uses the name once: where it holds money already, or was charged, it is granted and no
    more is held. `charge` is what is written if nobody settles it."""

    name: str
    nano: int
    ceilings: tuple[Ceiling, ...]
    charge: Charge

    def __post_init__(self) -> None:
        _check("a hold", self.nano, DEAREST)


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """What the model call named `name` really cost. It is never refused, and belongs to the
    instant of its hold. `charge` is None where nothing was sent: the hold is then given back.
    Where nothing was held, it belongs to the instant of its writing and goes on `meters`."""

    name: str
    nano: int
    charge: Charge | None
    estimated: bool = False
    meters: tuple[Meter, ...] = ()

    def __post_init__(self) -> None:
        _check("a settlement", self.nano, DEAREST)


def _check(what: str, nano: object, most: int) -> None:
    if type(nano) is not int or not 0 <= nano <= most:
        raise ValueError(f"{what} is a whole number of nano-units from 0 to {most}, not {nano!r}")


class Granted(msgspec.Struct, frozen=True):
    """The money is held."""


class Denied(msgspec.Struct, frozen=True):
    """The ceiling of the meter `key` has no room: `spent` is gone for good, `held` may come
    back."""

    key: str
    limit: int
    spent: int
    held: int


class MeterState(msgspec.Struct, frozen=True):
    """What a meter stands at now."""

    spent: int
    held: int


class LedgerQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which ledger rows to add up, and by what: any of user, tenant, run, program (the name
    without its version), model, purpose and day (of UTC). `since` is included, `until` is not."""

    by: tuple[str, ...] = ()
    user: str | None = None
    tenant: str | None = None
    run: str | None = None
    name: str | None = None
    since: int | None = None
    until: int | None = None

    def __post_init__(self) -> None:
        if unknown := set(self.by) - set(GROUPS):
            raise ValueError(
                f"the ledger has no {', '.join(sorted(unknown))}: group by {', '.join(GROUPS)}"
            )


class LedgerSum(msgspec.Struct, frozen=True):
    """The sum of one group: `group` are the values in the order of the query's `by`, a day as
    `2026-11-30`. `estimated` is the part of `nano` that is an estimate, `calls` the rows."""

    group: tuple[str | None, ...]
    nano: int
    estimated: int
    calls: int
