"""Laws of what reaches a run from outside: decisions and cancels."""

from __future__ import annotations

import asyncio

import pytest

from remit.store.protocol import Store
from remit.store.records import (
    Appended,
    Delivered,
    News,
    Over,
    Signal,
    Signalled,
    Stopped,
    Undelivered,
)
from remit.testing.clock import ManualClock
from tests.contract.arrange import (
    PROGRAM,
    bodies,
    claim,
    ended,
    held,
    item,
    join,
    paused,
    queued,
    row,
    status,
    write,
)

STRANGE_KEYS = ("", "a\0b", "a\0c", "\ud800", "schlüssel")


async def test_two_decisions_one_wins(store: Store, other_store: Store) -> None:
    for _ in range(40):
        had = await paused(store, "k")
        yes, no = await asyncio.gather(
            store.deliver(had.run, {"k": b"yes"}, "d1"),
            other_store.deliver(had.run, {"k": b"no"}, "d2"),
        )
        won, lost = (yes, no) if isinstance(yes, Delivered) else (no, yes)
        assert (won, lost) == (Delivered(0), Undelivered("queued"))
        (signal,) = await store.signals(had.run)
        assert (signal.answer, signal.id) == ((b"yes", "d1") if won is yes else (b"no", "d2"))


async def test_the_second_to_decide_is_told_the_answer_that_counts(store: Store) -> None:
    had = await paused(store, "a", "b")
    await store.deliver(had.run, {"a": b"yes"}, "d1")

    outcome = await store.deliver(had.run, {"a": b"no", "b": b"no"}, "d2")

    assert outcome == Undelivered("paused", {"a": b"yes"}, ())
    signals = {signal.key: signal.answer for signal in await store.signals(had.run)}
    assert signals == {"a": b"yes", "b": None}


async def test_an_unknown_key_is_refused(store: Store) -> None:
    had = await paused(store, "a")

    outcome = await store.deliver(had.run, {"a": b"yes", "z": b"yes"}, "d1")

    assert outcome == Undelivered("paused", {}, ("z",))
    assert await status(store, had.run) == "paused"
    assert await store.signals(had.run) == [Signal("a", None)]
    assert await store.deliver(had.run, {"a": b"yes"}, "d2") == Delivered(0)


async def test_a_delivery_that_is_tried_again_is_the_same_delivery(store: Store) -> None:
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


async def test_a_pause_goes_on_until_its_last_answer(store: Store, clock: ManualClock) -> None:
    had = await paused(store, "a", "b", "c")
    assert await store.deliver(had.run, {"a": b"1"}, "d1") == Delivered(2)
    assert await store.claim("w1", [PROGRAM], format=1) == []
    clock.advance(1)

    assert await store.deliver(had.run, {"c": b"3", "b": b"2"}, "d2") == Delivered(0)

    again = await claim(store, had.run)
    assert (again.inbox, again.seq) == (3, had.seq + 1)
    answers = [(signal.key, signal.answer) for signal in await store.signals(had.run)]
    assert answers == [("a", b"1"), ("c", b"3"), ("b", b"2")]


async def test_answers_to_different_keys_strand_no_run(store: Store, other_store: Store) -> None:
    for _ in range(40):
        had = await paused(store, "a", "b")
        outcomes = await asyncio.gather(
            store.deliver(had.run, {"a": b"1"}, "d1"),
            other_store.deliver(had.run, {"b": b"2"}, "d2"),
        )
        assert sorted(outcomes, key=str) == [Delivered(0), Delivered(1)]
        assert await status(store, had.run) == "queued"
        assert (await claim(store, had.run)).inbox == 2


async def test_signals_tell_who_answered_and_when(store: Store, clock: ManualClock) -> None:
    had = await paused(store, "b", "a", "c")
    clock.advance(1)
    await store.deliver(had.run, {"c": b"1"}, "d1")

    signals = await store.signals(had.run)

    at = round(clock.wall() * 1e6)
    assert signals == [Signal("c", b"1", "d1", at), Signal("a", None), Signal("b", None)]
    assert await store.signals("nobody") == []


