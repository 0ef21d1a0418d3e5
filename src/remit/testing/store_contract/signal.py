"""Laws of what a run asks, and of the answers."""

from __future__ import annotations

import asyncio

from remit.store.protocol import Store
from remit.store.records import (
    Delivered,
    Signal,
    Undelivered,
)
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    PROGRAM,
    claim,
    ended,
    held,
    item,
    paused,
    queued,
    status,
    write,
)

STRANGE_KEYS = ("", "a\0b", "a\0c", "\ud800", "schlüssel")


class SignalLaws:
    """A key is answered once, and the last answer lets the run go on."""

    async def test_two_decisions_one_wins(self, store: Store, other_store: Store) -> None:
        claims = await asyncio.gather(*(paused(store, "k") for _ in range(40)))
        for had in claims:
            yes, no = await asyncio.gather(
                store.deliver(had.run, {"k": b"yes"}, "d1"),
                other_store.deliver(had.run, {"k": b"no"}, "d2"),
            )
            won, lost = (yes, no) if isinstance(yes, Delivered) else (no, yes)
            (signal,) = await store.signals(had.run)
            assert (signal.answer, signal.id) == ((b"yes", "d1") if won is yes else (b"no", "d2"))
            answered = {"k": b"yes" if won is yes else b"no"}
            assert (won, lost) == (Delivered(0), Undelivered("queued", answered))

    async def test_the_second_to_decide_is_told_the_answer_that_counts(self, store: Store) -> None:
        had = await paused(store, "a", "b")
        await store.deliver(had.run, {"a": b"yes"}, "d1")

        outcome = await store.deliver(had.run, {"a": b"no", "b": b"no"}, "d2")

        assert outcome == Undelivered("paused", {"a": b"yes"}, ())
        signals = {signal.key: signal.answer for signal in await store.signals(had.run)}
        assert signals == {"a": b"yes", "b": None}

    async def test_an_unknown_key_is_refused(self, store: Store) -> None:
        had = await paused(store, "a")

        outcome = await store.deliver(had.run, {"a": b"yes", "z": b"yes"}, "d1")

        assert outcome == Undelivered("paused", {}, ("z",))
        assert await status(store, had.run) == "paused"
        assert await store.signals(had.run) == [Signal("a", None)]
        assert await store.deliver(had.run, {"a": b"yes"}, "d2") == Delivered(0)

    async def test_a_delivery_that_is_tried_again_is_the_same_delivery(self, store: Store) -> None:
        had = await paused(store, "a", "b")
        repeated = [await store.deliver(had.run, {"a": b"yes"}, "d1")]
        repeated.append(await store.deliver(had.run, {"a": b"yes"}, "d1"))
        await store.deliver(had.run, {"b": b"yes"}, "d2")
        repeated.append(await store.deliver(had.run, {"a": b"yes"}, "d1"))
        again = await claim(store, had.run)
        await write(store, item(again, status="succeeded", seen=again.inbox))
        repeated.append(await store.deliver(had.run, {"a": b"yes"}, "d1"))

        assert repeated == [Delivered(1), Delivered(1), Delivered(0), Delivered(0)]
        assert again.inbox == 2

    async def test_a_pause_goes_on_until_its_last_answer(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await paused(store, "a", "b", "c")
        assert await store.deliver(had.run, {"a": b"1"}, "d1") == Delivered(2)
        assert await store.claim("w1", [PROGRAM], format=1) == []
        clock.advance(1)

        assert await store.deliver(had.run, {"c": b"3", "b": b"2"}, "d2") == Delivered(0)

        again = await claim(store, had.run)
        assert (again.inbox, again.seq) == (3, had.seq + 1)
        answers = [(signal.key, signal.answer) for signal in await store.signals(had.run)]
        assert answers == [("a", b"1"), ("c", b"3"), ("b", b"2")]

    async def test_answers_to_different_keys_strand_no_run(
        self, store: Store, other_store: Store
    ) -> None:
        claims = await asyncio.gather(*(paused(store, "a", "b") for _ in range(40)))
        for had in claims:
            outcomes = await asyncio.gather(
                store.deliver(had.run, {"a": b"1"}, "d1"),
                other_store.deliver(had.run, {"b": b"2"}, "d2"),
            )
            assert sorted(outcomes, key=str) == [Delivered(0), Delivered(1)]
            assert await status(store, had.run) == "queued"
            assert (await claim(store, had.run)).inbox == 2

    async def test_signals_tell_who_answered_and_when(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await paused(store, "b", "a", "c")
        clock.advance(1)
        await store.deliver(had.run, {"c": b"1"}, "d1")

        signals = await store.signals(had.run)

        at = round(clock.wall() * 1e6)
        assert signals == [Signal("c", b"1", "d1", at), Signal("a", None), Signal("b", None)]
        assert await store.signals("nobody") == []

    async def test_an_answer_needs_a_key_that_is_asked(self, store: Store) -> None:
        waiting = await queued(store)
        running = await held(store)
        over = await ended(store)

        answers = {"k": b"yes"}
        outcomes = [await store.deliver(run, answers, "d") for run in (waiting, running.run, over)]

        assert outcomes == [
            Undelivered("queued", unknown=("k",)),
            Undelivered("running", unknown=("k",)),
            Undelivered("succeeded"),
        ]
        assert await store.deliver("nobody", answers, "d") is None

    async def test_a_second_pause_asks_anew(self, store: Store) -> None:
        had = await paused(store, "a")
        await store.deliver(had.run, {"a": b"yes"}, "d1")
        again = await claim(store, had.run)
        await write(store, item(again, status="paused", seen=1, asks=("b",)))

        assert await store.deliver(had.run, {"a": b"no"}, "d2") == Undelivered(
            "paused", {"a": b"yes"}
        )
        assert await store.deliver(had.run, {"b": b"yes"}, "d3") == Delivered(0)
        assert (await claim(store, had.run)).inbox == 2

    async def test_a_key_asked_for_again_keeps_its_answer(self, store: Store) -> None:
        had = await paused(store, "a")
        await store.deliver(had.run, {"a": b"yes"}, "d1")
        again = await claim(store, had.run)

        await write(store, item(again, status="paused", seen=1, asks=("a", "b")))

        assert await store.deliver(had.run, {"b": b"yes"}, "d2") == Delivered(0)
        answers = [(signal.key, signal.answer) for signal in await store.signals(had.run)]
        assert answers == [("a", b"yes"), ("b", b"yes")]

    async def test_a_pause_with_nothing_left_to_answer_is_queued(self, store: Store) -> None:
        had = await paused(store, "a")
        await store.deliver(had.run, {"a": b"yes"}, "d1")
        again = await claim(store, had.run)

        await write(store, item(again, status="paused", seen=1, asks=("a",)))

        assert await status(store, had.run) == "queued"
        assert (await claim(store, had.run)).token == again.token + 1

    async def test_a_pause_that_asks_for_nothing_waits(self, store: Store) -> None:
        had = await paused(store)

        assert await status(store, had.run) == "paused"
        assert await store.claim("w1", [PROGRAM], format=1) == []

    async def test_keys_and_answers_may_hold_anything(self, store: Store) -> None:
        had = await paused(store, *STRANGE_KEYS)
        answers = {key: bytes([0, number, 255]) for number, key in enumerate(STRANGE_KEYS)}

        assert await store.deliver(had.run, answers, "d1") == Delivered(0)

        kept = {signal.key: signal.answer for signal in await store.signals(had.run)}
        assert kept == answers
        empty = await paused(store, "k")
        assert await store.deliver(empty.run, {"k": b""}, "d1") == Delivered(0)
        assert (await store.signals(empty.run))[0].answer == b""
