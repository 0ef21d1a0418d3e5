"""Short ways to hold and spend money."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from remit.store.money import (
    DAY,
    Ceiling,
    Charge,
    Denied,
    Granted,
    Hold,
    LedgerQuery,
    LedgerSum,
    Meter,
    Settlement,
)
from remit.store.protocol import Store
from remit.store.records import Appended, Claim
from remit.testing.store_contract.arrange import held, item, write
from remit.values import ids

MINUTE = 60_000_000
CHARGE = Charge(model="some model", purpose="turn", body=b"receipt")


def a_day(key: str = "day", **fields: Any) -> Meter:
    """A meter of a UTC day."""
    return Meter(key=key, slots=1, width=DAY, **fields)


def an_hour(key: str = "hour", **fields: Any) -> Meter:
    """A meter of a rolling hour."""
    return Meter(key=key, slots=61, width=MINUTE, **fields)


def bound(name: str, nano: int, *ceilings: Ceiling, charge: Charge = CHARGE) -> Hold:
    """Money to be held."""
    return Hold(name=name, nano=nano, ceilings=ceilings, charge=charge)


def cost(name: str, nano: int, **fields: Any) -> Settlement:
    """Money that was spent."""
    return Settlement(name=name, nano=nano, **{"charge": CHARGE, **fields})


@dataclass
class Spender:
    """The holder of a run, which writes one entry after the other."""

    store: Store
    worker: str
    had: Claim
    seq: int

    async def write(self, **fields: Any) -> Appended:
        """Append one entry with what is told."""
        outcome = await write(self.store, item(self.had, seq=self.seq, **fields))
        assert isinstance(outcome, Appended)
        self.seq = outcome.seq
        return outcome

    async def hold(
        self, name: str, nano: int, *ceilings: Ceiling, charge: Charge = CHARGE
    ) -> Granted | Denied:
        """Ask for money."""
        outcome = await self.write(holds=(bound(name, nano, *ceilings, charge=charge),))
        (grant,) = outcome.grants
        return grant

    async def settle(self, name: str, nano: int, **fields: Any) -> None:
        """Tell what was spent."""
        await self.write(settles=(cost(name, nano, **fields),))


async def a_spender(store: Store, **fields: Any) -> Spender:
    """The holder of a run that was just made; no other run is its worker's."""
    worker = ids.new("worker")
    had = await held(store, worker=worker, **fields)
    return Spender(store, worker, had, had.seq)


async def state(store: Store, meter: Meter) -> tuple[int, int]:
    """What a meter says is spent, and held."""
    (found,) = await store.meters([meter])
    return found.spent, found.held


async def usage(store: Store, *by: str, **fields: Any) -> list[LedgerSum]:
    """What the ledger says."""
    return list(await store.usage(LedgerQuery(by=by, **fields)))


async def spent(store: Store, run: str) -> tuple[int, int, int]:
    """What a run has spent by the ledger, how much of it is an estimate, and in how many calls."""
    (found,) = await usage(store, run=run)
    return found.nano, found.estimated, found.calls
