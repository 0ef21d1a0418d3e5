"""Laws of deleting: what is old, and what a person wants forgotten."""

from __future__ import annotations

import asyncio

import pytest

from remit.store.protocol import Store
from remit.store.records import Base, Created, Over, Query, StartKey
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    a_run,
    cancelled,
    claim,
    ended,
    finish,
    held,
    now,
    paused,
    queued,
    row,
    status,
)


async def left(store: Store) -> list[str]:
    """The runs there are, oldest first."""
    return [found.id for found in await store.find(Query(limit=500))][::-1]


async def delete_all(store: Store, when: int, limit: int = 500) -> int:
    """How many runs could be deleted, call by call."""
    count = 0
    while deleted := await store.delete_before(when, limit):
        assert deleted <= limit
        count += deleted
    return count


class DeletionLaws:
    """Only what has ended goes, and nothing goes that something living builds on."""

    async def test_what_is_deleted_leaves_nothing(self, store: Store, clock: ManualClock) -> None:
        had = await paused(store, "k", thread="t", user="u")
        await store.send(had.run, b"hello", "m1")
        await cancelled(store, had.run)
        clock.advance(1)

        assert await store.delete_before(now(clock)) == 1

        assert await store.get(had.run) is None
        assert (await store.read(had.run), await store.signals(had.run)) == ([], [])
        assert await store.heads([had.run]) == {}
        assert await store.find(Query(user="u")) == await store.find(Query(thread="t")) == []
        assert await store.thread_head("t") is None
        assert await store.deliver(had.run, {"k": b"yes"}, "d1") is None
        assert await store.cancel(had.run, b"end", 1, b"stop") == Over(None)
        assert await store.delete_before(now(clock)) == 0

    async def test_only_what_ended_before_is_deleted(
        self, store: Store, clock: ManualClock
    ) -> None:
        await ended(store, "older")
        clock.advance(1)
        await ended(store, "old")
        when = now(clock)

        assert await store.delete_before(when) == 1
        assert await left(store) == ["old"]
        assert await store.delete_before(when + 1) == 1

    async def test_what_has_not_ended_is_never_deleted(
        self, store: Store, clock: ManualClock
    ) -> None:
        one = await queued(store)
        two = await held(store)
        three = await paused(store, "k")
        clock.advance(1000)

        assert await store.delete_before(now(clock)) == 0
        assert await store.forget("u", None) == 0
        assert await left(store) == [one, two.run, three.run]

    async def test_no_more_is_deleted_than_was_told(self, store: Store, clock: ManualClock) -> None:
        for _ in range(5):
            await ended(store)
        clock.advance(1)

        counts = [await store.delete_before(now(clock), limit=2) for _ in range(4)]

        assert counts == [2, 2, 1, 0]

    async def test_a_thread_that_lives_keeps_its_history(
        self, store: Store, clock: ManualClock
    ) -> None:
        for _ in range(3):
            await ended(store, thread="driven")
            await ended(store, thread="asleep")
            await ended(store, thread="recent")
        clock.advance(1)
        await held(store, thread="driven")
        await queued(store, thread="asleep")
        when = now(clock)
        await ended(store, thread="recent")

        assert await store.delete_before(when) == 0
        assert len(await left(store)) == 12
        assert await store.thread_head("driven") is not None

    async def test_a_thread_whose_newest_run_is_old_goes_whole(
        self, store: Store, clock: ManualClock
    ) -> None:
        for _ in range(4):
            await ended(store, thread="t")
        clock.advance(1)

        assert await delete_all(store, now(clock)) == 4

        assert await store.thread_head("t") is None
        assert await store.create(a_run("fresh", thread="t")) == Created()
        assert (await row(store, "fresh")).base is None
        assert await store.lineage("fresh") == []

    async def test_a_thread_is_deleted_from_its_newest_end(
        self, store: Store, clock: ManualClock
    ) -> None:
        first, second, third = [await ended(store, thread="t") for _ in range(3)]
        clock.advance(1)

        assert await store.delete_before(now(clock), limit=1) == 1

        assert await left(store) == [first, second]
        assert await store.thread_head("t") == second
        after = await queued(store, thread="t")
        assert [journal for journal in await store.lineage(after)] == [
            await store.read(first),
            await store.read(second),
        ]
        assert await store.get(third) is None

    async def test_what_a_living_fork_builds_on_stays(
        self, store: Store, clock: ManualClock
    ) -> None:
        first, second, third = [await ended(store, thread="t") for _ in range(3)]
        fork = await queued(store, base=Base(second, 2))
        clock.advance(1)

        assert await delete_all(store, now(clock)) == 1
        assert await left(store) == [first, second, fork]
        assert len(await store.lineage(fork)) == 2

        await finish(store, await claim(store, fork))
        clock.advance(1)
        assert await delete_all(store, now(clock)) == 3
        assert await store.get(third) is None

    async def test_deletions_side_by_side_delete_each_run_once(
        self, store: Store, other_store: Store, clock: ManualClock
    ) -> None:
        for _ in range(30):
            await ended(store)
        for _ in range(10):
            await ended(store, thread="t")
        clock.advance(1)
        count = 0
        while await left(store):
            both = await asyncio.gather(
                store.delete_before(now(clock), 7), other_store.delete_before(now(clock), 7)
            )
            count += sum(both)

        assert count == 40

    async def test_start_against_deletion_leaves_no_run_without_its_base(
        self, store: Store, other_store: Store, clock: ManualClock
    ) -> None:
        for number in range(25):
            thread = f"t{number}"
            before = await ended(store, thread=thread)
            clock.advance(1)
            await asyncio.gather(
                store.create(a_run(f"r{number}", thread=thread)),
                other_store.delete_before(now(clock)),
            )
            base = (await row(store, f"r{number}")).base
            kept = await store.get(before) is not None
            assert base == (Base(before, 2) if kept else None)
            await finish(store, await claim(store, f"r{number}", f"w{number}"))


