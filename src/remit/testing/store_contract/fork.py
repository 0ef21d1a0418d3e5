"""Laws of runs that build on another, on its thread or not."""

from __future__ import annotations

import asyncio

import pytest

from remit.store.protocol import Store
from remit.store.records import Base, Busy, Created, Existing, StartKey
from remit.testing.store_contract.arrange import (
    a_run,
    cancelled,
    claim,
    due,
    ended,
    finish,
    held,
    item,
    queued,
    row,
    write,
)


async def told(store: Store, run: str) -> list[list[bytes]]:
    """What a run's lineage says, journal by journal."""
    return [[entry.body for entry in journal] for journal in await store.lineage(run)]


class ForkLaws:
    """A run builds on its base as far as that was named, whatever becomes of the base."""

    async def test_a_fork_builds_on_its_base_as_far_as_was_named(self, store: Store) -> None:
        had = await held(store)
        await write(store, item(had, b"one", b"two", b"three", status="succeeded"))

        forks = [await queued(store, base=Base(had.run, seq)) for seq in (4, 2, 1)]

        journals = [await told(store, fork) for fork in forks]
        whole = [b"asked", b"one", b"two", b"three"]
        assert journals == [[whole], [whole[:2]], [whole[:1]]]
        assert (await row(store, forks[1])).base == Base(had.run, 2)
        assert await due(store) == forks

    async def test_a_base_that_goes_on_adds_nothing_to_its_fork(self, store: Store) -> None:
        had = await held(store)
        await write(store, item(had, b"one"))
        fork = await queued(store, base=Base(had.run, 2))

        await write(store, item(had, b"two", seq=2, status="succeeded"))

        assert await told(store, fork) == [[b"asked", b"one"]]

    async def test_a_fork_inherits_what_its_base_builds_on(self, store: Store) -> None:
        for number in range(3):
            await ended(store, f"r{number}", thread="t", body=b"%d" % number)

        fork = await queued(store, base=Base("r1", 1), thread="fork")
        of_fork = await queued(store, base=Base(fork, 1))

        assert await told(store, fork) == [[b"0", b"fact"], [b"1"]]
        assert await told(store, of_fork) == [[b"0", b"fact"], [b"1"], [b"asked"]]

    async def test_a_fork_begins_a_thread_of_its_own(self, store: Store) -> None:
        base = await ended(store, thread="t")
        fork = await ended(store, thread="fork", base=Base(base, 1))

        after = await queued(store, thread="fork")

        assert (await row(store, after)).base == Base(fork, 2)
        assert [len(journal) for journal in await store.lineage(after)] == [1, 2]
        assert await store.thread_head("t") == base
        assert (await row(store, await queued(store, thread="t"))).base == Base(base, 2)

    @pytest.mark.parametrize("enqueue", [None, 5])
    async def test_a_fork_takes_no_thread_that_had_a_run(
        self, store: Store, enqueue: int | None
    ) -> None:
        base = await ended(store)
        fork = a_run("fork", thread="t", base=Base(base, 1), enqueue=enqueue)

        had = await held(store, thread="t")
        live = await store.create(fork)
        await queued(store, "next", thread="t", enqueue=1)
        waited_for = await store.create(fork)
        await finish(store, had)
        handed_on = await store.create(fork)
        await cancelled(store, "next")
        over = await store.create(fork)

        assert [live, waited_for] == [Busy(had.run), Busy(had.run, 1)]
        assert [handed_on, over] == [Busy("next"), Busy("next")]
        assert await store.get("fork") is None
        assert await store.thread_head("t") == "next"

    async def test_a_fork_that_was_refused_uses_up_no_key(self, store: Store) -> None:
        base = await ended(store)
        await queued(store, "live", thread="t")
        fork = {"key": StartKey("k", b"fork"), "base": Base(base, 1)}

        assert await store.create(a_run("refused", thread="t", **fork)) == Busy("live")

        assert await store.create(a_run("fork", thread="own", **fork)) == Created()
        again = await store.create(a_run("again", thread="own", **fork))
        assert again == Existing("fork")

    async def test_a_fork_and_a_start_side_by_side_one_wins(
        self, store: Store, other_store: Store
    ) -> None:
        base = await ended(store)
        for number in range(20):
            thread = f"t{number}"
            fork = a_run(f"fork{number}", thread=thread, base=Base(base, 1), enqueue=1)
            start = a_run(f"start{number}", thread=thread)

            made = await asyncio.gather(store.create(fork), other_store.create(start))

            assert sorted(map(type, made), key=str) == [Busy, Created]

    async def test_the_next_run_builds_on_all_that_its_head_wrote(self, store: Store) -> None:
        had = await held(store, thread="t")
        await write(store, item(had, b"one", b"two"))
        await finish(store, had, seq=3)

        after = await queued(store, thread="t")

        assert (await row(store, after)).base == Base(had.run, 4)

    async def test_a_base_that_nobody_knows_is_skipped(self, store: Store) -> None:
        fork = a_run("fork", base=Base("nobody", 7))

        assert await store.create(fork) == Created()

        assert await store.lineage("fork") == []
        assert (await claim(store, "fork")).seq == 1
