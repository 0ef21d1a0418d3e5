"""What the store in memory holds of runs and of their threads."""

from __future__ import annotations

from dataclasses import dataclass, field

from remit.store.records import Base, Entry, NewRun, RunRow, Signal
from remit.values.results import Status


@dataclass(slots=True, eq=False)
class StoredRun:
    """A run, its journal and its signals. `turn` is its place among runs of the same due time."""

    id: str
    program: str
    tenant: str | None
    user: str | None
    thread: str | None
    base: Base | None
    format: int
    created: int
    entries: list[Entry]
    status: Status = "queued"
    token: int = 0
    worker: str | None = None
    inbox: int = 0
    needs: int = 0
    due: int | None = None
    listens: bool = False
    turn: int = 0
    deaths: int = 0
    lost: float | None = None
    ended: int | None = None
    refused_by: str | None = None
    refused: str | None = None
    signals: dict[str, Signal] = field(default_factory=dict)

    def row(self) -> RunRow:
        """What a store tells of it."""
        return RunRow(
            id=self.id,
            program=self.program,
            status=self.status,
            seq=len(self.entries),
            token=self.token,
            tenant=self.tenant,
            user=self.user,
            thread=self.thread,
            deaths=self.deaths,
            created=self.created,
            ended=self.ended,
            due=self.due,
            base=self.base,
            refused=self.refused,
        )

    def count_needs(self) -> None:
        """Count the keys that want an answer."""
        self.needs = sum(signal.answer is None for signal in self.signals.values())

    def take(self, signal: Signal) -> None:
        """Store an answered signal behind those that were answered before it."""
        self.signals.pop(signal.key, None)
        self.signals[signal.key] = signal
        self.inbox += 1


@dataclass(slots=True)
class Thread:
    """Who lives on a thread, its newest ended run, and who waits for a turn, in order."""

    live: str | None = None
    head: str | None = None
    waiting: dict[str, StoredRun] = field(default_factory=dict)

    def taken(self, new: NewRun) -> str | None:
        """The run for whose sake `new` can neither begin here nor wait; None if it can."""
        if new.base is not None:
            return self.live or self.head
        return self.live if len(self.waiting) >= (new.enqueue or 0) else None

    @property
    def empty(self) -> bool:
        """Whether nothing would be lost with it."""
        return self.live is None and self.head is None and not self.waiting
