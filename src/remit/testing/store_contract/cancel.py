"""Laws of cancels."""

from __future__ import annotations

import asyncio

import pytest

from remit.store.protocol import Store
from remit.store.records import (
    Appended,
    Delivered,
    News,
    Over,
    Signal,
    Signalled,
    Stopped,
    Undelivered,
)
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    PROGRAM,
    bodies,
    held,
    item,
    join,
    paused,
    queued,
    row,
    status,
    write,
)


class CancelLaws:
    """A cancel that is accepted ends the run as cancelled, once."""

    async def test_cancel_ends_a_queued_run(self, store: Store, clock: ManualClock) -> None:
        run = await queued(store)
        clock.advance(2)

        assert await store.cancel(run, b"end", 1, b"stop") == Stopped(2)

        after = await row(store, run)
        assert (after.status, after.seq) == ("cancelled", 2)
        assert after.ended == after.created + 2_000_000
        assert await bodies(store, run) == [b"asked", b"end"]
        await join(store, "w1")
        assert await store.claim("w1", [PROGRAM], format=1) == []

    async def test_cancel_ends_a_paused_run(self, store: Store) -> None:
        had = await paused(store, "k")

        assert await store.cancel(had.run, b"end", 1, b"stop") == Stopped(3)

        assert await bodies(store, had.run) == [b"asked", b"fact", b"end"]
        assert await store.deliver(had.run, {"k": b"yes"}, "d") == Undelivered("cancelled")
        assert await store.signals(had.run) == [Signal("k", None)]

    async def test_cancel_asks_the_holder_of_a_running_run_once(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await held(store)

        assert await store.cancel(had.run, b"end", 1, b"first") == Signalled()
        at = round(clock.wall() * 1e6)
        clock.advance(1)
        assert await store.cancel(had.run, b"end", 1, b"second") == Signalled()

        assert await store.signals(had.run) == [Signal("cancel", b"first", None, at)]
        assert await write(store, item(had)) == Appended(2, 1)
        assert await bodies(store, had.run) == [b"asked", b"fact"]

    @pytest.mark.parametrize("end", ["succeeded", "failed", "cancelled"])
    async def test_cancel_changes_no_ended_run(self, store: Store, end: str) -> None:
        had = await held(store)
        await write(store, item(had, status=end))
        before = await row(store, had.run)

        assert await store.cancel(had.run, b"end", 1, b"stop") == Over(before.status)

        assert await row(store, had.run) == before
        assert await store.signals(had.run) == []
        assert await store.cancel("nobody", b"end", 1, b"stop") == Over(None)

    async def test_a_cancel_keeps_the_highest_format(self, store: Store) -> None:
        run = await queued(store, format=2)

        await store.cancel(run, b"end", 1, b"stop")

        assert [entry.format for entry in await store.read(run)] == [2, 1]

    async def test_cancels_side_by_side_end_a_run_once(
        self, store: Store, other_store: Store
    ) -> None:
        for _ in range(30):
            run = await queued(store)
            outcomes = await asyncio.gather(
                store.cancel(run, b"a", 1, b"stop"), other_store.cancel(run, b"b", 1, b"stop")
            )
            assert sorted(outcomes, key=str) == [Over("cancelled"), Stopped(2)]
            assert len(await bodies(store, run)) == 2

    async def test_finish_against_cancel_leaves_one_truth(
        self, store: Store, other_store: Store
    ) -> None:
        claims = await asyncio.gather(*(held(store) for _ in range(60)))
        for turn, had in enumerate(claims):
            finish = write(store, item(had, status="succeeded"))
            cancel = other_store.cancel(had.run, b"end", 1, b"stop")
            if turn % 2:
                done, told = await asyncio.gather(finish, cancel)
            else:
                told, done = await asyncio.gather(cancel, finish)
            if told == Signalled():
                assert done == News(1)
                assert await status(store, had.run) == "running"
            else:
                assert (done, told) == (Appended(2, 0), Over("succeeded"))

    async def test_pause_against_cancel_leaves_one_truth(
        self, store: Store, other_store: Store
    ) -> None:
        claims = await asyncio.gather(*(held(store) for _ in range(60)))
        for turn, had in enumerate(claims):
            pause = write(store, item(had, status="paused", asks=("k",)))
            cancel = other_store.cancel(had.run, b"end", 1, b"stop")
            if turn % 2:
                done, told = await asyncio.gather(pause, cancel)
            else:
                told, done = await asyncio.gather(cancel, pause)
            if told == Signalled():
                assert done == News(1)
                assert await status(store, had.run) == "running"
            else:
                assert (done, told) == (Appended(2, 0), Stopped(3))
                assert await status(store, had.run) == "cancelled"

    async def test_claim_against_cancel_leaves_one_truth(
        self, store: Store, other_store: Store
    ) -> None:
        await join(store, "w1")
        for _ in range(40):
            run = await queued(store)
            claims, told = await asyncio.gather(
                store.claim("w1", [PROGRAM], format=1, run=run),
                other_store.cancel(run, b"end", 1, b"stop"),
            )
            if claims:
                assert (told, await status(store, run)) == (Signalled(), "running")
            else:
                assert (told, await status(store, run)) == (Stopped(2), "cancelled")

    async def test_answer_against_cancel_leaves_one_truth(
        self, store: Store, other_store: Store
    ) -> None:
        claims = await asyncio.gather(*(paused(store, "k") for _ in range(40)))
        for had in claims:
            answer = store.deliver(had.run, {"k": b"yes"}, "d")
            cancel = other_store.cancel(had.run, b"end", 1, b"stop")
            delivered, told = await asyncio.gather(answer, cancel)
            assert told == Stopped(3)
            assert delivered in (Delivered(0), Undelivered("cancelled"))
