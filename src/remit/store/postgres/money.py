"""Money that goes with an append: it is locked, settled and held before the run is moved on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from remit.store.money import Ceiling, Denied, Granted, Hold, Meter, Settlement
from remit.store.postgres.script import Script
from remit.store.postgres.statements import pack
from remit.store.postgres.wire import Rows
from remit.store.records import Append

Grants = list[Granted | Denied]


def lock(script: Script, items: Iterable[Append]) -> None:
    """Make the meters of `items` where they are missing, and lock those and what their runs
    hold on."""
    meters: dict[str, Meter] = {}
    settling: dict[str, None] = {}
    for item in items:
        for hold in item.holds:
            meters.update({ceiling.meter.key: ceiling.meter for ceiling in hold.ceilings})
        for settlement in item.settles:
            meters.update({meter.key: meter for meter in settlement.meters})
            settling[item.run] = None
    if meters:
        script.call("make_meter", **named(list(meters.values())))
    if meters or settling:
        script.call("lock_meter", keys=[pack(key) for key in meters], runs=list(settling))


def settle(script: Script, items: Sequence[Append], fence: dict[str, Any]) -> None:
    """Write the settlements of those items that are at their `fence`."""
    told = [
        (owner, settlement) for owner, item in enumerate(items, 1) for settlement in item.settles
    ]
    if not told:
        return
    meters = [
        (place, key)
        for place, (_, settlement) in enumerate(told, 1)
        for key in {meter.key: None for meter in settlement.meters}
    ]
    script.call(
        "settle",
        **fence,
        **_charged(told),
        estimated=[int(settlement.estimated) for _, settlement in told],
        places=[place for place, _ in meters],
        keys=[pack(key) for _, key in meters],
    )


def hold(script: Script, items: Sequence[Append], fence: dict[str, Any]) -> list[Grants]:
    """Hold money for those items that are at their `fence`. The grants of each item are told
    when the rows are heard."""
    grants: list[Grants] = [[Granted()] * len(item.holds) for item in items]
    wanted = [(owner, hold) for owner, item in enumerate(items, 1) for hold in item.holds]
    if not wanted:
        return grants
    ceilings = [
        (place, ceiling) for place, (_, hold) in enumerate(wanted, 1) for ceiling in hold.ceilings
    ]
    numbers = {key: n for n, key in enumerate(_keys(ceiling for _, ceiling in ceilings), 1)}
    script.call(
        "hold",
        _denied(grants, wanted, list(numbers)),
        **fence,
        **_charged(wanted),
        keys=[pack(key) for key in numbers],
        places=[place for place, _ in ceilings],
        numbers=[numbers[ceiling.meter.key] for _, ceiling in ceilings],
        limits=[ceiling.limit for _, ceiling in ceilings],
    )
    return grants


def named(meters: Sequence[Meter]) -> dict[str, Any]:
    """The meters, column by column."""
    return {
        "keys": [pack(meter.key) for meter in meters],
        "lengths": [meter.slots for meter in meters],
        "widths": [meter.width for meter in meters],
        "tenants": [meter.tenant for meter in meters],
        "users": [meter.user for meter in meters],
    }


def _keys(ceilings: Iterable[Ceiling]) -> dict[str, None]:
    return {ceiling.meter.key: None for ceiling in ceilings}


def _denied(
    grants: list[Grants], wanted: Sequence[tuple[int, Hold]], keys: Sequence[str]
) -> Callable[[Rows], None]:
    places = [(owner, place) for owner, item in enumerate(grants) for place in range(len(item))]
    assert len(places) == len(wanted)

    def heard(rows: Rows) -> None:
        for number, meter, limit, spent, held in rows:
            owner, place = places[number - 1]
            grants[owner][place] = Denied(keys[meter - 1], limit, spent, held)

    return heard


def _charged(told: Sequence[tuple[int, Hold | Settlement]]) -> dict[str, Any]:
    charges = [one.charge for _, one in told]
    return {
        "owners": [owner for owner, _ in told],
        "names": [pack(one.name) for _, one in told],
        "nanos": [one.nano for _, one in told],
        "models": [None if charge is None else charge.model for charge in charges],
        "purposes": [None if charge is None else charge.purpose for charge in charges],
        "bodies": [None if charge is None else charge.body for charge in charges],
        "programs": [None if charge is None else charge.program for charge in charges],
    }