async def test_only_a_paused_run_takes_an_answer(store: Store) -> None:
    waiting = await queued(store)
    running = await held(store)
    over = await ended(store)

    answers = {"k": b"yes"}
    outcomes = [await store.deliver(run, answers, "d") for run in (waiting, running.run, over)]

    assert outcomes == [Undelivered("queued"), Undelivered("running"), Undelivered("succeeded")]
    assert await store.deliver("nobody", answers, "d") is None


async def test_a_second_pause_asks_anew(store: Store) -> None:
    had = await paused(store, "a")
    await store.deliver(had.run, {"a": b"yes"}, "d1")
    again = await claim(store, had.run)
    await write(store, item(again, status="paused", seen=1, asks=("b",)))

    assert await store.deliver(had.run, {"a": b"no"}, "d2") == Undelivered("paused", {"a": b"yes"})
    assert await store.deliver(had.run, {"b": b"yes"}, "d3") == Delivered(0)
    assert (await claim(store, had.run)).inbox == 2


async def test_a_key_asked_for_again_keeps_its_answer(store: Store) -> None:
    had = await paused(store, "a")
    await store.deliver(had.run, {"a": b"yes"}, "d1")
    again = await claim(store, had.run)

    await write(store, item(again, status="paused", seen=1, asks=("a", "b")))

    assert await store.deliver(had.run, {"b": b"yes"}, "d2") == Delivered(0)
    answers = [(signal.key, signal.answer) for signal in await store.signals(had.run)]
    assert answers == [("a", b"yes"), ("b", b"yes")]


async def test_a_pause_with_nothing_left_to_answer_is_queued(store: Store) -> None:
    had = await paused(store, "a")
    await store.deliver(had.run, {"a": b"yes"}, "d1")
    again = await claim(store, had.run)

    await write(store, item(again, status="paused", seen=1, asks=("a",)))

    assert await status(store, had.run) == "queued"
    assert (await claim(store, had.run)).token == again.token + 1


async def test_a_pause_that_asks_for_nothing_waits(store: Store) -> None:
    had = await paused(store)

    assert await status(store, had.run) == "paused"
    assert await store.claim("w1", [PROGRAM], format=1) == []


async def test_keys_and_answers_may_hold_anything(store: Store) -> None:
    had = await paused(store, *STRANGE_KEYS)
    answers = {key: bytes([0, number, 255]) for number, key in enumerate(STRANGE_KEYS)}

    assert await store.deliver(had.run, answers, "d1") == Delivered(0)

    kept = {signal.key: signal.answer for signal in await store.signals(had.run)}
    assert kept == answers
    empty = await paused(store, "k")
    assert await store.deliver(empty.run, {"k": b""}, "d1") == Delivered(0)
    assert (await store.signals(empty.run))[0].answer == b""


async def test_cancel_ends_a_queued_run(store: Store, clock: ManualClock) -> None:
    run = await queued(store)
    clock.advance(2)

    assert await store.cancel(run, b"end", 1, b"stop") == Stopped(2)

    after = await row(store, run)
    assert (after.status, after.seq) == ("cancelled", 2)
    assert after.ended == after.created + 2_000_000
    assert await bodies(store, run) == [b"asked", b"end"]
    await join(store, "w1")
    assert await store.claim("w1", [PROGRAM], format=1) == []


async def test_cancel_ends_a_paused_run(store: Store) -> None:
    had = await paused(store, "k")

    assert await store.cancel(had.run, b"end", 1, b"stop") == Stopped(3)

    assert await bodies(store, had.run) == [b"asked", b"fact", b"end"]
    assert await store.deliver(had.run, {"k": b"yes"}, "d") == Undelivered("cancelled")
    assert await store.signals(had.run) == [Signal("k", None)]