class ForgetLaws:
    """A person who is forgotten leaves nothing but money spent and starts made."""

    async def test_a_person_is_forgotten_whole(self, store: Store) -> None:
        theirs = await held(store, user="u", tenant="acme", thread="t")
        await store.send(theirs.run, b"hello", "m1")
        await finish(store, theirs, seen=1)
        for _ in range(2):
            await ended(store, user="u", tenant="acme", thread="t")

        assert await store.forget("u", "acme") == 3

        assert await left(store) == []
        assert (await store.read(theirs.run), await store.signals(theirs.run)) == ([], [])
        assert await store.thread_head("t") is None
        fresh = await queued(store, thread="t")
        assert (await row(store, fresh)).base is None

    async def test_nobody_else_is_forgotten(self, store: Store) -> None:
        others = [
            await ended(store, user="u"),
            await ended(store, user="u", tenant="other"),
            await ended(store, user="v", tenant="acme"),
            await ended(store, tenant="acme"),
        ]
        await ended(store, user="u", tenant="acme")

        assert await store.forget("u", "acme") == 1
        assert await left(store) == others
        assert await store.forget("u", None) == 1
        assert await left(store) == others[1:]

    async def test_no_more_is_forgotten_than_was_told(self, store: Store) -> None:
        for _ in range(5):
            await ended(store, user="u")

        assert [await store.forget("u", None, limit=2) for _ in range(4)] == [2, 2, 1, 0]

    async def test_what_another_builds_on_is_forgotten_too(self, store: Store) -> None:
        theirs = await ended(store, user="u")
        after = await ended(store, base=Base(theirs, 2))
        last = await queued(store, base=Base(after, 1))

        assert await store.forget("u", None) == 1

        assert await store.lineage(after) == []
        assert [len(journal) for journal in await store.lineage(last)] == [1]
        assert (await claim(store, last)).seq == 1

    async def test_a_thread_goes_on_without_what_was_forgotten(self, store: Store) -> None:
        for _ in range(2):
            await ended(store, user="u", thread="t")
        live = await held(store, user="u", thread="t")
        assert len(await store.lineage(live.run)) == 2

        assert await store.forget("u", None) == 2

        assert await store.lineage(live.run) == []
        assert await status(store, live.run) == "running"
        waiting = await queued(store, thread="t", enqueue=1)
        await finish(store, live)
        assert await store.thread_head("t") == live.run
        assert (await row(store, waiting)).base == Base(live.run, 2)

    @pytest.mark.parametrize("way", ["forget", "delete_before"])
    async def test_start_keys_stay(self, store: Store, clock: ManualClock, way: str) -> None:
        key = StartKey("k", b"asked")
        run = await ended(store, user="u", key=key)
        clock.advance(1)
        if way == "forget":
            assert await store.forget("u", None) == 1
        else:
            assert await store.delete_before(now(clock)) == 1

        assert await store.get(run) is None
        assert not isinstance(await store.create(a_run(key=key)), Created)

    async def test_finish_against_forgetting_leaves_one_truth(
        self, store: Store, other_store: Store
    ) -> None:
        claims = await asyncio.gather(
            *(held(store, user="u", thread=f"t{turn}") for turn in range(25))
        )
        for turn, had in enumerate(claims):
            both = [finish(store, had), other_store.forget("u", None)]
            await asyncio.gather(*(both if turn % 2 else both[::-1]))
            kept = await store.get(had.run)
            head = await store.thread_head(f"t{turn}")
            assert head == (None if kept is None else had.run)
            fresh = await queued(store, f"r{turn}", thread=f"t{turn}")
            assert (await row(store, fresh)).base == (None if kept is None else Base(had.run, 2))
            await store.forget("u", None)
