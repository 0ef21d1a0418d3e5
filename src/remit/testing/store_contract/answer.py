"""Laws of answers that come while a run goes on, and of keys that are withdrawn."""

from __future__ import annotations

import asyncio

import pytest

from remit.store.protocol import Store
from remit.store.records import (
    Appended,
    Claim,
    Delivered,
    Fenced,
    News,
    Signal,
    Undelivered,
)
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    bodies,
    claim,
    held,
    item,
    now,
    pause,
    paused,
    row,
    status,
    write,
)


async def asking(store: Store, clock: ManualClock, *keys: str) -> Claim:
    """The claim on a run that goes on although `keys` still want an answer."""
    had = await held(store)
    await pause(store, had, *keys, due=now(clock))
    return await claim(store, had.run)


class AnswerLaws:
    """A key may be answered whatever its run does, until the run ends or withdraws it."""

    async def test_an_answer_reaches_a_run_that_goes_on(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await asking(store, clock, "a", "b")

        assert await store.deliver(had.run, {"a": b"1"}, "d1") == Delivered(1)
        assert await store.deliver(had.run, {"b": b"2"}, "d2") == Delivered(0)

        assert await status(store, had.run) == "running"
        assert (await row(store, had.run)).token == had.token
        assert await write(store, item(had, status="succeeded", seen=had.inbox)) == News(2)
        assert await write(store, item(had, status="succeeded", seen=2)) == Appended(3, 2)
        answers = [(signal.key, signal.answer) for signal in await store.signals(had.run)]
        assert answers == [("a", b"1"), ("b", b"2")]

    async def test_an_answer_reaches_a_run_in_the_queue(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await asking(store, clock, "a", "b")
        await store.release("w1", had.run, had.token)
        due = (await row(store, had.run)).due
        clock.advance(3)

        assert await store.deliver(had.run, {"b": b"2"}, "d1") == Delivered(1)
        assert await store.deliver(had.run, {"a": b"1"}, "d2") == Delivered(0)

        found = await row(store, had.run)
        assert (found.status, found.due) == ("queued", due)
        assert (await claim(store, had.run)).inbox == 2

    async def test_an_answered_key_is_told_in_every_status(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await asking(store, clock, "a", "b")
        await store.deliver(had.run, {"a": b"1"}, "d1")
        again = {"a": b"2", "b": b"2", "z": b"2"}

        running = await store.deliver(had.run, again, "d2")
        await store.release("w1", had.run, had.token)
        queued = await store.deliver(had.run, again, "d3")
        had = await claim(store, had.run)
        await pause(store, had, "c")
        waiting = await store.deliver(had.run, again, "d4")

        answered, unknown = {"a": b"1"}, ("z",)
        assert running == Undelivered("running", answered, unknown)
        assert queued == Undelivered("queued", answered, unknown)
        assert waiting == Undelivered("paused", answered, unknown)

    async def test_a_delivery_tried_again_is_the_same_whatever_the_run_does(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await asking(store, clock, "a", "b")
        first = await store.deliver(had.run, {"a": b"1"}, "d1")
        again = [await store.deliver(had.run, {"a": b"1"}, "d1")]
        await store.release("w1", had.run, had.token)
        again.append(await store.deliver(had.run, {"a": b"1"}, "d1"))

        assert [first, *again] == [Delivered(1)] * 3
        assert (await claim(store, had.run)).inbox == 1

    async def test_what_is_left_unanswered_is_waited_for_again(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await asking(store, clock, "a", "b")
        await store.deliver(had.run, {"a": b"1"}, "d1")

        await pause(store, had, "c", seen=1)

        assert await store.deliver(had.run, {"c": b"3"}, "d2") == Delivered(1)
        assert await status(store, had.run) == "paused"
        assert await store.deliver(had.run, {"b": b"2"}, "d3") == Delivered(0)
        assert await status(store, had.run) == "queued"

    async def test_a_withdrawn_key_takes_no_answer(self, store: Store, clock: ManualClock) -> None:
        had = await asking(store, clock, "a", "b")

        assert await write(store, item(had, withdraws=("a", "never asked"))) == Appended(3, 0)

        assert await store.signals(had.run) == [Signal("b", None)]
        refused = await store.deliver(had.run, {"a": b"1", "b": b"2"}, "d1")
        assert refused == Undelivered("running", unknown=("a",))
        assert await store.deliver(had.run, {"b": b"2"}, "d2") == Delivered(0)

    async def test_an_answer_is_never_withdrawn(self, store: Store, clock: ManualClock) -> None:
        had = await asking(store, clock, "a", "b")
        await store.deliver(had.run, {"a": b"1"}, "d1")

        assert await write(store, item(had, withdraws=("a",))) == News(1)
        assert await write(store, item(had, withdraws=("a", "b"), seen=1)) == Appended(3, 1)

        (kept,) = await store.signals(had.run)
        assert (kept.key, kept.answer) == ("a", b"1")

    async def test_a_withdrawal_that_missed_a_signal_writes_nothing(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await asking(store, clock, "a", "b")
        await store.deliver(had.run, {"a": b"1"}, "d1")

        assert await write(store, item(had, withdraws=("b",))) == News(1)

        assert len(await bodies(store, had.run)) == had.seq
        assert len(await store.signals(had.run)) == 2
        stale = item(had, withdraws=("b",), token=had.token - 1)
        assert await write(store, stale) == Fenced()

    async def test_a_pause_waits_no_more_for_what_it_withdraws(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await asking(store, clock, "a", "b")
        await pause(store, had, "c", withdraws=("a",))
        assert await store.deliver(had.run, {"b": b"2"}, "d1") == Delivered(1)
        assert await store.deliver(had.run, {"c": b"3"}, "d2") == Delivered(0)
        assert await status(store, had.run) == "queued"

    async def test_a_withdrawn_key_can_be_asked_again(
        self, store: Store, clock: ManualClock
    ) -> None:
        had = await asking(store, clock, "a")
        await write(store, item(had, withdraws=("a",)))

        await pause(store, had, "a", seq=had.seq + 1)

        assert await store.deliver(had.run, {"a": b"1"}, "d1") == Delivered(0)

    async def test_withdrawal_against_answer_leaves_one_truth(
        self, store: Store, other_store: Store, clock: ManualClock
    ) -> None:
        claims = await asyncio.gather(*(asking(store, clock, "a") for _ in range(60)))
        for turn, had in enumerate(claims):
            withdrawal = write(store, item(had, withdraws=("a",)))
            answer = other_store.deliver(had.run, {"a": b"1"}, "d1")
            if turn % 2:
                done, told = await asyncio.gather(withdrawal, answer)
            else:
                told, done = await asyncio.gather(answer, withdrawal)
            if told == Delivered(0):
                assert done == News(1)
            else:
                assert (done, told) == (Appended(3, 0), Undelivered("running", unknown=("a",)))
                assert await store.signals(had.run) == []

    @pytest.mark.parametrize("count", [2, 4])
    async def test_answers_side_by_side_leave_a_true_count(
        self, store: Store, other_store: Store, clock: ManualClock, count: int
    ) -> None:
        keys = [f"k{number}" for number in range(count)]
        claims = await asyncio.gather(*(paused(store, *keys) for _ in range(30)))
        for had in claims:
            outcomes = await asyncio.gather(
                *(
                    (store, other_store)[number % 2].deliver(had.run, {key: b"yes"}, key)
                    for number, key in enumerate(keys)
                )
            )
            assert sorted(outcomes, key=str) == [Delivered(left) for left in range(count)]
            assert (await claim(store, had.run)).inbox == count

    async def test_pause_against_answer_strands_no_run(
        self, store: Store, other_store: Store, clock: ManualClock
    ) -> None:
        claims = await asyncio.gather(*(asking(store, clock, "a") for _ in range(60)))
        for turn, had in enumerate(claims):
            pausing = write(store, item(had, status="paused"))
            answer = other_store.deliver(had.run, {"a": b"1"}, "d1")
            if turn % 2:
                done, told = await asyncio.gather(pausing, answer)
            else:
                told, done = await asyncio.gather(answer, pausing)
            assert told == Delivered(0)
            if isinstance(done, Appended):
                assert await status(store, had.run) == "queued"
            else:
                assert (done, await status(store, had.run)) == (News(1), "running")
