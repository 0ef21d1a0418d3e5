"""Calls in any order, compared one by one with what the plain store says."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from remit.store.money import Ceiling, LedgerQuery, Meter
from remit.store.protocol import Store
from remit.store.records import Append, NewRun, Query
from remit.testing.clock import ManualClock
from remit.testing.store_contract.money.purse import bound, cost
from remit.testing.store_contract.order.plain import PlainRun, PlainStore
from remit.values import ids
from remit.values.results import ENDED, Status

T = TypeVar("T")

SECOND = 1_000_000
LIMIT = 100
WORKERS = ("a", "b")
KEYS = ("k", "l", "m")
LASTS = 20

which = st.integers(0, 5)
keys = st.lists(st.sampled_from(KEYS), unique=True, max_size=2)
stale = st.sampled_from([0, 0, 0, 0, 1, -1])


class StoreMachine(RuleBasedStateMachine):
    """A store and the plain store, told the same."""

    def __init__(self, store: Store, clock: ManualClock, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.store, self.clock, self.loop = store, clock, loop
        # What other examples left in the same store bears other names.
        self.tag = ids.new("machine")
        self.program = f"{self.tag}@1"
        self.meter = Meter(key=self.tag, slots=4, width=10 * SECOND, tenant=self.tag)
        self.plain = PlainStore(self.now(), self.meter.slots, self.meter.width)
        self.made = 0

    def now(self) -> int:
        return round(self.clock.wall() * 1e6)

    def ask(self, call: Coroutine[Any, Any, T]) -> T:
        """What the store answers, on the loop that is its own."""
        return asyncio.run_coroutine_threadsafe(call, self.loop).result()

    def name(self, kind: str) -> str:
        """A name that is used once."""
        self.made += 1
        return f"{self.tag}/{kind}{self.made}"

    def pick(self, number: int, *statuses: str) -> PlainRun:
        """One of the runs, of those in a status if there are any."""
        runs = list(self.plain.runs.values())
        wanted = [run for run in runs if run.status in statuses] or runs
        return wanted[-1 - number % len(wanted)]

    def holder(self, number: int) -> PlainRun:
        """A run that goes on; one is set going if there is none."""
        if all(run.status != "running" for run in self.plain.runs.values()):
            if not self.plain.due():
                self.create(None, None, None)
            self.drive(1)
        return self.pick(number, "running")

    @initialize(thread=st.sampled_from([None, "one"]))
    def begin(self, thread: str | None) -> None:
        for worker in WORKERS:
            self.beat(worker, LASTS, join=True)
        for _ in range(2):
            self.create(thread, 2, None)
        self.drive(1)

    @rule(
        thread=st.sampled_from([None, "one", "one", "two"]),
        enqueue=st.sampled_from([None, 0, 2, 2]),
        delay=st.sampled_from([None, 0, 15]),
    )
    def create(self, thread: str | None, enqueue: int | None, delay: int | None) -> None:
        new = NewRun(
            id=self.name("run"),
            program=self.program,
            body=b"asked",
            format=1,
            tenant=self.tag,
            user=self.tag,
            thread=None if thread is None else f"{self.tag}/{thread}",
            enqueue=enqueue,
            due=None if delay is None or thread is not None else self.now() + delay * SECOND,
        )
        assert self.ask(self.store.create(new)) == self.plain.create(new)

    @rule(worker=st.sampled_from(WORKERS), lasts=st.sampled_from([5, LASTS]), join=st.booleans())
    def beat(self, worker: str, lasts: int, join: bool) -> None:
        told = self.ask(self.store.beat(f"{self.tag}/{worker}", lasts, join=join))
        wanted = self.plain.beat(f"{self.tag}/{worker}", lasts * SECOND, join)
        if wanted is None:
            assert told is None
        else:
            assert sorted(told or [], key=str) == sorted(wanted, key=str)

    @rule(worker=st.sampled_from(WORKERS), room=st.integers(1, 3))
    def claim(self, worker: str, room: int) -> None:
        self.claim_as(f"{self.tag}/{worker}", room)

    @rule(room=st.integers(1, 3))
    def drive(self, room: int) -> None:
        """Claim as a worker that lives, one more if there is none."""
        living = [name for name in self.plain.workers if self.plain.lives(name)]
        worker = living[-1] if living else self.name("worker")
        if not living:
            assert self.ask(self.store.beat(worker, LASTS, join=True)) == []
            self.plain.beat(worker, LASTS * SECOND, join=True)
        self.claim_as(worker, room)

    def claim_as(self, worker: str, room: int) -> None:
        due = self.plain.due() if self.plain.lives(worker) else []
        claims = self.ask(self.store.claim(worker, [self.program], format=1, room=room))
        # Runs that are due since the same moment come in any order.
        assert [self.plain.runs[claim.run].due for claim in claims] == [
            run.due for run in due[:room]
        ]
        for claim in claims:
            run = self.plain.runs[claim.run]
            self.plain.claim(run, worker)
            told = (claim.token, claim.seq, claim.inbox, claim.deaths, claim.now)
            assert told == (run.token, run.seq, run.inbox, run.deaths, self.now())

    @rule(number=which, off=stale)
    def release(self, number: int, off: int) -> None:
        run = self.holder(number)
        worker = run.worker or f"{self.tag}/a"
        done = self.ask(self.store.release(worker, run.id, run.token + off))
        assert done == self.plain.release(worker, run, run.token + off)

    @rule(number=which, lost=stale, behind=stale, nano=st.integers(0, 60), room=st.booleans())
    def write(self, number: int, lost: int, behind: int, nano: int, room: bool) -> None:
        run = self.holder(number)
        ceiling = Ceiling(self.meter, LIMIT if room else LIMIT // 2)
        holds = (bound(self.name("call"), nano, ceiling),) if nano else ()
        self.append(run, lost=lost, behind=behind, holds=holds)

    @rule(numbers=st.lists(which, min_size=2, max_size=4), nano=st.integers(0, 60), lost=stale)
    def write_together(self, numbers: list[int], nano: int, lost: int) -> None:
        """One batch: what its first item settles, the others may hold."""
        self.holder(0)
        runs = {run.id: run for run in (self.pick(number, "running") for number in numbers)}
        batch = []
        for number, run in enumerate(runs.values()):
            hold = bound(self.name("call"), nano, Ceiling(self.meter, LIMIT))
            money: dict[str, Any] = {"holds": (hold,)} if number or not run.holds else {}
            if not money:
                money = {"settles": tuple(cost(name, nano) for name in run.holds)}
            batch.append(self.item(run, lost=lost if number == 1 else 0, **money))
        assert self.ask(self.store.append(batch)) == [self.plain.append(one) for one in batch]

    @rule(number=which)
    def write_unheld(self, number: int) -> None:
        self.append(self.pick(number, "queued", "paused", *sorted(ENDED)))

    @rule(
        number=which,
        nano=st.integers(0, 80),
        sent=st.booleans(),
        guess=st.booleans(),
        later=st.sampled_from([0, 0, 15, 60]),
    )
    def settle(self, number: int, nano: int, sent: bool, guess: bool, later: int) -> None:
        run = self.holder(number)
        if not run.holds:
            self.append(run, holds=(bound(self.name("call"), 30, Ceiling(self.meter, LIMIT)),))
        self.advance(later)
        paid = [
            cost(name, nano, estimated=guess) if sent else cost(name, 0, charge=None)
            for name in list(run.holds)[:1]
        ]
        self.append(run, settles=tuple(paid))

    @rule(
        number=which,
        asks=keys,
        withdraws=keys,
        delay=st.sampled_from([None, None, 0, 15]),
        listens=st.booleans(),
        unseen=stale,
    )
    def pause(
        self,
        number: int,
        asks: list[str],
        withdraws: list[str],
        delay: int | None,
        listens: bool,
        unseen: int,
    ) -> None:
        run = self.holder(number)
        self.append(
            run,
            status="paused",
            asks=tuple(asks),
            withdraws=tuple(set(withdraws) - set(asks)),
            due=None if delay is None else self.now() + delay * SECOND,
            listens=listens,
            seen=run.inbox + unseen,
        )

    @rule(number=which, withdraws=keys, unseen=stale)
    def withdraw(self, number: int, withdraws: list[str], unseen: int) -> None:
        run = self.holder(number)
        self.append(run, withdraws=tuple(withdraws), seen=run.inbox + unseen)

    @rule(number=which, end=st.sampled_from(sorted(ENDED)), unseen=stale)
    def finish(self, number: int, end: Status, unseen: int) -> None:
        run = self.holder(number)
        self.append(run, status=end, seen=run.inbox + unseen)
        if run.thread is not None:
            # Whoever comes after an end builds on it, at once or when its turn comes.
            self.create(run.thread.removeprefix(f"{self.tag}/"), 2, None)

    def append(self, run: PlainRun, **fields: Any) -> None:
        item = self.item(run, **fields)
        (outcome,) = self.ask(self.store.append([item]))
        assert outcome == self.plain.append(item)

    def item(self, run: PlainRun, *, lost: int = 0, behind: int = 0, **fields: Any) -> Append:
        return Append(
            run=run.id,
            token=run.token + lost,
            seq=run.seq + behind,
            entries=(b"fact",),
            format=1,
            **fields,
        )

    @rule(number=which, wanted=keys)
    def deliver(self, number: int, wanted: list[str]) -> None:
        run = self.pick(number, "paused")
        open_keys = [key for key, answer in run.signals.items() if answer is None]
        answers = dict.fromkeys(wanted or open_keys[:1] or KEYS[:1], b"yes")
        told = self.ask(self.store.deliver(run.id, answers, self.name("delivery")))
        assert told == self.plain.deliver(run, answers)

    @rule(number=which, message=st.sampled_from(["one", "two"]))
    def send(self, number: int, message: str) -> None:
        run = self.pick(number, "paused")
        told = self.ask(self.store.send(run.id, b"hello", message))
        assert told == self.plain.send(run, message, b"hello")

    @rule(number=which)
    def cancel(self, number: int) -> None:
        run = self.pick(number)
        told = self.ask(self.store.cancel(run.id, b"end", 1, b"stop"))
        assert told == self.plain.cancel(run, b"stop")

    @rule(limit=st.sampled_from([1, 500]))
    def sweep(self, limit: int) -> None:
        swept: list[str] = []
        while some := self.ask(self.store.sweep(limit)):
            assert len(some) <= limit
            swept += some
        assert sorted(swept) == sorted(self.plain.sweep())

    @rule(seconds=st.sampled_from([1, 1, 5, 15, LASTS, 60]))
    def advance(self, seconds: int) -> None:
        self.clock.advance(seconds)
        self.plain.now = self.now()

    @invariant()
    def says_the_same(self) -> None:
        rows = self.ask(self.store.find(Query(user=self.tag, limit=500)))
        told = {
            row.id: (row.status, row.seq, row.token, row.deaths, row.due, row.base, row.ended)
            for row in rows
        }
        assert told == {
            run.id: (run.status, run.seq, run.token, run.deaths, run.due, run.base, run.ended)
            for run in self.plain.runs.values()
        }

    @invariant()
    def has_the_same_to_wait_for(self) -> None:
        left = self.plain.next_due()
        told = self.ask(self.store.next_due([self.program]))
        assert (None if told is None else round(told * SECOND)) == left
        for name, thread in self.plain.threads.items():
            head = self.ask(self.store.thread_head(name))
            assert head == (None if thread.head is None else thread.head.id)

    @invariant()
    def has_the_same_money(self) -> None:
        assert self.ask(self.store.meters([self.meter])) == [self.plain.meter()]
        assert self.ask(self.store.usage(LedgerQuery(tenant=self.tag))) == [self.plain.ledger]

    def teardown(self) -> None:
        """Compare what cannot change any more, and leave nothing to the next example."""
        for run in self.plain.runs.values():
            signals = self.ask(self.store.signals(run.id))
            answered = [(key, answer) for key, answer in run.signals.items() if answer is not None]
            asked = sorted(key for key, answer in run.signals.items() if answer is None)
            assert [(one.key, one.answer) for one in signals] == [
                *answered,
                *((key, None) for key in asked),
            ]
            journal = [entry.seq for entry in self.ask(self.store.read(run.id))]
            assert journal == list(range(1, run.seq + 1))
        for run in self.plain.runs.values():
            if run.status == "running":
                self.append(run, status="failed", seen=run.inbox)
            else:
                told = self.ask(self.store.cancel(run.id, b"end", 1, b"stop"))
                assert told == self.plain.cancel(run, b"stop")
        assert self.ask(self.store.forget(self.tag, self.tag)) == len(self.plain.runs)


def drive(
    store: Store,
    clock: ManualClock,
    loop: asyncio.AbstractEventLoop,
    examples: int,
    steps: int,
) -> None:
    """Tell a store, whose loop runs in another thread, `examples` times up to `steps` calls."""

    class Bound(StoreMachine):
        def __init__(self) -> None:
            super().__init__(store, clock, loop)

    run_state_machine_as_test(
        Bound,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
