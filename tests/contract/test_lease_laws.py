"""Laws of who drives a run: claims, heartbeats, releases and the sweep."""

from __future__ import annotations

import asyncio

import pytest

from remit.store.protocol import Heart, Store
from remit.store.records import Appended, Fenced, Held
from remit.testing.clock import ManualClock
from tests.contract.arrange import (
    LASTS,
    PROGRAM,
    bodies,
    cancelled,
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


async def test_a_claim_tells_where_the_run_stands(store: Store) -> None:
    run = await queued(store)

    had = await claim(store, run)

    assert (had.run, had.program, had.token, had.seq, had.inbox) == (run, PROGRAM, 1, 1, 0)
    assert (had.deaths, had.since_lost) == (0, None)
    assert await status(store, run) == "running"


async def test_claim_gives_a_run_once_under_contention(store: Store, other_store: Store) -> None:
    runs = {await queued(store) for _ in range(60)}
    await join(store, "a", "b", "c", "d")
    taken: list[str] = []

    async def worker(name: str, handle: Store) -> None:
        while claims := await handle.claim(name, [PROGRAM], format=1, room=3):
            taken.extend(claim.run for claim in claims)

    handles = {"a": store, "b": other_store, "c": store, "d": other_store}
    await asyncio.gather(*(worker(*one) for one in handles.items()))

    assert len(taken) == 60
    assert set(taken) == runs


async def test_two_that_claim_one_run_get_it_once(store: Store, other_store: Store) -> None:
    await join(store, "a", "b")

    for _ in range(40):
        run = await queued(store)
        found = await asyncio.gather(
            store.claim("a", [PROGRAM], format=1, run=run),
            other_store.claim("b", [PROGRAM], format=1, run=run),
        )
        assert sorted(map(len, found)) == [0, 1]


async def test_tokens_never_fall(store: Store, clock: ManualClock) -> None:
    run = await queued(store)
    tokens = [0]

    async def note() -> None:
        tokens.append((await row(store, run)).token)

    for number in range(3):
        released = await claim(store, run, f"a{number}")
        await note()
        await store.release(f"a{number}", run, released.token)
        await note()
        await claim(store, run, f"b{number}")
        await note()
        clock.advance(LASTS)
        await store.sweep()
        await note()
        asking = await claim(store, run, f"c{number}")
        await write(store, item(asking, status="paused", seen=asking.inbox, asks=(f"k{number}",)))
        await store.deliver(run, {f"k{number}": b"yes"}, f"d{number}")
        await note()

    assert tokens == sorted(tokens)
    assert len(set(tokens)) == 1 + 3 * 4


async def test_the_longest_due_is_claimed_first(store: Store, clock: ManualClock) -> None:
    await join(store, "w")
    made = []
    for number in range(6):
        made.append(await queued(store, program=f"p@{number % 2}"))
        clock.advance(1)

    claims = [await store.claim("w", ["p@0", "p@1"], format=1, room=2) for _ in range(4)]

    order = [[claim.run for claim in some] for some in claims]
    assert order == [made[:2], made[2:4], made[4:], []]


async def test_a_run_given_back_queues_behind_the_others(store: Store, clock: ManualClock) -> None:
    first = await held(store, worker="w1")
    clock.advance(1)
    second = await queued(store)
    clock.advance(1)
    await store.release("w1", first.run, first.token)

    (next_one,) = await store.claim("w1", [PROGRAM], format=1)

    assert next_one.run == second


@pytest.mark.parametrize("room", [0, -1])
async def test_without_room_nothing_is_claimed(store: Store, room: int) -> None:
    await queued(store)
    await join(store, "w")

    assert await store.claim("w", [PROGRAM], format=1, room=room) == []


async def test_only_programs_that_were_named_are_claimed(store: Store) -> None:
    run = await queued(store, program="other@1")
    await join(store, "w")

    assert await store.claim("w", [PROGRAM], format=1) == []
    assert await store.claim("w", [PROGRAM], format=1, run=run) == []
    assert await store.claim("w", [], format=1, run=run) == []
    (found,) = await store.claim("w", [PROGRAM, "other@1"], format=1, run=run)
    assert found.program == "other@1"


async def test_a_program_named_twice_is_named_once(store: Store) -> None:
    runs = {await queued(store) for _ in range(2)}
    await join(store, "w")

    claims = await store.claim("w", [PROGRAM, PROGRAM], format=1, room=5)

    assert len(claims) == 2
    assert {one.run for one in claims} == runs


async def test_a_claim_by_id_takes_no_other_run(store: Store) -> None:
    await queued(store)
    wanted = await queued(store)
    await queued(store)
    await join(store, "w")

    claims = await store.claim("w", [PROGRAM], format=1, room=5, run=wanted)

    assert [one.run for one in claims] == [wanted]
    assert await store.claim("w", [PROGRAM], format=1, run="nobody") == []


async def test_formats_above_ours_are_not_claimed(store: Store) -> None:
    newer = await queued(store, format=2)
    await join(store, "w")

    assert await store.claim("w", [PROGRAM], format=1) == []
    assert await store.claim("w", [PROGRAM], format=1, run=newer) == []
    (had,) = await store.claim("w", [PROGRAM], format=2)
    assert had.run == newer


async def test_a_run_keeps_the_highest_format_written(store: Store) -> None:
    had = await held(store)
    await write(store, item(had, format=3))
    await write(store, item(had, format=1, seq=2))
    await store.release("w1", had.run, had.token)

    assert await store.claim("w1", [PROGRAM], format=2) == []
    assert len(await store.claim("w1", [PROGRAM], format=3)) == 1
    assert [entry.format for entry in await store.read(had.run)] == [1, 3, 1]


async def test_only_queued_runs_are_claimed(store: Store) -> None:
    await held(store)
    await paused(store, "k")
    await ended(store)
    await cancelled(store, await queued(store))

    assert await store.claim("w1", [PROGRAM], format=1, room=9) == []


async def test_a_worker_that_nobody_knows_holds_nothing(store: Store) -> None:
    run = await queued(store)

    assert await store.claim("stranger", [PROGRAM], format=1) == []
    assert await store.claim("stranger", [PROGRAM], format=1, run=run) == []
    assert await store.beat("stranger", LASTS) is None
    assert await status(store, run) == "queued"


async def test_a_lapsed_worker_holds_nothing(store: Store, clock: ManualClock) -> None:
    had = await held(store, worker="w1")
    await queued(store)
    clock.advance(LASTS)

    assert await store.beat("w1", LASTS) is None
    assert await store.beat("w1", LASTS, join=True) is None
    assert await store.claim("w1", [PROGRAM], format=1) == []
    assert not await store.release("w1", had.run, had.token)
    assert await store.sweep() == [had.run]
    assert await store.beat("w1", LASTS) is None


async def test_a_heartbeat_pushes_the_lease_out(store: Store, clock: ManualClock) -> None:
    had = await held(store, worker="w1")

    for _ in range(5):
        clock.advance(LASTS - 1)
        assert await store.sweep() == []
        assert await store.beat("w1", LASTS) == [Held(had.run, had.token, 0)]

    clock.advance(LASTS)
    assert await store.sweep() == [had.run]


def beat_once(heart: Heart, worker: str) -> bool:
    try:
        return heart.beat(worker, LASTS)
    finally:
        heart.close()


async def test_a_heart_renews_a_lease_from_another_thread(store: Store, clock: ManualClock) -> None:
    had = await held(store, worker="w1")
    clock.advance(LASTS - 1)

    assert await asyncio.to_thread(beat_once, store.heart(), "w1")

    clock.advance(LASTS - 1)
    assert await store.sweep() == []
    assert await write(store, item(had)) == Appended(2, 0)


async def test_a_heart_revives_nobody(store: Store, clock: ManualClock) -> None:
    had = await held(store, worker="w1")
    clock.advance(LASTS)

    assert not await asyncio.to_thread(beat_once, store.heart(), "w1")
    assert not await asyncio.to_thread(beat_once, store.heart(), "stranger")

    assert await store.sweep() == [had.run]
    assert await store.beat("stranger", LASTS) is None


async def test_a_heartbeat_brings_what_the_worker_holds(store: Store) -> None:
    one, two = await held(store, worker="w1"), await held(store, worker="w1")
    await held(store, worker="w2")
    gone = await held(store, worker="w1")
    await write(store, item(gone, status="succeeded"))
    await store.cancel(two.run, b"end", 1, b"stop")

    brought = await store.beat("w1", LASTS)

    assert brought is not None
    wanted = [Held(one.run, one.token, 0), Held(two.run, two.token, 1)]
    assert sorted(brought, key=str) == sorted(wanted, key=str)


async def test_release_is_no_death(store: Store) -> None:
    had = await held(store, worker="w1")

    assert await store.release("w1", had.run, had.token)

    assert await status(store, had.run) == "queued"
    again = await claim(store, had.run, "w2")
    assert (again.deaths, again.since_lost) == (0, None)
    assert again.token > had.token


async def test_only_the_holder_can_release(store: Store) -> None:
    had = await held(store, worker="w1")
    await join(store, "w2")

    assert not await store.release("w2", had.run, had.token)
    assert not await store.release("w1", had.run, had.token + 1)
    assert not await store.release("w1", "nobody", had.token)
    assert await status(store, had.run) == "running"
    assert await store.release("w1", had.run, had.token)
    assert not await store.release("w1", had.run, had.token)


async def test_work_left_behind_counts_as_lost_from_its_release(
    store: Store, clock: ManualClock
) -> None:
    had = await held(store, worker="w1")
    clock.advance(5)
    await store.release("w1", had.run, had.token, abandoned=True)
    clock.advance(3)

    again = await claim(store, had.run, "w2")

    assert again.since_lost == 3
    assert again.deaths == 0


async def test_a_later_release_does_not_forget_a_loss(store: Store, clock: ManualClock) -> None:
    had = await held(store, worker="w1")
    await store.release("w1", had.run, had.token, abandoned=True)
    clock.advance(2)
    second = await claim(store, had.run, "w1")
    await store.release("w1", had.run, second.token)
    clock.advance(2)

    assert (await claim(store, had.run, "w1")).since_lost == 4


async def test_a_sweep_queues_what_a_lost_worker_held(store: Store, clock: ManualClock) -> None:
    lost = [await held(store, worker="w1") for _ in range(3)]
    clock.advance(LASTS - 1)
    safe = await held(store, worker="w2")
    assert await store.sweep() == []
    clock.advance(4)

    swept = await store.sweep()

    assert sorted(swept) == sorted(one.run for one in lost)
    assert await store.sweep() == []
    again = await claim(store, lost[0].run, "w2")
    assert (again.deaths, again.since_lost) == (1, 3)
    assert again.token > lost[0].token + 1
    assert await write(store, item(safe)) == Appended(2, 0)


async def test_a_forgotten_worker_comes_back_with_nothing(store: Store, clock: ManualClock) -> None:
    had = await held(store, worker="w1")
    clock.advance(LASTS)
    await store.sweep()

    assert await store.beat("w1", LASTS, join=True) == []
    assert await write(store, item(had)) == Fenced()
    assert not await store.release("w1", had.run, had.token)


async def test_each_loss_is_a_death(store: Store, clock: ManualClock) -> None:
    run = await queued(store)

    for death in range(4):
        assert (await claim(store, run, f"w{death}")).deaths == death
        clock.advance(LASTS)
        assert await store.sweep() == [run]
    assert (await row(store, run)).deaths == 4


async def test_sweeps_side_by_side_count_one_death(
    store: Store, other_store: Store, clock: ManualClock
) -> None:
    for number in range(20):
        had = await held(store, worker=f"w{number}")
        clock.advance(LASTS)
        swept = await asyncio.gather(store.sweep(), other_store.sweep(), store.sweep())
        assert sorted(swept, key=len) == [[], [], [had.run]]
        assert (await row(store, had.run)).deaths == 1
        await cancelled(store, had.run)


async def test_a_sweep_against_an_append_leaves_one_truth(
    store: Store, other_store: Store, clock: ManualClock
) -> None:
    for number in range(30):
        had = await held(store, worker=f"w{number}")
        clock.advance(LASTS)
        outcome, swept = await asyncio.gather(write(store, item(had)), other_store.sweep())
        stored = len(await bodies(store, had.run)) == 2
        assert swept == [had.run]
        assert stored == isinstance(outcome, Appended)
        assert await status(store, had.run) == "queued"
        await cancelled(store, had.run)


async def test_waiting_runs_are_never_swept(store: Store, clock: ManualClock) -> None:
    waiting = await paused(store, "k", worker="w1")
    await ended(store, worker="w1")
    clock.advance(1000)

    assert await store.sweep() == []
    assert await status(store, waiting.run) == "paused"
