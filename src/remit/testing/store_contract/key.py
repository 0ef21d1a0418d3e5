"""Laws of start keys: what was started once is not started again."""

from __future__ import annotations

import asyncio

from remit.store.protocol import Store
from remit.store.records import Busy, Created, Existing, StartKey
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import a_run, claim, ended, finish, now, queued

ONCE = StartKey("acme/u/greeter/order 17", b"asked")


class KeyLaws:
    """A start key makes one run for as long as the store lives."""

    async def test_a_key_that_is_taken_tells_its_run(self, store: Store) -> None:
        first = await queued(store, key=ONCE)

        again = await store.create(a_run("again", key=StartKey(ONCE.key, b"asked")))

        assert again == Existing(first)
        assert await store.get("again") is None
        assert await store.read("again") == []

    async def test_a_key_cannot_ask_for_something_else(self, store: Store) -> None:
        first = await queued(store, key=ONCE)

        for digest in (b"other", b"", b"asked "):
            outcome = await store.create(a_run("again", key=StartKey(ONCE.key, digest)))
            assert outcome == Existing(first, other=True)

        assert await store.get("again") is None

    async def test_a_key_outlives_the_end_of_its_run(self, store: Store) -> None:
        first = await ended(store, key=ONCE)

        assert await store.create(a_run(key=ONCE)) == Existing(first)

    async def test_a_key_outlives_the_deletion_of_its_run(
        self, store: Store, clock: ManualClock
    ) -> None:
        first = await ended(store, "first", key=ONCE)
        other = await ended(store, user="u", key=StartKey("other", b"asked"))
        clock.advance(1)
        assert await store.forget("u", None) == 1
        assert await store.delete_before(now(clock)) == 1

        again = [
            await store.create(a_run(key=ONCE)),
            await store.create(a_run(key=StartKey(ONCE.key, b"other"))),
            await store.create(a_run(key=StartKey("other", b"asked"))),
        ]

        assert again == [Existing(first), Existing(first, other=True), Existing(other)]
        assert await store.get(first) is None

    async def test_a_key_is_asked_before_the_thread(self, store: Store) -> None:
        first = await queued(store, key=ONCE, thread="t")

        again = [
            await store.create(a_run(key=ONCE, thread="t")),
            await store.create(a_run(key=ONCE, thread="t", enqueue=5)),
            await store.create(a_run(key=ONCE, thread="another")),
        ]

        assert again == [Existing(first)] * 3
        assert await store.create(a_run(thread="another")) == Created()

    async def test_a_start_that_was_refused_takes_no_key(self, store: Store) -> None:
        live = await queued(store, thread="t")
        assert await store.create(a_run("no", key=ONCE, thread="t")) == Busy(live)
        await finish(store, await claim(store, live))

        assert await store.create(a_run("yes", key=ONCE, thread="t")) == Created()
        assert await store.create(a_run(key=ONCE)) == Existing("yes")

    async def test_a_waiting_run_has_taken_its_key(self, store: Store) -> None:
        await queued(store, thread="t")
        waiting = await queued(store, thread="t", enqueue=5, key=ONCE)

        assert await store.create(a_run(thread="t", enqueue=5, key=ONCE)) == Existing(waiting)

    async def test_starts_side_by_side_under_a_key_make_one_run(
        self, store: Store, other_store: Store
    ) -> None:
        for number in range(25):
            names = [f"{number}.{one}" for one in range(6)]
            key = StartKey(f"k{number}", b"asked")
            outcomes = await asyncio.gather(
                *(
                    (store, other_store)[one % 2].create(a_run(name, key=key))
                    for one, name in enumerate(names)
                )
            )
            (won,) = [name for name, one in zip(names, outcomes, strict=True) if one == Created()]
            assert outcomes.count(Existing(won)) == 5
            assert list(await store.heads(names)) == [won]

    async def test_keys_and_threads_side_by_side_make_one_run(
        self, store: Store, other_store: Store
    ) -> None:
        for number in range(25):
            thread, key = f"t{number}", StartKey(f"k{number}", b"asked")
            outcomes = await asyncio.gather(
                store.create(a_run(f"a{number}", thread=thread, key=key)),
                other_store.create(a_run(f"b{number}", thread=thread, enqueue=5, key=key)),
                store.create(a_run(f"c{number}", key=key)),
            )
            names = [f"{letter}{number}" for letter in "abc"]
            (won,) = await store.heads(names)
            assert outcomes[names.index(won)] == Created()
            assert outcomes.count(Existing(won)) == 2

    async def test_keys_keep_apart(self, store: Store) -> None:
        keys = ["k", "K", "k ", "", "k\0a", "k\0b", "\ud800", "\udfff", "ä", "a\u0308"]

        runs = [await queued(store, key=StartKey(key, b"\0\xff")) for key in keys]

        for key, run in zip(keys, runs, strict=True):
            assert await store.create(a_run(key=StartKey(key, b"\0\xff"))) == Existing(run)
