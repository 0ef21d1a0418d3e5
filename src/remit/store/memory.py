"""The store that ends with the process: the same laws, kept in dictionaries."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice

from remit.store.bells import Bells
from remit.store.records import (
    CANCEL,
    ENDED,
    Append,
    Appended,
    Busy,
    Claim,
    Created,
    Delivered,
    Entry,
    Fenced,
    Head,
    Held,
    NewRun,
    News,
    Over,
    Query,
    RunRow,
    Signal,
    Signalled,
    Status,
    Stopped,
    Undelivered,
)
from remit.values.clock import Clock, SystemClock


@dataclass(slots=True, eq=False)
class _Run:
    id: str
    program: str
    tenant: str | None
    user: str | None
    thread: str | None
    base: str | None
    format: int
    created: int
    entries: list[Entry]
    status: Status = "queued"
    token: int = 0
    worker: str | None = None
    inbox: int = 0
    needs: int = 0
    due: int | None = None
    turn: int = 0
    deaths: int = 0
    lost: float | None = None
    ended: int | None = None
    signals: dict[str, Signal] = field(default_factory=dict)


@dataclass(slots=True)
class _Thread:
    live: str | None = None
    head: str | None = None


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
        self._runs: dict[str, _Run] = {}
        self._threads: dict[str, _Thread] = {}
        self._workers: dict[str, float] = {}
        self._sweeping = threading.Lock()
        self._held: dict[str, dict[str, _Run]] = {}
        self._queued: dict[str, dict[str, _Run]] = {}
        self._turns = count()
        self._bells = Bells()

    async def open(self) -> None:
        """Nothing is missing."""

    async def close(self) -> None:
        """Nothing is let go of: another may use the same store."""

    async def create(self, new: NewRun) -> Created | Busy:
        if new.id in self._runs:
            return Created()
        base = None
        if new.thread is not None:
            thread = self._threads.setdefault(new.thread, _Thread())
            if thread.live is not None:
                return Busy(thread.live)
            thread.live, base = new.id, thread.head
        run = _Run(
            id=new.id,
            program=new.program,
            tenant=new.tenant,
            user=new.user,
            thread=new.thread,
            base=base,
            format=new.format,
            created=self._wall(),
            entries=[Entry(1, 0, new.format, new.body)],
        )
        self._runs[run.id] = run
        self._queue(run)
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
    ) -> Sequence[Claim]:
        if not self._alive(worker):
            return []
        found = [
            one
            for program in dict.fromkeys(programs)
            for one in islice(self._due(program, format, run), max(room, 0))
        ]
        found.sort(key=lambda one: (one.due, one.turn))
        return [self._claim(one, worker) for one in found[: max(room, 0)]]

    async def beat(self, worker: str, lasts: float, *, join: bool = False) -> Sequence[Held] | None:
        if join and worker not in self._workers:
            self._workers[worker] = self._clock.steady() + lasts
        if not self._alive(worker):
            return None
        self._workers[worker] = self._clock.steady() + lasts
        held = self._held.get(worker, {})
        return [Held(run.id, run.token, run.inbox) for run in held.values()]

    def heart(self) -> _Heart:
        return _Heart(self._clock, self._workers, self._sweeping)

    async def release(self, worker: str, run: str, token: int, *, abandoned: bool = False) -> bool:
        held = self._held.get(worker, {}).get(run)
        if held is None or held.token != token or not self._alive(worker):
            return False
        if abandoned:
            held.lost = self._clock.steady()
        self._let_go(held, "queued")
        self._bells.ring()
        return True

    async def append(self, batch: Sequence[Append]) -> Sequence[Appended | Fenced | News]:
        outcomes = [self._append(item) for item in batch]
        self._bells.ring()
        return outcomes

    async def read(self, run: str, after: int = 0) -> Sequence[Entry]:
        found = self._runs.get(run)
        return [] if found is None else found.entries[max(after, 0) :]

    async def lineage(self, run: str) -> Sequence[Sequence[Entry]]:
        journals: list[list[Entry]] = []
        found = self._runs.get(run)
        while found is not None and found.base is not None:
            found = self._runs[found.base]
            journals.append(found.entries[:])
        return journals[::-1]

    async def get(self, run: str) -> RunRow | None:
        found = self._runs.get(run)
        return None if found is None else _row(found)

    async def heads(self, runs: Collection[str]) -> Mapping[str, Head]:
        known = (self._runs[run] for run in runs if run in self._runs)
        return {run.id: Head(len(run.entries), run.status) for run in known}

    async def find(self, query: Query) -> Sequence[RunRow]:
        page = islice(self._matches(query), max(query.limit, 0))
        return [_row(run) for run in page]

    async def thread_head(self, thread: str) -> str | None:
        found = self._threads.get(thread)
        return None if found is None else found.head

    async def deliver(
        self, run: str, answers: Mapping[str, bytes], id: str
    ) -> Delivered | Undelivered | None:
        found = self._runs.get(run)
        if found is None:
            return None
        if any(signal.id == id for signal in found.signals.values()):
            return Delivered(found.needs)
        if found.status != "paused":
            return Undelivered(found.status)
        known = {key: found.signals[key] for key in answers if key in found.signals}
        answered = {
            key: signal.answer for key, signal in known.items() if signal.answer is not None
        }
        unknown = tuple(key for key in answers if key not in known)
        if answered or unknown:
            return Undelivered("paused", answered, unknown)
        for key, answer in answers.items():
            self._answer(found, Signal(key, answer, id, self._wall()))
        found.needs -= len(answers)
        if not found.needs:
            self._queue(found)
        self._bells.ring()
        return Delivered(found.needs)

    async def signals(self, run: str) -> Sequence[Signal]:
        found = self._runs.get(run)
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
        found = self._runs.get(run)
        if found is None or found.status in ENDED:
            return Over(None if found is None else found.status)
        self._bells.ring()
        if found.status == "running":
            asked = found.signals.get(CANCEL)
            if asked is None or asked.answer is None:
                self._answer(found, Signal(CANCEL, signal, None, self._wall()))
            return Signalled()
        self._write(found, (body,), format)
        found.needs = 0
        self._end(found, "cancelled")
        return Stopped(len(found.entries))

    async def sweep(self) -> Sequence[str]:
        swept = []
        for worker in [worker for worker in self._workers if not self._alive(worker)]:
            with self._sweeping:
                if self._alive(worker):
                    continue
                until = self._workers.pop(worker)
            for run in list(self._held.get(worker, {}).values()):
                run.token += 1
                run.deaths += 1
                run.lost = until
                self._let_go(run, "queued")
                swept.append(run.id)
            self._held.pop(worker, None)
        if swept:
            self._bells.ring()
        return swept

    def wakeups(self) -> AsyncIterator[None]:
        return self._bells.hang()

    def _append(self, item: Append) -> Appended | Fenced | News:
        run = self._runs.get(item.run)
        if (
            run is None
            or run.status != "running"
            or run.token != item.token
            or len(run.entries) != item.seq
        ):
            return Fenced()
        if item.status is not None and item.seen != run.inbox:
            return News(run.inbox)
        run.deaths = 0
        self._write(run, item.entries, item.format)
        if item.status == "paused":
            self._pause(run, item.asks)
        elif item.status is not None:
            self._end(run, item.status)
        return Appended(len(run.entries), run.inbox)

    def _write(self, run: _Run, bodies: Sequence[bytes], format: int) -> None:
        for seq, body in enumerate(bodies, len(run.entries) + 1):
            run.entries.append(Entry(seq, run.token, format, body))
        run.format = max(run.format, format)

    def _pause(self, run: _Run, asks: Sequence[str]) -> None:
        for key in asks:
            run.signals.setdefault(key, Signal(key, None))
        run.needs = sum(signal.answer is None for signal in run.signals.values())
        # A pause whose every key is answered already would wait for ever.
        self._let_go(run, "queued" if asks and not run.needs else "paused")

    def _answer(self, run: _Run, signal: Signal) -> None:
        """Store the signal behind those that were answered before it."""
        run.signals.pop(signal.key, None)
        run.signals[signal.key] = signal
        run.inbox += 1

    def _end(self, run: _Run, status: Status) -> None:
        self._let_go(run, status)
        run.ended = self._wall()
        thread = self._threads.get(run.thread) if run.thread is not None else None
        if thread is not None and thread.live == run.id:
            thread.live, thread.head = None, run.id

    def _let_go(self, run: _Run, status: Status) -> None:
        """Take the run from its holder, or out of the queue, and give it another status."""
        if run.worker is not None:
            del self._held[run.worker][run.id]
            run.worker = None
        self._queued.get(run.program, {}).pop(run.id, None)
        run.due = None
        run.status = status
        if status == "queued":
            self._queue(run)

    def _queue(self, run: _Run) -> None:
        run.status, run.due, run.turn = "queued", self._wall(), next(self._turns)
        self._queued.setdefault(run.program, {})[run.id] = run

    def _due(self, program: str, format: int, run: str | None) -> Iterator[_Run]:
        """The runs of a program that may be claimed, the longest queued first."""
        now = self._wall()
        queued = self._queued.get(program, {})
        for one in queued.values() if run is None else filter(None, [queued.get(run)]):
            if one.format <= format and one.due is not None and one.due <= now:
                yield one

    def _claim(self, run: _Run, worker: str) -> Claim:
        del self._queued[run.program][run.id]
        run.status, run.worker, run.due = "running", worker, None
        run.token += 1
        self._held.setdefault(worker, {})[run.id] = run
        return Claim(
            run=run.id,
            program=run.program,
            token=run.token,
            seq=len(run.entries),
            inbox=run.inbox,
            deaths=run.deaths,
            since_lost=None if run.lost is None else self._clock.steady() - run.lost,
        )

    def _matches(self, query: Query) -> Iterator[_Run]:
        """The runs that the query means, newest first."""
        wanted = {
            name: value
            for name in ("status", "user", "tenant", "thread")
            if (value := getattr(query, name)) is not None
        }
        on = query.before is None
        for run in reversed(self._runs.values()):
            if query.names is not None and run.program.partition("@")[0] not in query.names:
                pass
            elif on and all(getattr(run, name) == value for name, value in wanted.items()):
                yield run
            on = on or run.id == query.before

    def _alive(self, worker: str) -> bool:
        return self._workers.get(worker, float("-inf")) > self._clock.steady()

    def _wall(self) -> int:
        return round(self._clock.wall() * 1e6)


def _row(run: _Run) -> RunRow:
    return RunRow(
        id=run.id,
        program=run.program,
        status=run.status,
        seq=len(run.entries),
        token=run.token,
        tenant=run.tenant,
        user=run.user,
        thread=run.thread,
        deaths=run.deaths,
        created=run.created,
        ended=run.ended,
    )