async def test_cancel_asks_the_holder_of_a_running_run_once(
    store: Store, clock: ManualClock
) -> None:
    had = await held(store)

    assert await store.cancel(had.run, b"end", 1, b"first") == Signalled()
    at = round(clock.wall() * 1e6)
    clock.advance(1)
    assert await store.cancel(had.run, b"end", 1, b"second") == Signalled()

    assert await store.signals(had.run) == [Signal("cancel", b"first", None, at)]
    assert await write(store, item(had)) == Appended(2, 1)
    assert await bodies(store, had.run) == [b"asked", b"fact"]


@pytest.mark.parametrize("end", ["succeeded", "failed", "cancelled"])
async def test_cancel_changes_no_ended_run(store: Store, end: str) -> None:
    had = await held(store)
    await write(store, item(had, status=end))
    before = await row(store, had.run)

    assert await store.cancel(had.run, b"end", 1, b"stop") == Over(before.status)

    assert await row(store, had.run) == before
    assert await store.signals(had.run) == []
    assert await store.cancel("nobody", b"end", 1, b"stop") == Over(None)


async def test_a_cancel_keeps_the_highest_format(store: Store) -> None:
    run = await queued(store, format=2)

    await store.cancel(run, b"end", 1, b"stop")

    assert [entry.format for entry in await store.read(run)] == [2, 1]


async def test_cancels_side_by_side_end_a_run_once(store: Store, other_store: Store) -> None:
    for _ in range(30):
        run = await queued(store)
        outcomes = await asyncio.gather(
            store.cancel(run, b"a", 1, b"stop"), other_store.cancel(run, b"b", 1, b"stop")
        )
        assert sorted(outcomes, key=str) == [Over("cancelled"), Stopped(2)]
        assert len(await bodies(store, run)) == 2


async def test_finish_against_cancel_leaves_one_truth(store: Store, other_store: Store) -> None:
    for turn in range(60):
        had = await held(store)
        finish = write(store, item(had, status="succeeded"))
        cancel = other_store.cancel(had.run, b"end", 1, b"stop")
        if turn % 2:
            done, told = await asyncio.gather(finish, cancel)
        else:
            told, done = await asyncio.gather(cancel, finish)
        if told == Signalled():
            assert done == News(1)
            assert await status(store, had.run) == "running"
        else:
            assert (done, told) == (Appended(2, 0), Over("succeeded"))


async def test_pause_against_cancel_leaves_one_truth(store: Store, other_store: Store) -> None:
    for turn in range(60):
        had = await held(store)
        pause = write(store, item(had, status="paused", asks=("k",)))
        cancel = other_store.cancel(had.run, b"end", 1, b"stop")
        if turn % 2:
            done, told = await asyncio.gather(pause, cancel)
        else:
            told, done = await asyncio.gather(cancel, pause)
        if told == Signalled():
            assert done == News(1)
            assert await status(store, had.run) == "running"
        else:
            assert (done, told) == (Appended(2, 0), Stopped(3))
            assert await status(store, had.run) == "cancelled"


async def test_claim_against_cancel_leaves_one_truth(store: Store, other_store: Store) -> None:
    await join(store, "w1")
    for _ in range(40):
        run = await queued(store)
        claims, told = await asyncio.gather(
            store.claim("w1", [PROGRAM], format=1, run=run),
            other_store.cancel(run, b"end", 1, b"stop"),
        )
        if claims:
            assert (told, await status(store, run)) == (Signalled(), "running")
        else:
            assert (told, await status(store, run)) == (Stopped(2), "cancelled")


async def test_answer_against_cancel_leaves_one_truth(store: Store, other_store: Store) -> None:
    for _ in range(40):
        had = await paused(store, "k")
        answer = store.deliver(had.run, {"k": b"yes"}, "d")
        cancel = other_store.cancel(had.run, b"end", 1, b"stop")
        delivered, told = await asyncio.gather(answer, cancel)
        assert told == Stopped(3)
        assert delivered in (Delivered(0), Undelivered("cancelled"))
