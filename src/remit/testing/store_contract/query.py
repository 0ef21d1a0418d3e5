"""Laws of what is asked of a store, and of how it tells that something changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from remit.store.protocol import Store
from remit.store.records import Head, Query, RunRow
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    LASTS,
    PROGRAM,
    cancelled,
    ended,
    held,
    item,
    join,
    paused,
    queued,
    row,
    write,
)


async def rings(wakeups: AsyncIterator[None], within: float = 5) -> None:
    await asyncio.wait_for(anext(wakeups), within)


async def is_quiet(wakeups: AsyncIterator[None]) -> bool:
    try:
        await rings(wakeups, 0.2)
    except TimeoutError:
        return True
    return False


class QueryLaws:
    """What was written is found, and whoever waits for it is woken."""

    async def test_a_row_tells_all_about_its_run(self, store: Store, clock: ManualClock) -> None:
        made = round(clock.wall() * 1e6)
        run = await queued(store, tenant="acme", user="u_1", thread="t")
        clock.advance(1.5)
        await join(store, "w1")
        (had,) = await store.claim("w1", [PROGRAM], format=1)
        await write(store, item(had, status="failed"))

        assert await store.get(run) == RunRow(
            id=run,
            program=PROGRAM,
            status="failed",
            seq=2,
            token=1,
            tenant="acme",
            user="u_1",
            thread="t",
            deaths=0,
            created=made,
            ended=made + 1_500_000,
        )
        assert await store.get("nobody") is None

    async def test_heads_tell_of_the_runs_there_are(self, store: Store) -> None:
        waiting = await queued(store)
        over = await ended(store)
        await queued(store)

        heads = await store.heads([waiting, over, "nobody"])

        assert heads == {waiting: Head(1, "queued"), over: Head(2, "succeeded")}
        assert await store.heads([]) == {}

    async def test_heads_can_be_asked_for_by_the_thousand(self, store: Store) -> None:
        names = [f"run{number}" for number in range(1500)]
        await asyncio.gather(*(queued(store, name) for name in names))

        heads = await store.heads([*names, *(f"no{name}" for name in names)])

        assert set(heads) == set(names)

    async def test_runs_are_found_newest_first(self, store: Store) -> None:
        made = [await queued(store, name) for name in ("b", "c", "a")]

        assert [found.id for found in await store.find(Query())] == made[::-1]

    async def test_a_query_narrows_by_all_that_it_names(self, store: Store) -> None:
        await queued(store, "1", user="u", tenant="x", thread="t1")
        await queued(store, "2", user="u", tenant="y", program="other@1")
        await queued(store, "3", user="v", tenant="x", thread="t\0\ud800")
        await cancelled(store, await queued(store, "4", user="u", tenant="x"))
        queries = [
            Query(user="u"),
            Query(tenant="x"),
            Query(names=("other",)),
            Query(names=("greeter", "other"), user="u"),
            Query(names=()),
            Query(thread="t\0\ud800"),
            Query(status="cancelled"),
            Query(user="u", tenant="x", status="queued"),
            Query(user="nobody"),
            Query(user=""),
        ]

        found = [[run.id for run in await store.find(query)] for query in queries]

        assert found == [
            ["4", "2", "1"],
            ["4", "3", "1"],
            ["2"],
            ["4", "2", "1"],
            [],
            ["3"],
            ["4"],
            ["1"],
            [],
            [],
        ]

    @pytest.mark.parametrize("limit", [1, 3, 7])
    async def test_pages_give_each_run_once(self, store: Store, limit: int) -> None:
        made = [await queued(store, user="u") for _ in range(7)]
        for _ in range(2):
            await queued(store, user="v")
        pages, before = [], None
        while page := await store.find(Query(user="u", before=before, limit=limit)):
            pages.append([found.id for found in page])
            before = pages[-1][-1]
            await queued(store, user="u")

        assert [run for page in pages for run in page] == made[::-1]
        assert all(len(page) == limit for page in pages[:-1])

    async def test_a_page_after_an_unknown_run_is_empty(self, store: Store) -> None:
        await queued(store)

        assert await store.find(Query(before="nobody")) == []
        assert await store.find(Query(limit=0)) == []

    async def test_each_write_that_others_may_wait_for_wakes(
        self, store: Store, clock: ManualClock
    ) -> None:
        wakeups = store.wakeups()

        run = await queued(store)
        await rings(wakeups)
        await join(store, "w1")
        (had,) = await store.claim("w1", [PROGRAM], format=1)
        await store.release("w1", run, had.token)
        await rings(wakeups)
        await store.cancel(run, b"end", 1, b"stop")
        await rings(wakeups)
        asking = await paused(store, "k", worker="w1")
        await rings(wakeups)
        await store.deliver(asking.run, {"k": b"yes"}, "d")
        await rings(wakeups)
        await held(store, worker="w1")
        await rings(wakeups)
        clock.advance(LASTS)
        await store.sweep()
        await rings(wakeups)

    async def test_what_another_handle_writes_wakes(self, store: Store, other_store: Store) -> None:
        wakeups = store.wakeups()
        await is_quiet(wakeups)

        await queued(other_store)

        await rings(wakeups)

    async def test_each_listener_is_woken_by_itself(self, store: Store) -> None:
        first, second = store.wakeups(), store.wakeups()

        await queued(store)

        await rings(first)
        await rings(second)

    async def test_many_writes_wake_once(self, store: Store) -> None:
        wakeups = store.wakeups()
        for _ in range(20):
            await queued(store)
        await asyncio.sleep(0.05)

        await rings(wakeups)
        assert await is_quiet(wakeups)

    async def test_a_listener_that_left_disturbs_nobody(self, store: Store) -> None:
        left = asyncio.ensure_future(anext(store.wakeups()))
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.wait([left])

        assert (await row(store, await queued(store))).status == "queued"
