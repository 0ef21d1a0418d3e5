"""Laws of waiting for a time."""

from __future__ import annotations

import asyncio

import pytest

from remit.store.protocol import Store
from remit.store.records import Delivered, NewRun
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    PROGRAM,
    cancelled,
    claim,
    due,
    finish,
    held,
    item,
    join,
    lose,
    now,
    pause,
    queued,
    row,
    status,
    write,
)

SECOND = 1_000_000


class TimerLaws:
    """A run is claimed at its time or later, never earlier, whatever it waits for beside."""

    async def test_a_start_for_later_is_claimed_at_its_time(
        self, store: Store, clock: ManualClock
    ) -> None:
        at = now(clock) + 30 * SECOND
        run = await queued(store, due=at)
        clock.advance(29.5)
        assert (await row(store, run)).due == at
        assert await due(store) == []
        assert await store.claim("w1", [PROGRAM], format=1, run=run) == []

        clock.advance(0.5)

        assert await due(store) == [run]
        assert (await row(store, run)).due is None

    async def test_a_sleeper_is_claimed_at_its_time(self, store: Store, clock: ManualClock) -> None:
        had = await held(store)
        await pause(store, had, due=now(clock) + 10 * SECOND)
        clock.advance(9.5)
        assert await due(store) == []
        assert await status(store, had.run) == "paused"

        clock.advance(0.5)

        again = await claim(store, had.run)
        assert (again.token, again.seq) == (had.token + 1, had.seq + 1)
        found = await row(store, had.run)
        assert (found.status, found.due, found.deaths) == ("running", None, 0)

    async def test_a_time_that_has_passed_is_due_at_once(
        self, store: Store, clock: ManualClock
    ) -> None:
        started = await queued(store, due=now(clock) - SECOND)
        had = await held(store)
        await pause(store, had, "k", due=now(clock) - 5 * SECOND)
        clock.advance(1)

        assert await due(store) == [had.run, started]

    async def test_the_time_comes_before_the_answer(self, store: Store, clock: ManualClock) -> None:
        had = await held(store)
        await pause(store, had, "a", "b", due=now(clock) + SECOND)
        await store.deliver(had.run, {"a": b"1"}, "d1")
        assert await status(store, had.run) == "paused"
        clock.advance(1)

        again = await claim(store, had.run)

        assert again.inbox == 1
        signals = [(signal.key, signal.answer) for signal in await store.signals(had.run)]
        assert signals == [("a", b"1"), ("b", None)]
        assert await store.deliver(had.run, {"b": b"2"}, "d2") == Delivered(0)

    async def test_the_answer_comes_before_the_time(self, store: Store, clock: ManualClock) -> None:
        had = await held(store)
        await pause(store, had, "k", due=now(clock) + 50 * SECOND)
        clock.advance(1)

        await store.deliver(had.run, {"k": b"yes"}, "d1")

        found = await row(store, had.run)
        assert (found.status, found.due) == ("queued", now(clock))
        assert await store.next_due([PROGRAM]) is None
        assert await due(store) == [had.run]

    async def test_a_message_comes_before_the_time(self, store: Store, clock: ManualClock) -> None:
        had = await held(store)
        await pause(store, had, listens=True, due=now(clock) + 50 * SECOND)

        await store.send(had.run, b"hello", "m1")

        assert await due(store) == [had.run]

    async def test_a_message_does_not_move_the_time_of_who_does_not_listen(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await held(store)
        await pause(store, had, due=now(clock) + 5 * SECOND)
        before = await row(store, had.run)

        await store.send(had.run, b"hello", "m1")

        assert await row(store, had.run) == before
        clock.advance(5)
        assert await due(store) == [had.run]

    async def test_nothing_left_to_answer_is_sooner_than_any_time(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await held(store)
        await pause(store, had, "k")
        await store.deliver(had.run, {"k": b"yes"}, "d1")
        again = await claim(store, had.run)

        await pause(store, again, "k", due=now(clock) + 50 * SECOND)

        assert await due(store) == [had.run]

    async def test_who_was_claimed_in_time_forgets_the_time(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await held(store)
        await pause(store, had, due=now(clock) + SECOND)
        clock.advance(1)
        again = await claim(store, had.run)

        await pause(store, again)

        clock.advance(100)
        assert await due(store) == []
        assert (await row(store, had.run)).due is None

    async def test_sleepers_and_the_queue_are_one_order(
        self, store: Store, clock: ManualClock
    ) -> None:
        one, two = await held(store), await held(store)
        await pause(store, two, due=now(clock) + 4 * SECOND)
        await pause(store, one, due=now(clock) + 2 * SECOND)
        order = []
        for step in (1, 2, 2):
            clock.advance(step)
            order.append(await queued(store))
        await queued(store, due=now(clock) + SECOND)

        assert await due(store) == [order[0], one.run, order[1], two.run, order[2]]

    async def test_the_next_time_is_told(self, store: Store, clock: ManualClock) -> None:
        programs = [PROGRAM, "other@1"]
        assert await store.next_due(programs) is None
        await queued(store)
        had = await held(store)
        await pause(store, had, due=now(clock) + 30 * SECOND)
        await queued(store, due=now(clock) + 10 * SECOND, program="other@1")
        await queued(store, due=now(clock) + 20 * SECOND)

        async def told(*names: str) -> float | None:
            return await store.next_due(names)

        assert await told(*programs) == pytest.approx(10)
        assert await told(PROGRAM) == pytest.approx(20)
        assert await told("third@1") is await told() is None
        clock.advance(12.5)
        assert await told(*programs) == pytest.approx(7.5)
        clock.advance(7.5)
        assert await told(*programs) == pytest.approx(10)
        clock.advance(10)
        assert await told(*programs) is None

    async def test_who_has_ended_or_is_driven_waits_for_no_time(
        self, store: Store, clock: ManualClock
    ) -> None:
        later = now(clock) + 30 * SECOND
        sleeper = await held(store)
        await pause(store, sleeper, due=later)
        await cancelled(store, sleeper.run)
        await cancelled(store, await queued(store, due=later))
        await finish(store, await held(store))
        await held(store)

        assert await store.next_due([PROGRAM]) is None
        clock.advance(30)
        assert await due(store) == []

    async def test_a_sleeper_can_be_cancelled(self, store: Store, clock: ManualClock) -> None:
        had = await held(store, thread="t")
        await pause(store, had, "k", due=now(clock) + SECOND, listens=True)

        await cancelled(store, had.run)

        clock.advance(1)
        found = await row(store, had.run)
        assert (found.status, found.due) == ("cancelled", None)
        assert await due(store) == []
        assert await store.thread_head("t") == had.run

    async def test_a_lost_holder_gives_a_sleeper_back_at_once(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await held(store, worker="lost")
        await pause(store, had, due=now(clock) + SECOND)
        clock.advance(1)
        await claim(store, had.run, "lost")
        await lose(store, clock)

        assert await status(store, had.run) == "queued"
        assert await due(store) == [had.run]

    async def test_a_sleeper_is_claimed_once(
        self, store: Store, other_store: Store, clock: ManualClock
    ) -> None:
        sleepers = []
        claims = await asyncio.gather(*(held(store) for _ in range(30)))
        for had in claims:
            await pause(store, had, "k", due=now(clock) + SECOND)
            sleepers.append(had.run)
        clock.advance(1)
        await join(store, "a", "b")

        found = await asyncio.gather(
            *(
                (store, other_store)[number % 2].claim("ab"[number % 2], [PROGRAM], format=1)
                for number in range(60)
            )
        )

        assert sorted(one.run for some in found for one in some) == sorted(sleepers)

    async def test_claim_against_answer_strands_no_run(
        self, store: Store, other_store: Store, clock: ManualClock
    ) -> None:
        await join(store, "w1")
        holders = await asyncio.gather(*(held(store) for _ in range(60)))
        for turn, had in enumerate(holders):
            await pause(store, had, "k", due=now(clock))
            claiming = store.claim("w1", [PROGRAM], format=1, run=had.run)
            answer = other_store.deliver(had.run, {"k": b"yes"}, "d1")
            if turn % 2:
                claims, told = await asyncio.gather(claiming, answer)
            else:
                told, claims = await asyncio.gather(answer, claiming)
            assert told == Delivered(0)
            (again,) = claims or [await claim(store, had.run)]
            await write(store, item(again, status="succeeded", seen=1))
            assert await status(store, had.run) == "succeeded"

    async def test_a_run_on_a_thread_has_no_time_of_its_own(self) -> None:
        with pytest.raises(ValueError, match="due when its turn comes"):
            NewRun(id="r", program=PROGRAM, body=b"", format=1, thread="t", due=1)
