"""Laws of writing a journal: fence, order, and all or nothing."""

from __future__ import annotations

import asyncio
import random

import pytest

from remit.store.protocol import Store
from remit.store.records import Append, Appended, Entry, Fenced, News, Signalled, Status
from remit.testing.clock import ManualClock
from tests.contract.arrange import (
    LASTS,
    PROGRAM,
    a_run,
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

NEXT: list[Status | None] = [None, "paused", "succeeded"]


async def test_entries_are_read_back_in_order_with_their_token(store: Store) -> None:
    had = await held(store)

    outcome = await write(store, item(had, b"one", b"two"))

    assert outcome == Appended(3, 0)
    assert await store.read(had.run) == [
        Entry(1, 0, 1, b"asked"),
        Entry(2, had.token, 1, b"one"),
        Entry(3, had.token, 1, b"two"),
    ]


@pytest.mark.parametrize(("entries", "size"), [(1, 3_000_000), (3, 5_000), (150, 10), (150, 5_000)])
async def test_a_journal_is_read_whole_however_long_it_is(
    store: Store, entries: int, size: int
) -> None:
    had = await held(store)
    told = [bytes([n]) * size for n in range(entries)]
    await write(store, item(had, *told))

    assert [entry.body for entry in await store.read(had.run, 1)] == told


async def test_a_reader_goes_on_where_it_stopped(store: Store) -> None:
    had = await held(store)
    await write(store, item(had, b"one", b"two"))

    after = [(await store.read(had.run, n)) for n in (0, 1, 3, 4)]

    assert [[entry.seq for entry in entries] for entries in after] == [[1, 2, 3], [2, 3], [], []]
    assert await store.read("nobody") == []


async def test_a_lost_lease_cannot_write(store: Store, clock: ManualClock) -> None:
    lost = await held(store, worker="w1")
    clock.advance(LASTS)
    await store.sweep()
    taken = await claim(store, lost.run, "w2")

    outcome = await write(store, item(lost))

    assert outcome == Fenced()
    assert await bodies(store, lost.run) == [b"asked"]
    assert await write(store, item(taken)) == Appended(2, 0)


async def test_a_lost_lease_harms_none_of_those_who_write_at_the_same_time(
    store: Store, clock: ManualClock
) -> None:
    lost = [await held(store, worker="w1") for _ in range(3)]
    clock.advance(LASTS)
    await store.sweep()
    kept = [await held(store, worker="w2") for _ in range(40)]
    items = [item(had, b"one", b"two") for had in kept]
    for had in lost:
        items.insert(7 * len(items) % 40, item(had, b"late"))

    outcomes = await asyncio.gather(*(write(store, each) for each in items))

    told = dict(zip([each.run for each in items], outcomes, strict=True))
    assert all(told[had.run] == Fenced() for had in lost)
    assert all(told[had.run] == Appended(3, 0) for had in kept)
    for had in kept:
        assert await bodies(store, had.run) == [b"asked", b"one", b"two"]
    for had in lost:
        assert await bodies(store, had.run) == [b"asked"]


async def test_a_lost_lease_is_fenced_before_anyone_else_claims(
    store: Store, clock: ManualClock
) -> None:
    lost = await held(store)
    clock.advance(LASTS)
    await store.sweep()

    assert await write(store, item(lost)) == Fenced()
    assert (await row(store, lost.run)).token > lost.token


async def test_the_same_worker_cannot_write_under_its_earlier_token(store: Store) -> None:
    first = await held(store, worker="w1")
    await store.release("w1", first.run, first.token)
    second = await claim(store, first.run, "w1")

    assert await write(store, item(first)) == Fenced()
    assert await write(store, item(second)) == Appended(2, 0)


@pytest.mark.parametrize("next_status", NEXT)
@pytest.mark.parametrize("seq", [0, 1, 3])
async def test_a_write_at_another_sequence_number_is_fenced(
    store: Store, seq: int, next_status: Status | None
) -> None:
    had = await held(store)
    await write(store, item(had, b"one"))

    outcome = await write(store, item(had, b"two", seq=seq, status=next_status))

    assert outcome == Fenced()
    assert await bodies(store, had.run) == [b"asked", b"one"]
    assert await status(store, had.run) == "running"


@pytest.mark.parametrize("next_status", NEXT)
@pytest.mark.parametrize("step", [-1, 1])
async def test_a_write_under_another_token_is_fenced(
    store: Store, step: int, next_status: Status | None
) -> None:
    had = await held(store)

    outcome = await write(store, item(had, token=had.token + step, status=next_status))

    assert outcome == Fenced()
    assert await bodies(store, had.run) == [b"asked"]
    assert await status(store, had.run) == "running"


async def test_two_writes_at_one_sequence_number_one_wins(store: Store, other_store: Store) -> None:
    had = await held(store)

    for seq in range(1, 41):
        outcomes = await asyncio.gather(
            write(store, item(had, b"a", seq=seq)), write(other_store, item(had, b"b", seq=seq))
        )
        assert sorted(outcomes, key=str) == [Appended(seq + 1, 0), Fenced()]

    assert len(await store.read(had.run)) == 41


async def test_a_sequence_has_no_gaps(store: Store, other_store: Store) -> None:
    had = await held(store)

    async def writer(handle: Store, dice: random.Random) -> None:
        for _ in range(30):
            seq = (await row(handle, had.run)).seq
            count = dice.randint(1, 3)
            await write(handle, item(had, *[b"x"] * count, seq=seq))

    await asyncio.gather(
        writer(store, random.Random(1)),
        writer(other_store, random.Random(2)),
        writer(store, random.Random(3)),
    )

    entries = await store.read(had.run)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert (await row(store, had.run)).seq == len(entries) > 60


async def test_a_run_that_nobody_holds_takes_no_write(store: Store) -> None:
    never = Append(run=await queued(store), token=0, seq=1, entries=(b"x",), format=1)
    given_back = await held(store)
    await store.release("w1", given_back.run, given_back.token)
    waiting = await paused(store, "k")
    unknown = Append(run="nobody", token=1, seq=0, entries=(b"x",), format=1)

    outcomes = await store.append([never, item(given_back), item(waiting, seq=2), unknown])

    assert outcomes == [Fenced()] * 4


@pytest.mark.parametrize("end", ["succeeded", "failed", "cancelled"])
async def test_an_ended_run_takes_no_write(store: Store, end: str, clock: ManualClock) -> None:
    had = await held(store)
    clock.advance(1)

    outcome = await write(store, item(had, b"end", status=end))

    assert outcome == Appended(2, 0)
    assert await write(store, item(had, seq=2)) == Fenced()
    assert await write(store, item(had, seq=2, status="failed")) == Fenced()
    after = await row(store, had.run)
    assert (after.status, after.seq) == (end, 2)
    assert after.ended == after.created + 1_000_000


async def test_a_refused_item_harms_no_neighbour(store: Store) -> None:
    fine, lost, told, end = [await held(store) for _ in range(4)]
    await store.cancel(told.run, b"end", 1, b"stop")

    outcomes = await store.append(
        [
            item(fine),
            item(lost, token=lost.token + 1),
            item(told, status="succeeded"),
            item(end, status="succeeded"),
        ]
    )

    assert outcomes == [Appended(2, 0), Fenced(), News(1), Appended(2, 0)]
    seqs = [(await row(store, one.run)).seq for one in (fine, lost, told, end)]
    assert seqs == [2, 1, 1, 2]
    assert await status(store, told.run) == "running"


async def test_the_items_of_a_batch_are_written_in_order(store: Store) -> None:
    had = await held(store)

    outcomes = await store.append(
        [item(had, b"one"), item(had, b"twin"), item(had, b"two", seq=2, status="failed")]
    )

    assert outcomes == [Appended(2, 0), Fenced(), Appended(3, 0)]
    assert await bodies(store, had.run) == [b"asked", b"one", b"two"]


async def test_many_writers_at_once_are_all_stored(store: Store, other_store: Store) -> None:
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
async def test_bodies_are_kept_byte_for_byte(store: Store, body: bytes) -> None:
    had = await held(store, body=body)
    await write(store, item(had, body, b"small"))

    assert await bodies(store, had.run) == [body, body, b"small"]


async def test_a_pause_that_missed_a_signal_is_news(store: Store) -> None:
    had = await held(store)
    await store.cancel(had.run, b"end", 1, b"stop")

    pause = item(had, status="paused", asks=("k",))
    outcome = await write(store, pause)

    assert outcome == News(1)
    assert await status(store, had.run) == "running"
    assert await bodies(store, had.run) == [b"asked"]
    assert [signal.key for signal in await store.signals(had.run)] == ["cancel"]


async def test_whoever_has_looked_may_end(store: Store) -> None:
    had = await held(store)
    assert await store.cancel(had.run, b"end", 1, b"stop") == Signalled()

    assert await write(store, item(had, status="cancelled")) == News(1)
    assert await write(store, item(had, status="cancelled", seen=1)) == Appended(2, 1)
    assert await status(store, had.run) == "cancelled"


async def test_a_lost_lease_hears_no_news(store: Store) -> None:
    had = await held(store)
    await store.cancel(had.run, b"end", 1, b"stop")

    stale = [
        item(had, status="succeeded", token=had.token - 1),
        item(had, status="succeeded", seq=had.seq - 1),
        item(had, status="paused", seq=had.seq + 1),
    ]

    assert await store.append(stale) == [Fenced()] * 3


async def test_a_plain_entry_is_stored_despite_news_and_brings_it(store: Store) -> None:
    had = await held(store)
    await store.cancel(had.run, b"end", 1, b"stop")

    assert await write(store, item(had)) == Appended(2, 1)


async def test_progress_resets_deaths(store: Store, clock: ManualClock) -> None:
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
async def test_a_stop_is_progress(store: Store, clock: ManualClock, next_status: str) -> None:
    lost = await held(store, worker="a")
    clock.advance(LASTS)
    await store.sweep()
    had = await claim(store, lost.run, "b")

    await write(store, item(had, status=next_status, asks=("k",)))

    assert (had.deaths, (await row(store, had.run)).deaths) == (1, 0)


async def test_a_refused_write_is_no_progress(store: Store, clock: ManualClock) -> None:
    lost = await held(store, worker="a")
    clock.advance(LASTS)
    await store.sweep()
    had = await claim(store, lost.run, "b")

    await write(store, item(had, seq=7))
    await store.cancel(had.run, b"end", 1, b"stop")
    await write(store, item(had, status="succeeded"))

    assert (await row(store, had.run)).deaths == 1


async def test_no_holder_can_queue_or_start_its_run(store: Store) -> None:
    had = await held(store)

    with pytest.raises(ValueError, match="cannot make its run queued"):
        item(had, status="queued")
    with pytest.raises(ValueError, match="cannot make its run running"):
        item(had, status="running")


async def test_the_same_id_twice_is_one_run(store: Store, other_store: Store) -> None:
    await asyncio.gather(
        *(handle.create(a_run("one", thread="t")) for handle in (store, other_store) * 10)
    )

    assert await bodies(store, "one") == [b"asked"]
    done = await claim(store, "one")
    await write(store, item(done, status="succeeded"))
    await store.create(a_run("one", thread="t", body=b"other"))
    assert await bodies(store, "one") == [b"asked", b"fact"]


async def test_what_is_stored_outlives_a_handle(store: Store, other_store: Store) -> None:
    run = await ended(store, thread="t", user="u")
    await store.close()

    assert await status(other_store, run) == "succeeded"
    assert await other_store.thread_head("t") == run
    await store.open()
    assert await bodies(store, run) == [b"asked", b"fact"]


async def test_a_caller_who_is_cancelled_harms_nobody(store: Store) -> None:
    claims = [await held(store) for _ in range(10)]
    writes = [asyncio.create_task(write(store, item(had))) for had in claims]
    await asyncio.sleep(0)

    for task in writes[::2]:
        task.cancel()
    await asyncio.wait(writes)

    assert [task.result() for task in writes[1::2]] == [Appended(2, 0)] * 5
    assert [len(await bodies(store, had.run)) for had in claims] == [2] * 10


async def test_a_close_finishes_what_waits(store: Store, other_store: Store) -> None:
    waiting = [asyncio.create_task(queued(store)) for _ in range(200)]
    await asyncio.sleep(0)

    await store.close()

    made = [await one for one in waiting]
    assert len(await other_store.heads(made)) == 200
