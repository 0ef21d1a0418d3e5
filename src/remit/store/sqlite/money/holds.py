"""Money: meters, holds and the ledger, as statements of the transaction that they belong to."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence

from remit.store.money import (
    Charge,
    Denied,
    Granted,
    Hold,
    Meter,
    MeterState,
    Settlement,
)
from remit.store.records import Append
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.money.ring import Ring
from remit.store.sqlite.statements import SQL, pack, unpack


def carry_out(
    db: sqlite3.Connection, now: Moment, no: int, item: Append
) -> tuple[Granted | Denied, ...]:
    """Write what was spent by the run with the number `no`, then hold what it asks for."""
    rings = _Rings(db, now)
    for settlement in item.settles:
        _settle(db, rings, no, settlement)
    grants = tuple([_hold(db, rings, (no, item.token), hold) for hold in item.holds])
    rings.write()
    return grants


def close(db: sqlite3.Connection, now: Moment, no: int) -> None:
    """Settle what a run that has ended still holds at its bound, as an estimate."""
    holds = db.execute(SQL["open_holds"], {"no": no}).fetchall()
    if not holds:
        return
    rings = _Rings(db, now)
    for name, nano, model, purpose, body, program in holds:
        charge = Charge(model=model, purpose=purpose, body=body, program=program)
        bound = Settlement(name=unpack(name), nano=nano, charge=charge, estimated=True)
        _settle(db, rings, no, bound)
    rings.write()


def meters(db: sqlite3.Connection, now: Moment, asked: Sequence[Meter]) -> list[MeterState]:
    """`Store.meters`. A meter that is not there yet is told, and not made."""
    return [_state(db, now, meter) for meter in asked]


def all_there(db: sqlite3.Connection, asked: Sequence[Meter]) -> bool:
    """Whether none of the meters needs the ledger to be read."""
    return all([_number(db, meter) is not None for meter in asked])


class _Rings:
    """The meters that one append touches, by their numbers: read once, written back once."""

    def __init__(self, db: sqlite3.Connection, now: Moment) -> None:
        self.now = now.wall
        self._db = db
        self._rings: dict[int, Ring] = {}

    def __getitem__(self, number: int) -> Ring:
        if number not in self._rings:
            self._rings[number] = _ring(self._db, number)
        return self._rings[number]

    def number(self, meter: Meter) -> int:
        """The meter's number; one that is not there yet is made."""
        number = _number(self._db, meter)
        if number is None:
            ring = _seeded(self._db, self.now, meter)
            made = {"key": pack(meter.key), "width": meter.width, **_columns(ring)}
            (number,) = self._db.execute(SQL["make_meter"], made).fetchone()
            self._rings[number] = ring
        return number

    def instant(self, numbers: Collection[int]) -> int:
        """When what goes on these meters happens: now, but not before their newest slots, where
        it would count nowhere after the clock was set back."""
        return max([self.now, *(self[number].newest for number in numbers)])

    def write(self) -> None:
        """Write all back."""
        for number, ring in self._rings.items():
            self._db.execute(SQL["move_meter"], {"meter": number, **_columns(ring)})


def _settle(db: sqlite3.Connection, rings: _Rings, no: int, settlement: Settlement) -> None:
    name = {"no": no, "name": pack(settlement.name)}
    held = db.execute(SQL["settle"], name).fetchone()
    if held is None and db.execute(SQL["charged"], name).fetchone():
        return
    # Before the ledger has this row, so that a meter which begins with the ledger counts it once.
    others = [rings.number(meter) for meter in settlement.meters]
    bound, numbers, at = (0, [], rings.instant(others)) if held is None else _held(*held)
    for number in numbers:
        rings[number].add(at, settlement.nano, -bound)
    # A meter that was declared since the hold has seen nothing of this money.
    for number in set(others).difference(numbers):
        rings[number].add(at, settlement.nano)
    if settlement.charge is not None:
        cost = {"nano": settlement.nano, "estimated": settlement.estimated, "at": at}
        db.execute(SQL["charge"], {**name, **cost, **_texts(settlement.charge)})


def _hold(
    db: sqlite3.Connection, rings: _Rings, run: tuple[int, int], hold: Hold
) -> Granted | Denied:
    no, token = run
    if db.execute(SQL["used"], {"no": no, "name": pack(hold.name)}).fetchone():
        return Granted()
    numbers = [rings.number(ceiling.meter) for ceiling in hold.ceilings]
    for number, ceiling in zip(numbers, hold.ceilings, strict=True):
        ring = rings[number]
        ring.move(rings.now)
        if ring.total + hold.nano > ceiling.limit:
            state = ring.state
            return Denied(ceiling.meter.key, ceiling.limit, state.spent, state.held)
    numbers, at = list(dict.fromkeys(numbers)), rings.instant(numbers)
    for number in numbers:
        rings[number].add(at, 0, hold.nano)
    made = {
        "no": no,
        "token": token,
        "name": pack(hold.name),
        "nano": hold.nano,
        "meters": json.dumps(numbers),
        "at": at,
        **_texts(hold.charge),
    }
    db.execute(SQL["hold"], made)
    return Granted()


def _held(nano: int, meters: str, at: int) -> tuple[int, list[int], int]:
    return nano, json.loads(meters), at


def _state(db: sqlite3.Connection, now: Moment, meter: Meter) -> MeterState:
    number = _number(db, meter)
    ring = _seeded(db, now.wall, meter) if number is None else _ring(db, number)
    ring.move(now.wall)
    return ring.state


def _number(db: sqlite3.Connection, meter: Meter) -> int | None:
    """The number of the meter, if it is there in this shape."""
    row = db.execute(SQL["meter"], {"key": pack(meter.key)}).fetchone()
    if row is None:
        return None
    number, *shape = row
    return number if shape == [meter.width, meter.slots] else None


def _ring(db: sqlite3.Connection, number: int) -> Ring:
    return Ring.unpack(*db.execute(SQL["ring"], {"meter": number}).fetchone())


def _seeded(db: sqlite3.Connection, now: int, meter: Meter) -> Ring:
    """A ring that begins with what the ledger has of its tenant and user, and with what is held
    on the meter, if it had another shape before."""
    ring = Ring.empty(meter.width, meter.slots, now)
    oldest = (ring.head - meter.slots + 1) * meter.width
    conditions = {"since": oldest, "until": now + 1, "tenant": meter.tenant, "user": meter.user}
    parts = [SQL[f"usage_{name}"] for name, value in conditions.items() if value is not None]
    statement = "\n".join([SQL["usage_slots"], *parts, SQL["usage_by_slot"]])
    for slot, high, low in db.execute(statement, {**conditions, "width": meter.width}).fetchall():
        ring.add(slot * meter.width, (high << 32) + low)
    for at, nano in db.execute(SQL["held_on"], {"key": pack(meter.key)}).fetchall():
        ring.add(at, 0, nano)
    return ring


def _columns(ring: Ring) -> dict[str, int | bytes]:
    return {"head": ring.head, "slots": ring.pack()}


def _texts(charge: Charge) -> dict[str, str | bytes | None]:
    return {
        "model": charge.model,
        "purpose": charge.purpose,
        "body": charge.body,
        "program": charge.program,
    }
