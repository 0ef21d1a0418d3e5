"""Laws of who keeps a run: heartbeats, releases and the sweep."""

from __future__ import annotations

import asyncio

from remit.store.protocol import Heart, Store
from remit.store.records import Appended, Fenced, Held
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    LASTS,
    PROGRAM,
    bodies,
    cancelled,
    claim,
    ended,
    held,
    item,
    join,
    paused,
    queued,
    row,
    status,
    write,
)


def beat_once(heart: Heart, worker: str) -> bool:
    try:
        return heart.beat(worker, LASTS)
    finally:
        heart.close()


class LeaseLaws:
    """A lease that has ended leaves nothing to its holder, and its runs to others."""

    async def test_a_worker_that_nobody_knows_holds_nothing(self, store: Store) -> None:
        run = await queued(store)

        assert await store.claim("stranger", [PROGRAM], format=1) == []
        assert await store.claim("stranger", [PROGRAM], format=1, run=run) == []
        assert await store.beat("stranger", LASTS) is None
        assert await status(store, run) == "queued"

    async def test_a_lapsed_worker_holds_nothing(self, store: Store, clock: ManualClock) -> None:
        had = await held(store, worker="w1")
        await queued(store)
        clock.advance(LASTS)

        assert await store.beat("w1", LASTS) is None
        assert await store.beat("w1", LASTS, join=True) is None
        assert await store.claim("w1", [PROGRAM], format=1) == []
        assert not await store.release("w1", had.run, had.token)
        assert await store.sweep() == [had.run]
        assert await store.beat("w1", LASTS) is None

    async def test_a_heartbeat_pushes_the_lease_out(self, store: Store, clock: ManualClock) -> None:
        had = await held(store, worker="w1")

        for _ in range(5):
            clock.advance(LASTS - 1)
            assert await store.sweep() == []
            assert await store.beat("w1", LASTS) == [Held(had.run, had.token, 0)]

        clock.advance(LASTS)
        assert await store.sweep() == [had.run]

    async def test_a_heart_renews_a_lease_from_another_thread(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await held(store, worker="w1")
        clock.advance(LASTS - 1)

        assert await asyncio.to_thread(beat_once, store.heart(), "w1")

        clock.advance(LASTS - 1)
        assert await store.sweep() == []
        assert await write(store, item(had)) == Appended(2, 0)

    async def test_a_heart_revives_nobody(self, store: Store, clock: ManualClock) -> None:
        had = await held(store, worker="w1")
        clock.advance(LASTS)

        assert not await asyncio.to_thread(beat_once, store.heart(), "w1")
        assert not await asyncio.to_thread(beat_once, store.heart(), "stranger")

        assert await store.sweep() == [had.run]
        assert await store.beat("stranger", LASTS) is None

    async def test_a_heartbeat_brings_what_the_worker_holds(self, store: Store) -> None:
        one, two = await held(store, worker="w1"), await held(store, worker="w1")
        await held(store, worker="w2")
        gone = await held(store, worker="w1")
        await write(store, item(gone, status="succeeded"))
        await store.cancel(two.run, b"end", 1, b"stop")

        brought = await store.beat("w1", LASTS)

        assert brought is not None
        wanted = [Held(one.run, one.token, 0), Held(two.run, two.token, 1)]
        assert sorted(brought, key=str) == sorted(wanted, key=str)

    async def test_release_is_no_death(self, store: Store) -> None:
        had = await held(store, worker="w1")

        assert await store.release("w1", had.run, had.token)

        assert await status(store, had.run) == "queued"
        again = await claim(store, had.run, "w2")
        assert (again.deaths, again.since_lost) == (0, None)
        assert again.token > had.token

    async def test_only_the_holder_can_release(self, store: Store) -> None:
        had = await held(store, worker="w1")
        await join(store, "w2")

        assert not await store.release("w2", had.run, had.token)
        assert not await store.release("w1", had.run, had.token + 1)
        assert not await store.release("w1", "nobody", had.token)
        assert await status(store, had.run) == "running"
        assert await store.release("w1", had.run, had.token)
        assert not await store.release("w1", had.run, had.token)

    async def test_work_left_behind_counts_as_lost_from_its_release(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await held(store, worker="w1")
        clock.advance(5)
        await store.release("w1", had.run, had.token, abandoned=True)
        clock.advance(3)

        again = await claim(store, had.run, "w2")

        assert again.since_lost == 3
        assert again.deaths == 0

    async def test_a_later_release_does_not_forget_a_loss(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await held(store, worker="w1")
        await store.release("w1", had.run, had.token, abandoned=True)
        clock.advance(2)
        second = await claim(store, had.run, "w1")
        await store.release("w1", had.run, second.token)
        clock.advance(2)

        assert (await claim(store, had.run, "w1")).since_lost == 4

    async def test_a_sweep_queues_what_a_lost_worker_held(
        self, store: Store, clock: ManualClock
    ) -> None:
        lost = [await held(store, worker="w1") for _ in range(3)]
        clock.advance(LASTS - 1)
        safe = await held(store, worker="w2")
        assert await store.sweep() == []
        clock.advance(4)

        swept = await store.sweep()

        assert sorted(swept) == sorted(one.run for one in lost)
        assert await store.sweep() == []
        again = await claim(store, lost[0].run, "w2")
        assert (again.deaths, again.since_lost) == (1, 3)
        assert again.token > lost[0].token + 1
        assert await write(store, item(safe)) == Appended(2, 0)

    async def test_a_forgotten_worker_comes_back_with_nothing(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await held(store, worker="w1")
        clock.advance(LASTS)
        await store.sweep()

        assert await store.beat("w1", LASTS, join=True) == []
        assert await write(store, item(had)) == Fenced()
        assert not await store.release("w1", had.run, had.token)

    async def test_each_loss_is_a_death(self, store: Store, clock: ManualClock) -> None:
        run = await queued(store)

        for death in range(4):
            assert (await claim(store, run, f"w{death}")).deaths == death
            clock.advance(LASTS)
            assert await store.sweep() == [run]
        assert (await row(store, run)).deaths == 4

    async def test_sweeps_side_by_side_count_one_death(
        self, store: Store, other_store: Store, clock: ManualClock
    ) -> None:
        for number in range(20):
            had = await held(store, worker=f"w{number}")
            clock.advance(LASTS)
            swept = await asyncio.gather(store.sweep(), other_store.sweep(), store.sweep())
            assert sorted(swept, key=len) == [[], [], [had.run]]
            assert (await row(store, had.run)).deaths == 1
            await cancelled(store, had.run)

    async def test_a_sweep_against_an_append_leaves_one_truth(
        self, store: Store, other_store: Store, clock: ManualClock
    ) -> None:
        for number in range(30):
            had = await held(store, worker=f"w{number}")
            clock.advance(LASTS)
            outcome, swept = await asyncio.gather(write(store, item(had)), other_store.sweep())
            stored = len(await bodies(store, had.run)) == 2
            assert swept == [had.run]
            assert stored == isinstance(outcome, Appended)
            assert await status(store, had.run) == "queued"
            await cancelled(store, had.run)

    async def test_waiting_runs_are_never_swept(self, store: Store, clock: ManualClock) -> None:
        waiting = await paused(store, "k", worker="w1")
        await ended(store, worker="w1")
        clock.advance(1000)

        assert await store.sweep() == []
        assert await status(store, waiting.run) == "paused"

    async def test_a_sweep_takes_no_more_than_it_was_told(
        self, store: Store, clock: ManualClock
    ) -> None:
        lost = [await held(store, worker=f"w{number % 2}") for number in range(7)]
        clock.advance(LASTS)

        swept = [await store.sweep(limit=3) for _ in range(4)]

        assert [len(some) for some in swept] == [3, 3, 1, 0]
        assert sorted(run for some in swept for run in some) == sorted(one.run for one in lost)
        assert [(await row(store, one.run)).deaths for one in lost] == [1] * 7

    async def test_a_worker_is_known_as_lapsed_until_its_last_run_is_swept(
        self, store: Store, clock: ManualClock
    ) -> None:
        lost = [await held(store, worker="w1") for _ in range(3)]
        clock.advance(LASTS)
        for _ in lost:
            assert await store.beat("w1", LASTS, join=True) is None
            assert await store.claim("w1", [PROGRAM], format=1) == []
            await store.sweep(limit=1)

        assert await store.append([item(one) for one in lost]) == [Fenced()] * 3
        assert await store.beat("w1", LASTS, join=True) == []

    async def test_sweeps_with_a_limit_side_by_side_sweep_each_run_once(
        self, store: Store, other_store: Store, clock: ManualClock
    ) -> None:
        for turn in range(10):
            lost = [await held(store, worker=f"{turn}.{number % 3}") for number in range(9)]
            clock.advance(LASTS)
            swept: list[str] = []
            while len(swept) < len(lost):
                both = await asyncio.gather(store.sweep(limit=2), other_store.sweep(limit=2))
                swept += [*both[0], *both[1]]
                assert any(both)
            assert sorted(swept) == sorted(one.run for one in lost)
            assert [(await row(store, one.run)).deaths for one in lost] == [1] * 9
            for one in lost:
                await cancelled(store, one.run)

    async def test_a_lost_run_that_its_holder_had_paused_is_left_alone(
        self, store: Store, clock: ManualClock
    ) -> None:
        asleep = await held(store, worker="w1")
        lost = await held(store, worker="w1")
        await write(store, item(asleep, status="paused", listens=True))
        clock.advance(LASTS)

        assert await store.sweep() == [lost.run]

        found = await row(store, asleep.run)
        assert (found.status, found.deaths, found.token) == ("paused", 0, asleep.token)
