"""A store in its plainest form: what the laws say, without regard to speed, locks or bytes.

It is told every call and says what the call must give. One meter counts all money.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from remit.store.money import Denied, Granted, Hold, LedgerSum, MeterState, Settlement
from remit.store.records import (
    MESSAGE,
    Append,
    Appended,
    Base,
    Busy,
    Created,
    Delivered,
    Fenced,
    Held,
    NewRun,
    News,
    Over,
    Sent,
    Signalled,
    Stopped,
    Undelivered,
)
from remit.values.results import ENDED, Status


@dataclass
class PlainRun:
    """A run. `signals` are its keys in the order of their coming, None while unanswered."""

    id: str
    thread: str | None
    base: Base | None
    due: int | None
    status: Status = "queued"
    seq: int = 1
    token: int = 0
    worker: str | None = None
    inbox: int = 0
    deaths: int = 0
    listens: bool = False
    ended: int | None = None
    signals: dict[str, bytes | None] = field(default_factory=dict)
    holds: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def needs(self) -> int:
        """How many keys want an answer."""
        return sum(answer is None for answer in self.signals.values())

    def answer(self, key: str, body: bytes) -> None:
        """Keep an answer behind those that came before."""
        self.signals.pop(key, None)
        self.signals[key] = body
        self.inbox += 1


@dataclass
class PlainThread:
    """Who lives on a thread, its newest ended run, and who waits."""

    live: PlainRun | None = None
    head: PlainRun | None = None
    waiting: list[PlainRun] = field(default_factory=list)


class PlainStore:
    """All that a store knows. `now` is the wall time, by which leases end too; money counts
    for `slots` times `width` microseconds."""

    def __init__(self, now: int, slots: int, width: int) -> None:
        self.now = now
        self.runs: dict[str, PlainRun] = {}
        self.threads: defaultdict[str, PlainThread] = defaultdict(PlainThread)
        self.workers: dict[str, int] = {}
        self._slots, self._width = slots, width
        self._spent: list[tuple[int, int]] = []
        self.ledger = LedgerSum((), 0, 0, 0)

    def create(self, new: NewRun) -> Created | Busy:
        run = PlainRun(new.id, new.thread, new.base, self.now if new.due is None else new.due)
        if new.thread is not None:
            thread = self.threads[new.thread]
            if thread.live is not None and len(thread.waiting) >= (new.enqueue or 0):
                return Busy(thread.live.id, len(thread.waiting))
            run.due = None
            thread.waiting.append(run)
            self._let_next_go(thread)
        self.runs[run.id] = run
        return Created()

    def beat(self, worker: str, lasts: int, join: bool) -> list[Held] | None:
        if join and worker not in self.workers:
            self.workers[worker] = self.now + lasts
        if not self.lives(worker):
            return None
        self.workers[worker] = self.now + lasts
        return [Held(run.id, run.token, run.inbox) for run in self.held(worker)]

    def lives(self, worker: str) -> bool:
        return self.workers.get(worker, self.now) > self.now

    def held(self, worker: str) -> list[PlainRun]:
        return [run for run in self.runs.values() if run.worker == worker]

    def due(self) -> list[PlainRun]:
        """Who may be claimed, the longest due first."""
        due = [(run.due, run) for run in self.runs.values() if run.due is not None]
        return [run for at, run in sorted(due, key=lambda one: one[0]) if at <= self.now]

    def next_due(self) -> int | None:
        """How many microseconds from now the next sleeper is due."""
        later = [run.due - self.now for run in self.runs.values() if run.due is not None]
        return min((left for left in later if left > 0), default=None)

    def claim(self, run: PlainRun, worker: str) -> None:
        run.token += 1
        run.status, run.worker, run.due, run.listens = "running", worker, None, False

    def release(self, worker: str, run: PlainRun, token: int) -> bool:
        if run.worker != worker or run.token != token or not self.lives(worker):
            return False
        self._queue(run)
        return True

    def sweep(self) -> list[str]:
        """Who is swept if nothing limits it."""
        lost = [run for run in self.runs.values() if run.worker and not self.lives(run.worker)]
        for run in lost:
            run.token += 1
            run.deaths += 1
            self._queue(run)
        self.workers = {name: until for name, until in self.workers.items() if until > self.now}
        return [run.id for run in lost]

    def append(self, item: Append) -> Appended | Fenced | News:
        run = self.runs[item.run]
        if (run.status, run.token, run.seq) != ("running", item.token, item.seq):
            return Fenced()
        if (item.status or item.withdraws) and item.seen != run.inbox:
            return News(run.inbox)
        for settlement in item.settles:
            self._settle(run, settlement)
        grants = tuple([self._hold(run, hold) for hold in item.holds])
        run.seq += len(item.entries)
        run.deaths = 0
        for key in item.withdraws:
            if run.signals.get(key, b"") is None:
                del run.signals[key]
        if item.status == "paused":
            self._pause(run, item)
        elif item.status is not None:
            self._end(run, item.status)
        return Appended(run.seq, run.inbox, grants)

    def deliver(self, run: PlainRun, answers: dict[str, bytes]) -> Delivered | Undelivered:
        if run.status in ENDED:
            return Undelivered(run.status)
        known = {key: run.signals[key] for key in answers if key in run.signals}
        answered = {key: answer for key, answer in known.items() if answer is not None}
        unknown = tuple(key for key in answers if key not in known)
        if answered or unknown:
            return Undelivered(run.status, answered, unknown)
        for key, answer in answers.items():
            run.answer(key, answer)
        if run.status == "paused" and not run.needs:
            self._queue(run)
        return Delivered(run.needs)

    def send(self, run: PlainRun, id: str, body: bytes) -> Sent | Over:
        if run.status in ENDED:
            return Over(run.status)
        if MESSAGE + id not in run.signals:
            run.answer(MESSAGE + id, body)
            if run.status == "paused" and run.listens:
                self._queue(run)
        return Sent()

    def cancel(self, run: PlainRun, signal: bytes) -> Stopped | Signalled | Over:
        if run.status in ENDED:
            return Over(run.status)
        if run.status == "running":
            if "cancel" not in run.signals:
                run.answer("cancel", signal)
            return Signalled()
        run.seq += 1
        self._end(run, "cancelled")
        return Stopped(run.seq)

    def meter(self) -> MeterState:
        """What is spent and held in the window."""
        held = [hold for run in self.runs.values() for hold in run.holds.values()]
        return MeterState(self._inside(self._spent), self._inside(held))

    def _inside(self, money: list[tuple[int, int]]) -> int:
        oldest = self.now // self._width - self._slots + 1
        return sum(nano for nano, at in money if at // self._width >= oldest)

    def _queue(self, run: PlainRun) -> None:
        run.status, run.worker, run.due, run.listens = "queued", None, self.now, False

    def _pause(self, run: PlainRun, item: Append) -> None:
        for key in item.asks:
            run.signals.setdefault(key, None)
        if item.asks and not run.needs:
            self._queue(run)
        else:
            run.status, run.worker = "paused", None
            run.due, run.listens = item.due, item.listens

    def _end(self, run: PlainRun, status: Status) -> None:
        run.status, run.worker, run.due, run.listens = status, None, None, False
        run.ended = self.now
        for nano, at in run.holds.values():
            self._spend(nano, at, estimated=True)
        run.holds = {}
        if run.thread is None:
            return
        thread = self.threads[run.thread]
        if run in thread.waiting:
            thread.waiting.remove(run)
        elif thread.live is run:
            thread.live, thread.head = None, run
            self._let_next_go(thread)

    def _let_next_go(self, thread: PlainThread) -> None:
        if thread.live is not None or not thread.waiting:
            return
        run = thread.live = thread.waiting.pop(0)
        run.due = self.now
        if run.base is None and thread.head is not None:
            run.base = Base(thread.head.id, thread.head.seq)

    def _settle(self, run: PlainRun, settlement: Settlement) -> None:
        _, at = run.holds.pop(settlement.name)
        if settlement.charge is not None:
            self._spend(settlement.nano, at, settlement.estimated)

    def _spend(self, nano: int, at: int, estimated: bool) -> None:
        self._spent.append((nano, at))
        was = self.ledger
        self.ledger = LedgerSum(
            (), was.nano + nano, was.estimated + nano * estimated, was.calls + 1
        )

    def _hold(self, run: PlainRun, hold: Hold) -> Granted | Denied:
        (ceiling,) = hold.ceilings
        stands = self.meter()
        if stands.spent + stands.held + hold.nano > ceiling.limit:
            return Denied(ceiling.meter.key, ceiling.limit, stands.spent, stands.held)
        run.holds[hold.name] = hold.nano, self.now
        return Granted()
