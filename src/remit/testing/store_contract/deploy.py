"""Laws of code that cannot drive a run."""

from __future__ import annotations

from remit.store.protocol import Store
from remit.store.records import Fenced, Refusal
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    PROGRAM,
    claim,
    held,
    item,
    join,
    lose,
    pause,
    queued,
    row,
    status,
    write,
)

OLD = Refusal("old", "it reads formats up to 1")


async def claimed(store: Store, deploy: str, run: str | None = None, room: int = 9) -> list[str]:
    """What a process of a deployment gets."""
    worker = f"of {deploy}"
    await join(store, worker)
    claims = await store.claim(worker, [PROGRAM], format=1, room=room, run=run, deploy=deploy)
    return [claim.run for claim in claims]


async def refused(store: Store, refusal: Refusal = OLD) -> str:
    """A run that the code of a deployment gave back."""
    had = await held(store)
    assert await store.release("w1", had.run, had.token, refusal=refusal)
    return had.run


class DeployLaws:
    """What one deployment's code cannot drive waits for another's, and is none the worse."""

    async def test_who_refused_a_run_gets_it_no_more(self, store: Store) -> None:
        run = await refused(store)

        assert await claimed(store, "old") == []
        assert await claimed(store, "old", run=run) == []
        assert await status(store, run) == "queued"
        assert await claimed(store, "new") == [run]

    async def test_who_names_no_deployment_gets_all(self, store: Store) -> None:
        run = await refused(store)
        assert await claimed(store, "") == [run]

        other = await refused(store, Refusal("", "why not"))
        assert await claimed(store, "") == [other]

    async def test_a_refusal_tells_why_until_another_has_claimed(self, store: Store) -> None:
        run = await refused(store)
        assert (await row(store, run)).refused == OLD.reason

        await claimed(store, "new")

        assert (await row(store, run)).refused is None

    async def test_a_refusal_outlives_another_ones_claim(
        self, store: Store, clock: ManualClock
    ) -> None:
        run = await refused(store)
        assert await claimed(store, "new") == [run]
        await lose(store, clock)

        assert await claimed(store, "old") == []
        assert (await row(store, run)).refused is None

    async def test_a_refusal_is_no_death_and_no_progress(
        self, store: Store, clock: ManualClock
    ) -> None:
        await held(store, "r", worker="lost")
        await lose(store, clock)
        had = await claim(store, "r")

        await store.release("w1", "r", had.token, refusal=OLD)

        again = await claim(store, "r")
        assert (again.deaths, again.seq, again.token) == (1, 1, had.token + 1)

    async def test_only_the_holder_can_refuse(self, store: Store) -> None:
        had = await held(store)
        await join(store, "w2")

        assert not await store.release("w2", had.run, had.token, refusal=OLD)
        assert not await store.release("w1", had.run, had.token + 1, refusal=OLD)

        assert await store.release("w1", had.run, had.token)
        assert (await row(store, had.run)).refused is None
        assert await claimed(store, "old") == [had.run]

    async def test_a_refused_run_takes_no_write(self, store: Store) -> None:
        had = await held(store)
        await store.release("w1", had.run, had.token, refusal=OLD)

        assert await write(store, item(had)) == Fenced()

    async def test_refused_runs_stand_in_nobodys_way(
        self, store: Store, clock: ManualClock
    ) -> None:
        before = [await refused(store, Refusal("old", f"{number}")) for number in range(12)]
        clock.advance(1)
        fresh = await queued(store)

        assert await claimed(store, "old", room=1) == [fresh]
        assert await claimed(store, "new", room=20) == before

    async def test_a_later_refusal_is_kept_in_place_of_the_one_before(self, store: Store) -> None:
        run = await refused(store)
        had = await claim(store, run)
        await store.release("w1", run, had.token, refusal=Refusal("newer", "no such tool"))

        assert (await row(store, run)).refused == "no such tool"
        assert await claimed(store, "newer") == []

    async def test_a_refused_run_can_wait_and_be_woken(self, store: Store) -> None:
        run = await refused(store)
        had = await claim(store, run)
        await pause(store, had, "k")
        await store.deliver(run, {"k": b"yes"}, "d1")

        assert await claimed(store, "old") == []
        assert await claimed(store, "new") == [run]
