"""Laws of the fence: who may write, and where."""

from __future__ import annotations

import asyncio
import random

import pytest

from remit.store.protocol import Store
from remit.store.records import Append, Appended, Fenced, News
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    LASTS,
    bodies,
    claim,
    held,
    item,
    paused,
    queued,
    row,
    status,
    write,
)
from remit.values.results import Status

NEXT: list[Status | None] = [None, "paused", "succeeded"]


class FenceLaws:
    """Only the holder writes, under its own token and right behind what it knows."""

    async def test_a_lost_lease_cannot_write(self, store: Store, clock: ManualClock) -> None:
        lost = await held(store, worker="w1")
        clock.advance(LASTS)
        await store.sweep()
        taken = await claim(store, lost.run, "w2")

        outcome = await write(store, item(lost))

        assert outcome == Fenced()
        assert await bodies(store, lost.run) == [b"asked"]
        assert await write(store, item(taken)) == Appended(2, 0)

    async def test_a_lost_lease_harms_none_of_those_who_write_at_the_same_time(
        self, store: Store, clock: ManualClock
    ) -> None:
        lost = [await held(store, worker="w1") for _ in range(3)]
        clock.advance(LASTS)
        await store.sweep()
        kept = [await held(store, worker="w2") for _ in range(40)]
        items = [item(had, b"one", b"two") for had in kept]
        for had in lost:
            items.insert(7 * len(items) % 40, item(had, b"late"))

        outcomes = await asyncio.gather(*(write(store, each) for each in items))

        told = dict(zip([each.run for each in items], outcomes, strict=True))
        assert all(told[had.run] == Fenced() for had in lost)
        assert all(told[had.run] == Appended(3, 0) for had in kept)
        for had in kept:
            assert await bodies(store, had.run) == [b"asked", b"one", b"two"]
        for had in lost:
            assert await bodies(store, had.run) == [b"asked"]

    async def test_a_lost_lease_is_fenced_before_anyone_else_claims(
        self, store: Store, clock: ManualClock
    ) -> None:
        lost = await held(store)
        clock.advance(LASTS)
        await store.sweep()

        assert await write(store, item(lost)) == Fenced()
        assert (await row(store, lost.run)).token > lost.token

    async def test_the_same_worker_cannot_write_under_its_earlier_token(self, store: Store) -> None:
        first = await held(store, worker="w1")
        await store.release("w1", first.run, first.token)
        second = await claim(store, first.run, "w1")

        assert await write(store, item(first)) == Fenced()
        assert await write(store, item(second)) == Appended(2, 0)

    @pytest.mark.parametrize("next_status", NEXT)
    @pytest.mark.parametrize("seq", [0, 1, 3])
    async def test_a_write_at_another_sequence_number_is_fenced(
        self, store: Store, seq: int, next_status: Status | None
    ) -> None:
        had = await held(store)
        await write(store, item(had, b"one"))

        outcome = await write(store, item(had, b"two", seq=seq, status=next_status))

        assert outcome == Fenced()
        assert await bodies(store, had.run) == [b"asked", b"one"]
        assert await status(store, had.run) == "running"

    @pytest.mark.parametrize("next_status", NEXT)
    @pytest.mark.parametrize("step", [-1, 1])
    async def test_a_write_under_another_token_is_fenced(
        self, store: Store, step: int, next_status: Status | None
    ) -> None:
        had = await held(store)

        outcome = await write(store, item(had, token=had.token + step, status=next_status))

        assert outcome == Fenced()
        assert await bodies(store, had.run) == [b"asked"]
        assert await status(store, had.run) == "running"

    async def test_two_writes_at_one_sequence_number_one_wins(
        self, store: Store, other_store: Store
    ) -> None:
        had = await held(store)

        for seq in range(1, 41):
            outcomes = await asyncio.gather(
                write(store, item(had, b"a", seq=seq)), write(other_store, item(had, b"b", seq=seq))
            )
            assert sorted(outcomes, key=str) == [Appended(seq + 1, 0), Fenced()]

        assert len(await store.read(had.run)) == 41

    async def test_a_sequence_has_no_gaps(self, store: Store, other_store: Store) -> None:
        had = await held(store)

        async def writer(handle: Store, dice: random.Random) -> int:
            written = 0
            while written < 20:
                seq = (await row(handle, had.run)).seq
                count = dice.randint(1, 3)
                outcome = await write(handle, item(had, *[b"x"] * count, seq=seq))
                written += count if isinstance(outcome, Appended) else 0
            return written

        written = await asyncio.gather(
            writer(store, random.Random(1)),
            writer(other_store, random.Random(2)),
            writer(store, random.Random(3)),
        )

        entries = await store.read(had.run)
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        assert (await row(store, had.run)).seq == len(entries) == 1 + sum(written)

    async def test_a_run_that_nobody_holds_takes_no_write(self, store: Store) -> None:
        never = Append(run=await queued(store), token=0, seq=1, entries=(b"x",), format=1)
        given_back = await held(store)
        await store.release("w1", given_back.run, given_back.token)
        waiting = await paused(store, "k")
        unknown = Append(run="nobody", token=1, seq=0, entries=(b"x",), format=1)

        outcomes = await store.append([never, item(given_back), item(waiting, seq=2), unknown])

        assert outcomes == [Fenced()] * 4

    @pytest.mark.parametrize("end", ["succeeded", "failed", "cancelled"])
    async def test_an_ended_run_takes_no_write(
        self, store: Store, end: str, clock: ManualClock
    ) -> None:
        had = await held(store)
        clock.advance(1)

        outcome = await write(store, item(had, b"end", status=end))

        assert outcome == Appended(2, 0)
        assert await write(store, item(had, seq=2)) == Fenced()
        assert await write(store, item(had, seq=2, status="failed")) == Fenced()
        after = await row(store, had.run)
        assert (after.status, after.seq) == (end, 2)
        assert after.ended == after.created + 1_000_000

    async def test_a_refused_item_harms_no_neighbour(self, store: Store) -> None:
        fine, lost, told, end = [await held(store) for _ in range(4)]
        await store.cancel(told.run, b"end", 1, b"stop")

        outcomes = await store.append(
            [
                item(fine),
                item(lost, token=lost.token + 1),
                item(told, status="succeeded"),
                item(end, status="succeeded"),
            ]
        )

        assert outcomes == [Appended(2, 0), Fenced(), News(1), Appended(2, 0)]
        seqs = [(await row(store, one.run)).seq for one in (fine, lost, told, end)]
        assert seqs == [2, 1, 1, 2]
        assert await status(store, told.run) == "running"

    async def test_a_lost_lease_hears_no_news(self, store: Store) -> None:
        had = await held(store)
        await store.cancel(had.run, b"end", 1, b"stop")

        stale = [
            item(had, status="succeeded", token=had.token - 1),
            item(had, status="succeeded", seq=had.seq - 1),
            item(had, status="paused", seq=had.seq + 1),
        ]

        assert await store.append(stale) == [Fenced()] * 3
