"""Laws of threads: one live run at a time, and each built on the one before."""

from __future__ import annotations

import asyncio

import pytest

from remit.store.protocol import Store
from remit.store.records import Appended, Busy, Created
from remit.testing.store_contract.arrange import (
    a_run,
    cancelled,
    claim,
    ended,
    held,
    item,
    paused,
    queued,
    write,
)


class ThreadLaws:
    """A thread has one live run, which builds on the newest that ended."""

    async def test_a_thread_has_one_live_run(self, store: Store) -> None:
        first = await queued(store, thread="t")
        while_queued = await store.create(a_run(thread="t"))
        had = await claim(store, first)
        while_running = await store.create(a_run(thread="t"))
        await write(store, item(had, status="paused", asks=("k",)))
        while_paused = await store.create(a_run(thread="t"))

        assert [while_queued, while_running, while_paused] == [Busy(first)] * 3

    async def test_a_refused_run_leaves_nothing_behind(self, store: Store) -> None:
        await queued(store, thread="t")

        await store.create(a_run("refused", thread="t"))

        assert await store.get("refused") is None
        assert await store.read("refused") == []

    @pytest.mark.parametrize("end", ["succeeded", "failed", "cancelled"])
    async def test_an_end_frees_the_thread(self, store: Store, end: str) -> None:
        had = await held(store, thread="t")
        await write(store, item(had, status=end))

        assert await store.thread_head("t") == had.run
        assert await store.create(a_run(thread="t")) == Created()

    async def test_a_cancel_frees_the_thread(self, store: Store) -> None:
        first = await queued(store, thread="t")
        await cancelled(store, first)
        second = await paused(store, "k", thread="t")
        await cancelled(store, second.run)

        assert await store.thread_head("t") == second.run
        assert await store.create(a_run(thread="t")) == Created()

    async def test_a_pause_or_a_release_frees_no_thread(self, store: Store) -> None:
        had = await held(store, thread="t", worker="w1")
        await store.release("w1", had.run, had.token)

        assert await store.thread_head("t") is None
        assert await store.create(a_run(thread="t")) == Busy(had.run)

    async def test_starts_side_by_side_on_a_thread_one_wins(
        self, store: Store, other_store: Store
    ) -> None:
        for number in range(20):
            names = [f"{number}.{one}" for one in range(8)]
            outcomes = await asyncio.gather(
                *(
                    (store, other_store)[one % 2].create(a_run(name, thread=f"t{number}"))
                    for one, name in enumerate(names)
                )
            )
            won = [
                name for name, one in zip(names, outcomes, strict=True) if isinstance(one, Created)
            ]
            assert len(won) == 1
            assert outcomes.count(Busy(won[0])) == 7
            assert [bool(await store.get(name)) for name in names].count(True) == 1

    async def test_start_against_finish_loses_no_run(
        self, store: Store, other_store: Store
    ) -> None:
        claims = await asyncio.gather(*(held(store, thread=f"t{number}") for number in range(40)))
        for number, had in enumerate(claims):
            done, made = await asyncio.gather(
                write(store, item(had, status="succeeded")),
                other_store.create(a_run(f"next{number}", thread=f"t{number}")),
            )
            assert done == Appended(2, 0)
            if isinstance(made, Created):
                (before,) = await store.lineage(f"next{number}")
                assert [entry.seq for entry in before] == [1, 2]
            else:
                assert made == Busy(had.run)
                assert await queued(store, thread=f"t{number}")

    async def test_threads_keep_apart(self, store: Store) -> None:
        threads = ["t", "T", "t ", "", "t\0a", "t\0b", "\ud800", "\udfff", "ä", "a\u0308"]

        runs = [await queued(store, thread=thread) for thread in threads]

        for thread, run in zip(threads, runs, strict=True):
            assert await store.create(a_run(thread=thread)) == Busy(run)
            found = await store.get(run)
            assert found is not None
            assert found.thread == thread

    async def test_runs_without_a_thread_are_never_busy(self, store: Store) -> None:
        await ended(store)
        alone = await queued(store)

        assert await store.lineage(alone) == []

    async def test_a_lineage_is_all_the_runs_before_oldest_first(self, store: Store) -> None:
        for number in range(4):
            await ended(store, f"r{number}", thread="t", body=f"asked {number}".encode())
            await ended(store, thread="other")
        last = await queued(store, thread="t")

        journals = await store.lineage(last)

        told = [[entry.body for entry in journal] for journal in journals]
        assert told == [[f"asked {number}".encode(), b"fact"] for number in range(4)]
        assert len(await store.lineage("r2")) == 2
        assert await store.lineage("r0") == await store.lineage("nobody") == []

    async def test_a_base_is_pinned_when_the_run_is_made(self, store: Store) -> None:
        first = await ended(store, thread="t")
        second = await held(store, thread="t")
        before = await store.lineage(second.run)
        await write(store, item(second, status="failed"))
        third = await ended(store, thread="t")

        assert await store.lineage(second.run) == before == [await store.read(first)]
        assert await store.lineage(third) == [await store.read(first), await store.read(second.run)]

    async def test_a_thread_has_no_head_until_a_run_has_ended(self, store: Store) -> None:
        assert await store.thread_head("t") is None
        await queued(store, thread="t")

        assert await store.thread_head("t") is None
