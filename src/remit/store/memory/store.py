"""The store in memory. Everything happens on one event loop, so that nothing need be locked."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from remit.store.bells import Bells
from remit.store.delivery import undelivered
from remit.store.memory.purse import Purse
from remit.store.memory.runs import Runs
from remit.store.memory.state import StoredRun
from remit.store.money import LedgerQuery, LedgerSum, Meter, MeterState
from remit.store.records import (
    CANCEL,
    MESSAGE,
    Append,
    Appended,
    Busy,
    Claim,
    Created,
    Delivered,
    Entry,
    Existing,
    Fenced,
    Head,
    Held,
    NewRun,
    News,
    Over,
    Query,
    Refusal,
    RunRow,
    Sent,
    Signal,
    Signalled,
    StartKey,
    Stopped,
    Undelivered,
)
from remit.values.clock import Clock, SystemClock
from remit.values.results import ENDED


@dataclass(slots=True)
class _Heart:
    clock: Clock
    workers: dict[str, float]
    lock: threading.Lock

    def beat(self, worker: str, lasts: float) -> bool:
        now = self.clock.steady()
        with self.lock:
            if self.workers.get(worker, now) <= now:
                return False
            self.workers[worker] = now + lasts
            return True

    def close(self) -> None:
        """There is nothing to let go of."""


class MemoryStore:
    """A `Store` for one event loop. Several apps may share it; `close` keeps what it holds."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._keys: dict[str, tuple[str, bytes]] = {}
        self._workers: dict[str, float] = {}
        self._sweeping = threading.Lock()
        self._purse = Purse()
        self._runs = Runs(self._clock, self._purse)
        self._bells = Bells()

    async def open(self) -> None:
        """Nothing is missing."""

    async def close(self) -> None:
        """Nothing is let go of: another may use the same store."""

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        if new.id in self._runs.by_id:
            return Created()
        if new.key is not None and new.key.key in self._keys:
            return self._existing(new.key)
        thread = self._runs.threads.get(new.thread) if new.thread is not None else None
        if thread is not None and (taken := thread.taken(new)) is not None:
            return Busy(taken, len(thread.waiting))
        if new.key is not None:
            self._keys[new.key.key] = new.id, new.key.digest
        self._runs.make(new)
        self._bells.ring()
        return Created()

    async def claim(
        self,
        worker: str,
        programs: Collection[str],
        *,
        format: int,
        room: int = 1,
        run: str | None = None,
        deploy: str = "",
    ) -> Sequence[Claim]:
        if not self._alive(worker) or room < 1:
            return []

        def wanted(one: StoredRun) -> bool:
            return one.format <= format and (not deploy or one.refused_by != deploy)

        if run is None:
            found = self._runs.dues.find(programs, self._runs.wall(), room, wanted)
        else:
            one = self._runs.by_id.get(run)
            due = one is not None and one.due is not None and one.due <= self._runs.wall()
            found = [one] if one and due and one.program in programs and wanted(one) else []
        return [self._runs.claim(one, worker) for one in found]

    async def next_due(self, programs: Collection[str]) -> float | None:
        now = self._runs.wall()
        due = self._runs.dues.next(programs, now)
        return None if due is None else (due - now) / 1e6

    async def beat(self, worker: str, lasts: float, *, join: bool = False) -> Sequence[Held] | None:
        if join and worker not in self._workers:
            self._workers[worker] = self._clock.steady() + lasts
        if not self._alive(worker):
            return None
        self._workers[worker] = self._clock.steady() + lasts
        held = self._runs.held.get(worker, {})
        return [Held(run.id, run.token, run.inbox) for run in held.values()]

    def heart(self) -> _Heart:
        return _Heart(self._clock, self._workers, self._sweeping)

    async def release(
        self,
        worker: str,
        run: str,
        token: int,
        *,
        abandoned: bool = False,
        refusal: Refusal | None = None,
    ) -> bool:
        held = self._runs.held.get(worker, {}).get(run)
        if held is None or held.token != token or not self._alive(worker):
            return False
        if abandoned:
            held.lost = self._clock.steady()
        if refusal is not None:
            held.refused_by, held.refused = refusal.deploy, refusal.reason
        self._runs.let_go(held, "queued")
        self._bells.ring()
        return True

    async def append(self, batch: Sequence[Append]) -> Sequence[Appended | Fenced | News]:
        outcomes = [self._append(item) for item in batch]
        self._bells.ring()
        return outcomes

    async def read(self, run: str, after: int = 0) -> Sequence[Entry]:
        found = self._runs.by_id.get(run)
        return [] if found is None else found.entries[max(after, 0) :]

    async def lineage(self, run: str) -> Sequence[Sequence[Entry]]:
        journals: list[list[Entry]] = []
        found = self._runs.by_id.get(run)
        while found is not None and (base := found.base) is not None:
            found = self._runs.by_id.get(base.run)
            if found is not None:
                journals.append(found.entries[: base.seq])
        return journals[::-1]

    async def get(self, run: str) -> RunRow | None:
        found = self._runs.by_id.get(run)
        return None if found is None else found.row()

    async def heads(self, runs: Collection[str]) -> Mapping[str, Head]:
        known = (self._runs.by_id[run] for run in runs if run in self._runs.by_id)
        return {run.id: Head(len(run.entries), run.status) for run in known}

    async def find(self, query: Query) -> Sequence[RunRow]:
        page = islice(self._matches(query), max(query.limit, 0))
        return [run.row() for run in page]

    async def thread_head(self, thread: str) -> str | None:
        found = self._runs.threads.get(thread)
        return None if found is None else found.head

    async def deliver(
        self, run: str, answers: Mapping[str, bytes], id: str
    ) -> Delivered | Undelivered | None:
        found = self._runs.by_id.get(run)
        if found is None:
            return None
        if any(one.id == id for key, one in found.signals.items() if not key.startswith(MESSAGE)):
            return Delivered(found.needs)
        if found.status in ENDED:
            return Undelivered(found.status)
        asked = {key: signal.answer for key, signal in found.signals.items()}
        refused = undelivered(found.status, asked, answers)
        if refused is not None:
            return refused
        for key, answer in answers.items():
            found.take(Signal(key, answer, id, self._runs.wall()))
        found.needs -= len(answers)
        if not found.needs and found.status == "paused":
            self._runs.queue(found)
        self._bells.ring()
        return Delivered(found.needs)

    async def send(self, run: str, body: bytes, id: str) -> Sent | Over:
        found = self._runs.by_id.get(run)
        if found is None or found.status in ENDED:
            return Over(None if found is None else found.status)
        if MESSAGE + id not in found.signals:
            found.take(Signal(MESSAGE + id, body, id, self._runs.wall()))
            if found.status == "paused" and found.listens:
                self._runs.queue(found)
            self._bells.ring()
        return Sent()

    async def signals(self, run: str) -> Sequence[Signal]:
        found = self._runs.by_id.get(run)
        if found is None:
            return []
        signals = found.signals.values()
        asked = (signal for signal in signals if signal.answer is None)
        return [
            *(signal for signal in signals if signal.answer is not None),
            *sorted(asked, key=lambda signal: signal.key.encode("utf-8", "surrogatepass")),
        ]

    async def cancel(
        self, run: str, body: bytes, format: int, signal: bytes
    ) -> Stopped | Signalled | Over:
        found = self._runs.by_id.get(run)
        if found is None or found.status in ENDED:
            return Over(None if found is None else found.status)
        self._bells.ring()
        if found.status == "running":
            asked = found.signals.get(CANCEL)
            if asked is None or asked.answer is None:
                found.take(Signal(CANCEL, signal, None, self._runs.wall()))
            return Signalled()
        self._runs.write(found, (body,), format)
        found.needs = 0
        self._runs.end(found, "cancelled")
        return Stopped(len(found.entries))

    async def sweep(self, limit: int = 500) -> Sequence[str]:
        swept: list[str] = []
        for worker in [worker for worker in self._workers if not self._alive(worker)]:
            with self._sweeping:
                if self._alive(worker):
                    continue
                until = self._workers[worker]
                held = self._runs.held.get(worker, {})
                for run in list(held.values())[: max(limit - len(swept), 0)]:
                    run.token += 1
                    run.deaths += 1
                    run.lost = until
                    self._runs.let_go(run, "queued")
                    swept.append(run.id)
                if not held:
                    del self._workers[worker]
                    self._runs.held.pop(worker, None)
        if swept:
            self._bells.ring()
        return swept

    async def meters(self, meters: Sequence[Meter]) -> Sequence[MeterState]:
        return [self._purse.state(meter, self._runs.wall()) for meter in meters]

    async def usage(self, query: LedgerQuery) -> Sequence[LedgerSum]:
        return self._purse.usage(query)

    async def delete_before(self, when: int, limit: int = 500) -> int:
        runs = list(self._runs.by_id.values())
        built_on = Counter(run.base.run for run in runs if run.base is not None)
        count = 0
        # Whoever builds on a run was made after it, and is looked at before it.
        for run in reversed(runs):
            old = run.ended is not None and run.ended < when
            if old and count < limit and not built_on[run.id] and not self._runs.is_needed(run):
                self._runs.delete(run)
                count += 1
                if run.base is not None:
                    built_on[run.base.run] -= 1
        return count

    async def forget(self, user: str, tenant: str | None, limit: int = 500) -> int:
        theirs = [
            run
            for run in self._runs.by_id.values()
            if run.user == user and run.tenant == tenant and run.status in ENDED
        ]
        for run in theirs[: max(limit, 0)]:
            self._runs.delete(run)
        return len(theirs[: max(limit, 0)])

    def wakeups(self) -> AsyncIterator[None]:
        return self._bells.hang()

    def _append(self, item: Append) -> Appended | Fenced | News:
        run = self._runs.by_id.get(item.run)
        if (
            run is None
            or run.status != "running"
            or run.token != item.token
            or len(run.entries) != item.seq
        ):
            return Fenced()
        if (item.status is not None or item.withdraws) and item.seen != run.inbox:
            return News(run.inbox)
        run.deaths = 0
        now = self._runs.wall() if item.settles or item.holds else 0
        for settlement in item.settles:
            self._purse.settle(run, settlement, now)
        grants = tuple([self._purse.hold(run, hold, now) for hold in item.holds])
        self._runs.write(run, item.entries, item.format)
        if item.withdraws:
            self._runs.withdraw(run, item.withdraws)
        if item.status == "paused":
            self._runs.pause(run, item)
        elif item.status is not None:
            self._runs.end(run, item.status)
        return Appended(len(run.entries), run.inbox, grants)

    def _existing(self, key: StartKey) -> Existing:
        run, digest = self._keys[key.key]
        return Existing(run, other=digest != key.digest)

    def _matches(self, query: Query) -> Iterator[StoredRun]:
        """The runs that the query means, newest first."""
        wanted = {
            name: value
            for name in ("status", "user", "tenant", "thread")
            if (value := getattr(query, name)) is not None
        }
        on = query.before is None
        for run in reversed(self._runs.by_id.values()):
            if query.names is not None and run.program.partition("@")[0] not in query.names:
                pass
            elif on and all(getattr(run, name) == value for name, value in wanted.items()):
                yield run
            on = on or run.id == query.before

    def _alive(self, worker: str) -> bool:
        return self._workers.get(worker, float("-inf")) > self._clock.steady()
