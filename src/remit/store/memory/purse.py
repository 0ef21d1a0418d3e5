"""Money in memory: meters, holds and the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from remit.store.memory.state import StoredRun
from remit.store.money import (
    MOST,
    Charge,
    Denied,
    Granted,
    Hold,
    LedgerQuery,
    LedgerSum,
    Meter,
    MeterState,
    Settlement,
)


class Ring:
    """A meter's slots. Slot numbers count from 1970; the ring holds the newest of them."""

    def __init__(self, meter: Meter) -> None:
        self.shape = meter.width, meter.slots
        self._width = meter.width
        self._slots = [0] * meter.slots
        self._head = 0

    def move(self, now: int) -> None:
        """Let slots go that have left the window. A clock that is set back moves nothing."""
        head = now // self._width
        for slot in range(max(self._head + 1, head - len(self._slots) + 1), head + 1):
            self._slots[slot % len(self._slots)] = 0
        self._head = max(head, self._head)

    def covers(self, at: int) -> bool:
        """Whether the slot of `at` is still in the window."""
        return at // self._width > self._head - len(self._slots)

    def add(self, at: int, nano: int) -> None:
        """Add to the slot of `at`, unless it has left the window."""
        self.move(at)
        if self.covers(at):
            self._slots[at // self._width % len(self._slots)] += nano

    @property
    def newest(self) -> int:
        """The time at which the newest slot begins."""
        return self._head * self._width

    @property
    def total(self) -> int:
        """The sum of the window."""
        return sum(self._slots)


@dataclass(frozen=True, slots=True)
class _Held:
    nano: int
    keys: tuple[str, ...]
    at: int
    charge: Charge


@dataclass(frozen=True, slots=True)
class _Row:
    run: str
    nano: int
    estimated: bool
    at: int
    tenant: str | None
    user: str | None
    program: str
    model: str
    purpose: str
    body: bytes


class Purse:
    """All money of a store, in whole nano-units."""

    def __init__(self) -> None:
        self._rings: dict[str, Ring] = {}
        self._holds: dict[str, dict[str, _Held]] = {}
        self._ledger: dict[tuple[str, str], _Row] = {}

    def settle(self, run: StoredRun, settlement: Settlement, now: int) -> None:
        """Write what was spent, at the instant of its hold if there was one."""
        held = self._holds.get(run.id, {}).pop(settlement.name, None)
        if held is None and (run.id, settlement.name) in self._ledger:
            return
        keys = () if held is None else held.keys
        # Declared since: it has seen nothing of this money.
        others = {one.key: self._made(one, now) for one in settlement.meters if one.key not in keys}
        at = _instant(others.values(), now) if held is None else held.at
        for ring in others.values():
            ring.add(at, settlement.nano)
        if held is not None:
            for key in keys:
                self._rings[key].add(at, settlement.nano - held.nano)
        if settlement.charge is not None:
            self._note(
                run, settlement.name, settlement.nano, settlement.estimated, at, settlement.charge
            )

    def hold(self, run: StoredRun, hold: Hold, now: int) -> Granted | Denied:
        """Hold money if every ceiling has room for it, and once under a name."""
        if self._is_used(run, hold.name):
            return Granted()
        rings = {one.meter.key: self._made(one.meter, now) for one in hold.ceilings}
        for ceiling in hold.ceilings:
            key, ring = ceiling.meter.key, rings[ceiling.meter.key]
            ring.move(now)
            if ring.total + hold.nano > ceiling.limit:
                stands = self._stands(key, ring)
                return Denied(key, ceiling.limit, stands.spent, stands.held)
        at = _instant(rings.values(), now)
        for ring in rings.values():
            ring.add(at, hold.nano)
        held = _Held(hold.nano, tuple(rings), at, hold.charge)
        self._holds.setdefault(run.id, {})[hold.name] = held
        return Granted()

    def close(self, run: StoredRun) -> None:
        """Settle what is still held at its bound, as an estimate."""
        for name, held in self._holds.pop(run.id, {}).items():
            self._note(run, name, held.nano, True, held.at, held.charge)

    def state(self, meter: Meter, now: int) -> MeterState:
        """What a meter stands at."""
        ring = self._ring(meter, now)
        ring.move(now)
        return self._stands(meter.key, ring)

    def usage(self, query: LedgerQuery) -> list[LedgerSum]:
        """The ledger added up by the query's groups."""
        sums: dict[tuple[str | None, ...], list[int]] = {} if query.by else {(): [0, 0, 0]}
        for row in self._ledger.values():
            if _matches(row, query):
                group = tuple([_group(row, name) for name in query.by])
                found = sums.setdefault(group, [0, 0, 0])
                found[0] += row.nano
                found[1] += row.nano if row.estimated else 0
                found[2] += 1
        ordered = sorted(sums.items(), key=lambda item: [(part or "") for part in item[0]])
        return [LedgerSum(group, *found) for group, found in ordered]

    def _note(
        self,
        run: StoredRun,
        name: str,
        nano: int,
        estimated: bool,
        at: int,
        charge: Charge,
    ) -> None:
        row = _Row(
            run=run.id,
            nano=nano,
            estimated=estimated,
            at=at,
            tenant=run.tenant,
            user=run.user,
            program=charge.program or run.program.partition("@")[0],
            model=charge.model,
            purpose=charge.purpose,
            body=charge.body,
        )
        self._ledger.setdefault((run.id, name), row)

    def _is_used(self, run: StoredRun, name: str) -> bool:
        return name in self._holds.get(run.id, {}) or (run.id, name) in self._ledger

    def _made(self, meter: Meter, now: int) -> Ring:
        """The meter's ring, which is kept from now on."""
        ring = self._rings[meter.key] = self._ring(meter, now)
        return ring

    def _ring(self, meter: Meter, now: int) -> Ring:
        """The meter's ring. One that is not there yet, in this shape, begins with what the ledger
        has, and with what is held on the meter."""
        ring = self._rings.get(meter.key)
        if ring is None or ring.shape != (meter.width, meter.slots):
            ring = Ring(meter)
            ring.move(now)
            for row in self._ledger.values():
                if _of(meter, row):
                    ring.add(row.at, row.nano)
            for held in self._held(meter.key):
                ring.add(held.at, held.nano)
        return ring

    def _stands(self, key: str, ring: Ring) -> MeterState:
        held = sum(held.nano for held in self._held(key) if ring.covers(held.at))
        return MeterState(min(ring.total - held, MOST), min(held, MOST))

    def _held(self, key: str) -> Iterator[_Held]:
        """What is held on a meter, whatever time it covers."""
        for holds in self._holds.values():
            yield from (held for held in holds.values() if key in held.keys)


def _instant(rings: Iterable[Ring], now: int) -> int:
    """When what goes on these rings happens: now, but not before their newest slots, where it
    would count nowhere after the clock was set back."""
    return max([now, *(ring.newest for ring in rings)])


def _of(meter: Meter, row: _Row) -> bool:
    return (meter.tenant is None or row.tenant == meter.tenant) and (
        meter.user is None or row.user == meter.user
    )


def _matches(row: _Row, query: LedgerQuery) -> bool:
    wanted = {
        "user": query.user,
        "tenant": query.tenant,
        "run": query.run,
        "program": query.name,
    }
    return (
        all(value is None or getattr(row, name) == value for name, value in wanted.items())
        and (query.since is None or row.at >= query.since)
        and (query.until is None or row.at < query.until)
    )


def _group(row: _Row, name: str) -> str | None:
    if name == "day":
        return datetime.fromtimestamp(row.at / 1e6, UTC).date().isoformat()
    found: str | None = getattr(row, name)
    return found
