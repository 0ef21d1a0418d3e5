"""A meter's slots: what was spent and what is held, in each stretch of the time that it covers."""

from __future__ import annotations

import struct
from typing import Self

from remit.store.money import MOST, MeterState


class Ring:
    """Slots of `width` microseconds, numbered since 1970. `head` is the newest; the ring covers
    it and as many before it as there are others."""

    def __init__(self, width: int, head: int, spent: list[int], held: list[int]) -> None:
        self.width = width
        self.head = head
        self._spent = spent
        self._held = held

    @classmethod
    def empty(cls, width: int, slots: int, at: int) -> Self:
        """A ring whose newest slot is that of the time `at`."""
        return cls(width, at // width, [0] * slots, [0] * slots)

    @classmethod
    def unpack(cls, width: int, head: int, packed: bytes) -> Self:
        """The ring that was packed."""
        numbers = struct.unpack(f"<{len(packed) // 8}q", packed)
        slots = len(numbers) // 2
        return cls(width, head, list(numbers[:slots]), list(numbers[slots:]))

    def pack(self) -> bytes:
        """Its slots as bytes, up to what a slot can say: what is spent, then what is held."""
        slots = [min(max(nano, -MOST), MOST) for nano in (*self._spent, *self._held)]
        return struct.pack(f"<{len(slots)}q", *slots)

    @property
    def slots(self) -> int:
        return len(self._spent)

    @property
    def state(self) -> MeterState:
        """What the covered time comes to."""
        return MeterState(min(sum(self._spent), MOST), min(sum(self._held), MOST))

    @property
    def total(self) -> int:
        """What is spent and what is held."""
        return sum(self._spent) + sum(self._held)

    @property
    def newest(self) -> int:
        """The time at which the newest slot begins."""
        return self.head * self.width

    def move(self, at: int) -> None:
        """Cover the time `at`. A clock that was set back moves nothing."""
        head = at // self.width
        for slot in range(max(self.head + 1, head - self.slots + 1), head + 1):
            self._spent[slot % self.slots] = self._held[slot % self.slots] = 0
        self.head = max(self.head, head)

    def add(self, at: int, spent: int, held: int = 0) -> None:
        """Add to the slot of `at`, unless it is covered no more."""
        self.move(at)
        slot = at // self.width
        if slot > self.head - self.slots:
            self._spent[slot % self.slots] += spent
            self._held[slot % self.slots] += held
