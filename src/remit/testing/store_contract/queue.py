"""Laws of waiting behind a thread's live run."""

from __future__ import annotations

import asyncio

import pytest

from remit.store.protocol import Store
from remit.store.records import Base, Busy, Created, Sent, Stopped
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    PROGRAM,
    a_run,
    cancelled,
    claim,
    due,
    ended,
    finish,
    held,
    item,
    join,
    paused,
    queued,
    row,
    status,
    write,
)


class QueueLaws:
    """Who waits on a thread goes first in, first out, and builds on all that ended before."""

    async def test_a_run_that_waits_for_its_thread_is_not_claimed(
        self, store: Store, clock: ManualClock
    ) -> None:
        await held(store, thread="t")
        waiting = await queued(store, thread="t", enqueue=1)
        clock.advance(1)

        assert await due(store) == []
        assert await store.claim("w1", [PROGRAM], format=1, run=waiting) == []
        found = await row(store, waiting)
        assert (found.status, found.due, found.base) == ("queued", None, None)
        assert await store.next_due([PROGRAM]) is None

    @pytest.mark.parametrize("end", ["succeeded", "failed", "cancelled"])
    async def test_an_end_makes_the_next_one_due(
        self, store: Store, clock: ManualClock, end: str
    ) -> None:
        had = await held(store, thread="t")
        waiting = await queued(store, thread="t", enqueue=1)
        clock.advance(5)

        await finish(store, had, status=end)

        found = await row(store, waiting)
        assert found.due == (await row(store, had.run)).ended
        assert found.base == Base(had.run, 2)
        assert await due(store) == [waiting]

    async def test_first_in_first_out(self, store: Store, clock: ManualClock) -> None:
        live = await queued(store, "live", thread="t")
        names = ["c", "a", "d", "b"]
        for name in names:
            await queued(store, name, thread="t", enqueue=10)
        order = [live]
        for number in range(4):
            await finish(store, await claim(store, order[-1]))
            clock.advance(1)
            order += await due(store)
            assert len(await store.lineage(order[-1])) == number + 1
            clock.advance(20)
            await store.sweep()

        assert order == [live, *names]

    async def test_a_base_is_pinned_when_its_turn_comes(self, store: Store) -> None:
        await ended(store, "old", thread="t")
        live = await held(store, "live", thread="t")
        first, second = [await queued(store, thread="t", enqueue=10) for _ in range(2)]
        assert [(await row(store, one)).base for one in (first, second)] == [None, None]

        await finish(store, live)

        assert (await row(store, first)).base == Base("live", 2)
        assert (await row(store, second)).base is None
        had = await claim(store, first)
        await write(store, item(had, b"one", b"two"))
        await finish(store, had, seq=3)
        assert (await row(store, second)).base == Base(first, 4)
        journals = [[entry.seq for entry in one] for one in await store.lineage(second)]
        assert journals == [[1, 2], [1, 2], [1, 2, 3, 4]]

    @pytest.mark.parametrize("bound", [0, 1, 3])
    async def test_no_more_wait_than_were_allowed(self, store: Store, bound: int) -> None:
        live = await queued(store, thread="t")
        for _ in range(bound):
            await queued(store, thread="t", enqueue=bound)

        refused = await store.create(a_run("refused", thread="t", enqueue=bound))

        assert refused == Busy(live, bound)
        assert await store.get("refused") is None
        assert await store.create(a_run(thread="t")) == Busy(live, bound)
        assert await store.create(a_run(thread="t", enqueue=bound + 1)) == Created()

    async def test_a_place_is_free_again_when_one_has_gone(self, store: Store) -> None:
        live = await held(store, thread="t")
        waiting = [await queued(store, thread="t", enqueue=2) for _ in range(2)]
        await finish(store, live)
        await queued(store, "third", thread="t", enqueue=2)
        await cancelled(store, waiting[1])

        assert await store.create(a_run("fourth", thread="t", enqueue=2)) == Created()
        assert await store.create(a_run(thread="t", enqueue=2)) == Busy(waiting[0], 2)

    async def test_on_a_free_thread_nobody_waits(self, store: Store, clock: ManualClock) -> None:
        before = await ended(store, thread="t")
        clock.advance(1)

        run = await queued(store, thread="t", enqueue=0)

        found = await row(store, run)
        assert (found.due, found.base) == (found.created, Base(before, 2))
        assert await due(store) == [run]

    async def test_the_same_id_waits_once(self, store: Store) -> None:
        live = await queued(store, thread="t")
        waiting = await queued(store, thread="t", enqueue=5)

        assert await store.create(a_run(waiting, thread="t", enqueue=5)) == Created()
        assert await store.create(a_run(thread="t")) == Busy(live, 1)

    async def test_a_cancelled_waiting_run_leaves_the_thread_alone(self, store: Store) -> None:
        before = await ended(store, thread="t")
        live = await held(store, thread="t")
        first, second, third = [await queued(store, thread="t", enqueue=5) for _ in range(3)]

        assert await store.cancel(first, b"end", 1, b"stop") == Stopped(2)
        assert await store.cancel(second, b"end", 1, b"stop") == Stopped(2)

        assert await store.thread_head("t") == before
        assert await store.create(a_run(thread="t")) == Busy(live.run, 1)
        await finish(store, live)
        assert await store.thread_head("t") == live.run
        assert (await row(store, third)).base == Base(live.run, 2)
        assert await due(store) == [third]

    async def test_a_cancel_of_the_live_run_lets_the_next_one_go(self, store: Store) -> None:
        live = await queued(store, thread="t")
        first, second = [await queued(store, thread="t", enqueue=5) for _ in range(2)]

        await cancelled(store, live)
        assert (await row(store, first)).base == Base(live, 2)
        had = await claim(store, first)
        await write(store, item(had, status="paused", asks=("k",)))
        await cancelled(store, first)

        assert (await row(store, second)).base == Base(first, 3)
        assert await due(store) == [second]

    async def test_a_pause_or_a_loss_lets_nobody_go(self, store: Store, clock: ManualClock) -> None:
        one = await paused(store, "k", thread="one")
        await queued(store, thread="one", enqueue=1)
        two = await held(store, thread="two", worker="lost")
        await queued(store, thread="two", enqueue=1)
        clock.advance(20)

        assert await store.sweep() == [two.run]

        assert await due(store) == [two.run]
        assert await status(store, one.run) == "paused"

    async def test_two_ends_in_a_batch_let_two_go(self, store: Store) -> None:
        one, two, three = [await held(store, thread=thread) for thread in ("b", "a", "c")]
        after = {t: await queued(store, thread=t, enqueue=1) for t in ("b", "a", "c")}

        await store.append(
            [
                item(one, status="succeeded"),
                item(three, status="failed", token=three.token + 1),
                item(two, status="failed"),
            ]
        )

        assert sorted(await due(store)) == sorted((after["b"], after["a"]))

    async def test_a_message_wakes_nobody_who_waits_for_a_thread(self, store: Store) -> None:
        await held(store, thread="t")
        waiting = await queued(store, thread="t", enqueue=1)

        assert await store.send(waiting, b"hello", "m1") == Sent()

        assert await due(store) == []
        assert (await row(store, waiting)).due is None

    async def test_finish_against_enqueue_strands_no_run(
        self, store: Store, other_store: Store
    ) -> None:
        for number in range(60):
            thread, after = f"t{number}", f"after{number}"
            had = await held(store, thread=thread)
            both = [
                write(store, item(had, status="succeeded")),
                other_store.create(a_run(after, thread=thread, enqueue=5)),
            ]
            await asyncio.gather(*(both if number % 2 else both[::-1]))
            assert (await row(store, after)).base == Base(had.run, 2)
            assert await due(store) == [after]

    async def test_cancel_against_enqueue_strands_no_run(
        self, store: Store, other_store: Store
    ) -> None:
        for number in range(40):
            thread, after = f"t{number}", f"after{number}"
            live = await queued(store, thread=thread)
            both = [
                store.cancel(live, b"end", 1, b"stop"),
                other_store.create(a_run(after, thread=thread, enqueue=5)),
            ]
            await asyncio.gather(*(both if number % 2 else both[::-1]))
            assert (await row(store, after)).base == Base(live, 2)
            assert await due(store) == [after]

    async def test_finish_against_the_cancel_of_the_next_one_strands_nobody(
        self, store: Store, other_store: Store
    ) -> None:
        for number in range(40):
            thread = f"t{number}"
            had = await held(store, thread=thread)
            first, second = [await queued(store, thread=thread, enqueue=5) for _ in range(2)]
            both = [
                write(store, item(had, status="succeeded")),
                other_store.cancel(first, b"end", 1, b"stop"),
            ]
            await asyncio.gather(*(both if number % 2 else both[::-1]))
            assert await status(store, first) == "cancelled"
            assert await store.thread_head(thread) in (had.run, first)
            assert await due(store) == [second]

    async def test_enqueues_side_by_side_keep_the_bound_and_one_order(
        self, store: Store, other_store: Store
    ) -> None:
        await join(store, "w1")
        for number in range(12):
            thread = f"t{number}"
            live = await queued(store, thread=thread)
            names = [f"{number}.{one}" for one in range(8)]
            outcomes = await asyncio.gather(
                *(
                    (store, other_store)[one % 2].create(a_run(name, thread=thread, enqueue=3))
                    for one, name in enumerate(names)
                )
            )
            assert outcomes.count(Created()) == 3
            assert outcomes.count(Busy(live, 3)) == 5
            went = []
            for _ in range(4):
                (had,) = await store.claim("w1", [PROGRAM], format=1, room=5)
                went.append(had.run)
                await finish(store, had)
            assert went[0] == live
            assert sorted(went[1:]) == sorted(await store.heads(names))
