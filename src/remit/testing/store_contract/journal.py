"""Laws of writing a journal: order, news, progress, and all or nothing."""

from __future__ import annotations

import asyncio
import random

import pytest

from remit.store.protocol import Store
from remit.store.records import Appended, Entry, Fenced, News, Signalled
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    LASTS,
    PROGRAM,
    a_run,
    bodies,
    claim,
    ended,
    held,
    item,
    join,
    queued,
    row,
    status,
    write,
)


class JournalLaws:
    """A journal keeps all that was written, in order and byte for byte."""

    async def test_entries_are_read_back_in_order_with_their_token(self, store: Store) -> None:
        had = await held(store)

        outcome = await write(store, item(had, b"one", b"two"))

        assert outcome == Appended(3, 0)
        assert await store.read(had.run) == [
            Entry(1, 0, 1, b"asked"),
            Entry(2, had.token, 1, b"one"),
            Entry(3, had.token, 1, b"two"),
        ]

    @pytest.mark.parametrize(
        ("entries", "size"), [(1, 3_000_000), (3, 5_000), (150, 10), (150, 5_000)]
    )
    async def test_a_journal_is_read_whole_however_long_it_is(
        self, store: Store, entries: int, size: int
    ) -> None:
        had = await held(store)
        told = [bytes([n]) * size for n in range(entries)]
        await write(store, item(had, *told))

        assert [entry.body for entry in await store.read(had.run, 1)] == told

    async def test_a_reader_goes_on_where_it_stopped(self, store: Store) -> None:
        had = await held(store)
        await write(store, item(had, b"one", b"two"))

        after = [(await store.read(had.run, n)) for n in (0, 1, 3, 4)]

        assert [[entry.seq for entry in entries] for entries in after] == [
            [1, 2, 3],
            [2, 3],
            [],
            [],
        ]
        assert await store.read("nobody") == []

    async def test_the_items_of_a_batch_are_written_in_order(self, store: Store) -> None:
        had = await held(store)

        outcomes = await store.append(
            [item(had, b"one"), item(had, b"twin"), item(had, b"two", seq=2, status="failed")]
        )

        assert outcomes == [Appended(2, 0), Fenced(), Appended(3, 0)]
        assert await bodies(store, had.run) == [b"asked", b"one", b"two"]

    async def test_many_writers_at_once_are_all_stored(
        self, store: Store, other_store: Store
    ) -> None:
        await join(store, "w1")
        names = [await queued(store) for _ in range(150)]
        claims = await store.claim("w1", [PROGRAM], format=1, room=150)

        async def writer(handle: Store, had: int) -> None:
            for seq in range(1, 4):
                mine = claims[had]
                outcome = await write(handle, item(mine, mine.run.encode(), seq=seq))
                assert outcome == Appended(seq + 1, 0)

        await asyncio.gather(*(writer((store, other_store)[n % 2], n) for n in range(150)))

        assert {claim.run for claim in claims} == set(names)
        for name in names:
            assert await bodies(store, name) == [b"asked", *[name.encode()] * 3]

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"\0",
            b"a\0b",
            "\ud800".encode("utf-8", "surrogatepass"),
            bytes(range(256)),
            random.Random(7).randbytes(3_000_000),
        ],
        ids=["empty", "NUL", "NUL inside", "surrogate", "every byte", "3 MB"],
    )
    async def test_bodies_are_kept_byte_for_byte(self, store: Store, body: bytes) -> None:
        had = await held(store, body=body)
        await write(store, item(had, body, b"small"))

        assert await bodies(store, had.run) == [body, body, b"small"]

    async def test_a_pause_that_missed_a_signal_is_news(self, store: Store) -> None:
        had = await held(store)
        await store.cancel(had.run, b"end", 1, b"stop")

        pause = item(had, status="paused", asks=("k",))
        outcome = await write(store, pause)

        assert outcome == News(1)
        assert await status(store, had.run) == "running"
        assert await bodies(store, had.run) == [b"asked"]
        assert [signal.key for signal in await store.signals(had.run)] == ["cancel"]

    async def test_whoever_has_looked_may_end(self, store: Store) -> None:
        had = await held(store)
        assert await store.cancel(had.run, b"end", 1, b"stop") == Signalled()

        assert await write(store, item(had, status="cancelled")) == News(1)
        assert await write(store, item(had, status="cancelled", seen=1)) == Appended(2, 1)
        assert await status(store, had.run) == "cancelled"

    async def test_a_plain_entry_is_stored_despite_news_and_brings_it(self, store: Store) -> None:
        had = await held(store)
        await store.cancel(had.run, b"end", 1, b"stop")

        assert await write(store, item(had)) == Appended(2, 1)

    async def test_progress_resets_deaths(self, store: Store, clock: ManualClock) -> None:
        run = await queued(store)
        deaths = []
        for number, worker in enumerate(["a", "b", "c", "d"]):
            had = await claim(store, run, worker)
            deaths.append(had.deaths)
            if number == 1:
                await write(store, item(had))
            clock.advance(LASTS)
            await store.sweep()

        assert deaths == [0, 1, 1, 2]

    @pytest.mark.parametrize("next_status", ["paused", "succeeded"])
    async def test_a_stop_is_progress(
        self, store: Store, clock: ManualClock, next_status: str
    ) -> None:
        lost = await held(store, worker="a")
        clock.advance(LASTS)
        await store.sweep()
        had = await claim(store, lost.run, "b")

        await write(store, item(had, status=next_status))

        assert (had.deaths, (await row(store, had.run)).deaths) == (1, 0)

    async def test_a_refused_write_is_no_progress(self, store: Store, clock: ManualClock) -> None:
        lost = await held(store, worker="a")
        clock.advance(LASTS)
        await store.sweep()
        had = await claim(store, lost.run, "b")

        await write(store, item(had, seq=7))
        await store.cancel(had.run, b"end", 1, b"stop")
        await write(store, item(had, status="succeeded"))

        assert (await row(store, had.run)).deaths == 1

    async def test_no_holder_can_queue_or_start_its_run(self, store: Store) -> None:
        had = await held(store)

        with pytest.raises(ValueError, match="cannot make its run queued"):
            item(had, status="queued")
        with pytest.raises(ValueError, match="cannot make its run running"):
            item(had, status="running")

    async def test_the_same_id_twice_is_one_run(self, store: Store, other_store: Store) -> None:
        await asyncio.gather(
            *(handle.create(a_run("one", thread="t")) for handle in (store, other_store) * 10)
        )

        assert await bodies(store, "one") == [b"asked"]
        done = await claim(store, "one")
        await write(store, item(done, status="succeeded"))
        await store.create(a_run("one", thread="t", body=b"other"))
        assert await bodies(store, "one") == [b"asked", b"fact"]

    async def test_what_is_stored_outlives_a_handle(self, store: Store, other_store: Store) -> None:
        run = await ended(store, thread="t", user="u")
        await store.close()

        assert await status(other_store, run) == "succeeded"
        assert await other_store.thread_head("t") == run
        await store.open()
        assert await bodies(store, run) == [b"asked", b"fact"]

    async def test_a_caller_who_is_cancelled_harms_nobody(self, store: Store) -> None:
        claims = [await held(store) for _ in range(10)]
        writes = [asyncio.create_task(write(store, item(had))) for had in claims]
        await asyncio.sleep(0)

        for task in writes[::2]:
            task.cancel()
        await asyncio.wait(writes)

        assert [task.result() for task in writes[1::2]] == [Appended(2, 0)] * 5
        assert [len(await bodies(store, had.run)) for had in claims] == [2] * 10

    async def test_a_close_finishes_what_waits(self, store: Store, other_store: Store) -> None:
        waiting = [asyncio.create_task(queued(store)) for _ in range(200)]
        await asyncio.sleep(0)

        await store.close()

        made = [await one for one in waiting]
        assert len(await other_store.heads(made)) == 200
