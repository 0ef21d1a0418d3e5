"""Laws of messages to a run."""

from __future__ import annotations

import asyncio

import pytest

from remit.store.protocol import Store
from remit.store.records import Appended, Delivered, News, Over, Sent, Signal
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    cancelled,
    claim,
    due,
    ended,
    held,
    item,
    now,
    pause,
    paused,
    queued,
    row,
    status,
    write,
)


class MessageLaws:
    """A message is kept once, in the order of coming, and wakes a run that listens."""

    async def test_a_message_wakes_a_run_that_listens(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await held(store)
        await pause(store, had, listens=True)
        assert await due(store) == []
        clock.advance(2)

        assert await store.send(had.run, b"hello", "m1") == Sent()

        found = await row(store, had.run)
        assert (found.status, found.due) == ("queued", now(clock))
        message = Signal("message/m1", b"hello", "m1", now(clock))
        assert await store.signals(had.run) == [message]
        assert (await claim(store, had.run)).inbox == 1

    async def test_a_run_that_does_not_listen_sleeps_on(self, store: Store) -> None:
        asleep, asking = await paused(store), await paused(store, "k")

        for had in (asleep, asking):
            assert await store.send(had.run, b"hello", "m1") == Sent()
            assert await status(store, had.run) == "paused"

        assert await store.deliver(asking.run, {"k": b"yes"}, "d1") == Delivered(0)
        again = await claim(store, asking.run)
        assert again.inbox == 2
        keys = [signal.key for signal in await store.signals(asking.run)]
        assert keys == ["message/m1", "k"]

    async def test_a_message_reaches_a_run_that_goes_on(self, store: Store) -> None:
        had = await held(store)

        assert await store.send(had.run, b"hello", "m1") == Sent()

        assert await status(store, had.run) == "running"
        assert await write(store, item(had)) == Appended(2, 1)
        assert await write(store, item(had, seq=2, status="succeeded")) == News(1)

    async def test_a_message_reaches_a_run_in_the_queue(
        self, store: Store, clock: ManualClock
    ) -> None:
        run = await queued(store)
        before = await row(store, run)
        clock.advance(1)

        assert await store.send(run, b"hello", "m1") == Sent()

        assert await row(store, run) == before
        assert (await claim(store, run)).inbox == 1

    async def test_the_same_message_twice_is_one(self, store: Store, clock: ManualClock) -> None:
        had = await held(store)
        await pause(store, had, listens=True)
        await store.send(had.run, b"hello", "m1")
        at = now(clock)
        again = await claim(store, had.run)
        await pause(store, again, listens=True)
        clock.advance(1)

        assert await store.send(had.run, b"hello", "m1") == Sent()

        assert await status(store, had.run) == "paused"
        assert await store.signals(had.run) == [Signal("message/m1", b"hello", "m1", at)]
        assert await store.send(had.run, b"more", "m2") == Sent()
        assert (await claim(store, had.run)).inbox == 2

    async def test_messages_come_in_the_order_of_their_sending(self, store: Store) -> None:
        run = await queued(store)
        names = ["c", "a", "b", "\ud800", "a\0", ""]

        for name in names:
            await store.send(run, name.encode("utf-8", "surrogatepass"), name)

        kept = [(signal.key, signal.id) for signal in await store.signals(run)]
        assert kept == [(f"message/{name}", name) for name in names]
        assert (await claim(store, run)).inbox == len(names)

    async def test_an_ended_run_takes_no_message(self, store: Store) -> None:
        over = await ended(store)
        stopped = await queued(store)
        await cancelled(store, stopped)

        assert await store.send(over, b"hello", "m1") == Over("succeeded")
        assert await store.send(stopped, b"hello", "m1") == Over("cancelled")
        assert await store.send("nobody", b"hello", "m1") == Over(None)
        assert await store.signals(over) == await store.signals(stopped) == []

    async def test_a_message_is_no_answer(self, store: Store) -> None:
        had = await held(store)
        await pause(store, had, "k", listens=True)

        await store.send(had.run, b"hello", "m1")
        again = await claim(store, had.run)
        await pause(store, again)

        assert await status(store, had.run) == "paused"
        assert await store.deliver(had.run, {"k": b"yes"}, "d1") == Delivered(0)
        assert await status(store, had.run) == "queued"

    async def test_an_answer_may_have_the_id_of_a_message(self, store: Store) -> None:
        had = await paused(store, "k")
        await store.send(had.run, b"hello", "same")

        assert await store.deliver(had.run, {"k": b"yes"}, "same") == Delivered(0)
        assert await store.deliver(had.run, {"k": b"yes"}, "same") == Delivered(0)
        answers = {signal.key: signal.answer for signal in await store.signals(had.run)}
        assert answers == {"message/same": b"hello", "k": b"yes"}

    async def test_an_answer_wakes_a_run_that_listens_too(self, store: Store) -> None:
        had = await held(store)
        await pause(store, had, "k", listens=True)

        await store.deliver(had.run, {"k": b"yes"}, "d1")

        assert await due(store) == [had.run]

    async def test_who_was_woken_listens_no_more(self, store: Store, clock: ManualClock) -> None:
        had = await held(store)
        await pause(store, had, listens=True, due=now(clock))
        again = await claim(store, had.run)
        await pause(store, again)

        assert await store.send(had.run, b"hello", "m1") == Sent()

        assert await status(store, had.run) == "paused"

    async def test_a_listener_sleeps_through_what_came_before(self, store: Store) -> None:
        had = await held(store)
        await store.send(had.run, b"hello", "m1")
        assert await write(store, item(had, status="paused", listens=True)) == News(1)

        await pause(store, had, listens=True, seen=1)

        assert await status(store, had.run) == "paused"

    async def test_messages_side_by_side_are_all_kept(
        self, store: Store, other_store: Store
    ) -> None:
        for number in range(10):
            run = await queued(store, f"r{number}")
            names = [f"m{one}" for one in range(8)]
            sent = await asyncio.gather(
                *(
                    (store, other_store)[one % 2].send(run, name.encode(), name)
                    for one, name in enumerate([*names, *names])
                )
            )
            assert sent == [Sent()] * 16
            keys = [signal.key for signal in await store.signals(run)]
            assert sorted(keys) == [f"message/{name}" for name in names]
            assert (await claim(store, run)).inbox == 8

    @pytest.mark.parametrize("next_status", ["succeeded", "paused"])
    async def test_a_stop_against_a_message_leaves_one_truth(
        self, store: Store, other_store: Store, next_status: str
    ) -> None:
        listens = next_status == "paused"
        claims = await asyncio.gather(*(held(store, f"r{turn}") for turn in range(60)))
        for turn, had in enumerate(claims):
            stop = write(store, item(had, status=next_status, listens=listens))
            message = other_store.send(had.run, b"hello", "m1")
            if turn % 2:
                done, sent = await asyncio.gather(stop, message)
            else:
                sent, done = await asyncio.gather(message, stop)
            if done == News(1):
                assert (sent, await status(store, had.run)) == (Sent(), "running")
            elif listens:
                assert (done, sent) == (Appended(2, 0), Sent())
                assert await status(store, had.run) == "queued"
            else:
                assert (done, sent) == (Appended(2, 0), Over("succeeded"))
                assert await store.signals(had.run) == []

    async def test_bodies_of_messages_are_kept_byte_for_byte(self, store: Store) -> None:
        run = await queued(store)
        told = [b"", b"\0", bytes(range(256)), b"x" * 300_000]

        for number, body in enumerate(told):
            await store.send(run, body, f"m{number}")

        assert [signal.answer for signal in await store.signals(run)] == told
