"""Laws of who gets a run: claims."""

from __future__ import annotations

import asyncio

import pytest

from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    LASTS,
    PROGRAM,
    cancelled,
    claim,
    ended,
    held,
    item,
    join,
    now,
    pause,
    paused,
    queued,
    row,
    status,
    write,
)


class ClaimLaws:
    """A run that is due has one holder at a time, under a token that only rises."""

    async def test_a_claim_tells_where_the_run_stands(self, store: Store) -> None:
        run = await queued(store)

        had = await claim(store, run)

        assert (had.run, had.program, had.token, had.seq, had.inbox) == (run, PROGRAM, 1, 1, 0)
        assert (had.deaths, had.since_lost) == (0, None)
        assert await status(store, run) == "running"

    async def test_a_claim_tells_the_stores_own_time(
        self, store: Store, other_store: Store, clock: ManualClock
    ) -> None:
        """By which the holder sees that what was due has come."""
        due = now(clock) + 10_000_000
        runs = [await queued(store, due=due) for _ in range(2)]
        await join(store, "w1")
        clock.advance(10)

        assert (await claim(store, runs[0])).now == due
        clock.advance(1.5)
        (had,) = await other_store.claim("w1", [PROGRAM], format=1)

        assert (had.run, had.now) == (runs[1], due + 1_500_000)

    async def test_claim_gives_a_run_once_under_contention(
        self, store: Store, other_store: Store
    ) -> None:
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

    async def test_two_that_claim_one_run_get_it_once(
        self, store: Store, other_store: Store
    ) -> None:
        await join(store, "a", "b")

        for _ in range(40):
            run = await queued(store)
            found = await asyncio.gather(
                store.claim("a", [PROGRAM], format=1, run=run),
                other_store.claim("b", [PROGRAM], format=1, run=run),
            )
            assert sorted(map(len, found)) == [0, 1]

    async def test_tokens_never_fall(self, store: Store, clock: ManualClock) -> None:
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
            await write(
                store, item(asking, status="paused", seen=asking.inbox, asks=(f"k{number}",))
            )
            await store.deliver(run, {f"k{number}": b"yes"}, f"d{number}")
            await note()

        assert tokens == sorted(tokens)
        assert len(set(tokens)) == 1 + 3 * 4

    async def test_the_longest_due_is_claimed_first(self, store: Store, clock: ManualClock) -> None:
        await join(store, "w")
        made = []
        for number in range(6):
            made.append(await queued(store, program=f"p@{number % 2}"))
            clock.advance(1)

        claims = [await store.claim("w", ["p@0", "p@1"], format=1, room=2) for _ in range(4)]

        order = [[claim.run for claim in some] for some in claims]
        assert order == [made[:2], made[2:4], made[4:], []]

    async def test_a_run_given_back_queues_behind_the_others(
        self, store: Store, clock: ManualClock
    ) -> None:
        first = await held(store, worker="w1")
        clock.advance(1)
        second = await queued(store)
        clock.advance(1)
        await store.release("w1", first.run, first.token)

        (next_one,) = await store.claim("w1", [PROGRAM], format=1)

        assert next_one.run == second

    @pytest.mark.parametrize("room", [0, -1])
    async def test_without_room_nothing_is_claimed(self, store: Store, room: int) -> None:
        await queued(store)
        await join(store, "w")

        assert await store.claim("w", [PROGRAM], format=1, room=room) == []

    async def test_only_programs_that_were_named_are_claimed(self, store: Store) -> None:
        run = await queued(store, program="other@1")
        await join(store, "w")

        assert await store.claim("w", [PROGRAM], format=1) == []
        assert await store.claim("w", [PROGRAM], format=1, run=run) == []
        assert await store.claim("w", [], format=1, run=run) == []
        (found,) = await store.claim("w", [PROGRAM, "other@1"], format=1, run=run)
        assert found.program == "other@1"

    async def test_a_program_named_twice_is_named_once(self, store: Store) -> None:
        runs = {await queued(store) for _ in range(2)}
        await join(store, "w")

        claims = await store.claim("w", [PROGRAM, PROGRAM], format=1, room=5)

        assert len(claims) == 2
        assert {one.run for one in claims} == runs

    async def test_a_claim_by_id_takes_no_other_run(self, store: Store) -> None:
        await queued(store)
        wanted = await queued(store)
        await queued(store)
        await join(store, "w")

        claims = await store.claim("w", [PROGRAM], format=1, room=5, run=wanted)

        assert [one.run for one in claims] == [wanted]
        assert await store.claim("w", [PROGRAM], format=1, run="nobody") == []

    async def test_formats_above_ours_are_not_claimed(self, store: Store) -> None:
        newer = await queued(store, format=2)
        await join(store, "w")

        assert await store.claim("w", [PROGRAM], format=1) == []
        assert await store.claim("w", [PROGRAM], format=1, run=newer) == []
        (had,) = await store.claim("w", [PROGRAM], format=2)
        assert had.run == newer

    async def test_a_run_keeps_the_highest_format_written(self, store: Store) -> None:
        had = await held(store)
        await write(store, item(had, format=3))
        await write(store, item(had, format=1, seq=2))
        await store.release("w1", had.run, had.token)

        assert await store.claim("w1", [PROGRAM], format=2) == []
        assert len(await store.claim("w1", [PROGRAM], format=3)) == 1
        assert [entry.format for entry in await store.read(had.run)] == [1, 3, 1]

    @pytest.mark.parametrize("formats", [(1, 3), (3, 1)])
    async def test_a_pause_keeps_the_highest_format_written(
        self, store: Store, formats: tuple[int, int]
    ) -> None:
        had, (before, at_the_pause) = await held(store), formats
        await write(store, item(had, format=before))
        await pause(store, had, "k", seq=2, format=at_the_pause)
        await store.deliver(had.run, {"k": b"yes"}, "d")

        assert await store.claim("w1", [PROGRAM], format=2) == []
        assert len(await store.claim("w1", [PROGRAM], format=3)) == 1

    async def test_only_queued_runs_are_claimed(self, store: Store) -> None:
        await held(store)
        await paused(store, "k")
        await ended(store)
        await cancelled(store, await queued(store))

        assert await store.claim("w1", [PROGRAM], format=1, room=9) == []
