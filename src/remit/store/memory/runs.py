"""What happens to runs in memory: they are queued, claimed, paused, ended and deleted."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from remit.store.memory.dues import Dues
from remit.store.memory.purse import Purse
from remit.store.memory.state import StoredRun, Thread
from remit.store.records import Append, Base, Claim, Entry, NewRun, Signal
from remit.values.clock import Clock
from remit.values.results import Status


class Runs:
    """All runs by id, with what finds them: their threads, their holders and their due times."""

    def __init__(self, clock: Clock, purse: Purse) -> None:
        self._clock, self._purse = clock, purse
        self.by_id: dict[str, StoredRun] = {}
        self.threads: dict[str, Thread] = {}
        self.held: dict[str, dict[str, StoredRun]] = {}
        self.dues = Dues()

    def wall(self) -> int:
        """Microseconds since 1970."""
        return round(self._clock.wall() * 1e6)

    def make(self, new: NewRun) -> None:
        """A new run, due unless it waits for its thread."""
        run = StoredRun(
            id=new.id,
            program=new.program,
            tenant=new.tenant,
            user=new.user,
            thread=new.thread,
            base=new.base,
            format=new.format,
            created=self.wall(),
            entries=[Entry(1, 0, new.format, new.body)],
        )
        self.by_id[run.id] = run
        if run.thread is None:
            self.dues.add(run, run.created if new.due is None else new.due)
        else:
            thread = self.threads.setdefault(run.thread, Thread())
            thread.waiting[run.id] = run
            self._next(thread)

    def write(self, run: StoredRun, bodies: Sequence[bytes], format: int) -> None:
        for seq, body in enumerate(bodies, len(run.entries) + 1):
            run.entries.append(Entry(seq, run.token, format, body))
        run.format = max(run.format, format)

    def withdraw(self, run: StoredRun, keys: Collection[str]) -> None:
        for key in keys:
            if key in run.signals and run.signals[key].answer is None:
                del run.signals[key]
        run.count_needs()

    def pause(self, run: StoredRun, item: Append) -> None:
        for key in item.asks:
            run.signals.setdefault(key, Signal(key, None))
        run.count_needs()
        # A pause whose every key is answered already would wait for ever.
        if item.asks and not run.needs:
            self.let_go(run, "queued")
            return
        self.let_go(run, "paused")
        run.listens = item.listens
        if item.due is not None:
            self.dues.add(run, item.due)

    def end(self, run: StoredRun, status: Status) -> None:
        self.let_go(run, status)
        self._purse.close(run)
        run.ended = self.wall()
        thread = self.threads.get(run.thread) if run.thread is not None else None
        if thread is None:
            return
        thread.waiting.pop(run.id, None)
        if thread.live == run.id:
            thread.live, thread.head = None, run.id
            self._next(thread)

    def _next(self, thread: Thread) -> None:
        """Let the run that waits longest for a free thread have its turn."""
        if thread.live is not None or not thread.waiting:
            return
        run = thread.waiting.pop(next(iter(thread.waiting)))
        thread.live = run.id
        if run.base is None and thread.head is not None:
            run.base = Base(thread.head, len(self.by_id[thread.head].entries))
        self.dues.add(run, self.wall())

    def let_go(self, run: StoredRun, status: Status) -> None:
        """Take the run from its holder, or out of the queue, and give it another status."""
        if run.worker is not None:
            del self.held[run.worker][run.id]
            run.worker = None
        run.due, run.listens = None, False
        run.status = status
        if status == "queued":
            self.queue(run)

    def queue(self, run: StoredRun) -> None:
        run.status, run.listens = "queued", False
        self.dues.add(run, self.wall())

    def claim(self, run: StoredRun, worker: str) -> Claim:
        run.status, run.worker, run.due = "running", worker, None
        run.listens, run.refused = False, None
        run.token += 1
        self.held.setdefault(worker, {})[run.id] = run
        return Claim(
            run=run.id,
            program=run.program,
            token=run.token,
            seq=len(run.entries),
            inbox=run.inbox,
            deaths=run.deaths,
            now=self.wall(),
            since_lost=None if run.lost is None else self._clock.steady() - run.lost,
        )

    def delete(self, run: StoredRun) -> None:
        del self.by_id[run.id]
        thread = self.threads.get(run.thread) if run.thread is not None else None
        if thread is not None and run.thread is not None:
            if thread.head == run.id:
                base = None if run.base is None else self.by_id.get(run.base.run)
                thread.head = base.id if base and base.thread == run.thread else None
            if thread.empty:
                del self.threads[run.thread]

    def is_needed(self, run: StoredRun) -> bool:
        """Whether a living thread ends with the run."""
        thread = self.threads.get(run.thread) if run.thread is not None else None
        return thread is not None and thread.head == run.id and thread.live is not None
