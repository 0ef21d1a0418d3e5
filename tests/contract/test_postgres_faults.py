"""Laws of the PostgreSQL store when connections break, servers restart and answers get lost."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial

import pytest
from psycopg.conninfo import make_conninfo

from remit.kernel.facts import Asked, Stepped
from remit.kernel.lease import LeaseTerms
from remit.kernel.program import Outcome
from remit.kernel.run import ActiveRun
from remit.store.postgres import PostgresStore, lane
from remit.store.postgres.news import News
from remit.store.protocol import Store
from remit.store.records import Appended, Created, Delivered, Fenced
from remit.testing.store_contract.arrange import (
    LASTS,
    a_run,
    bodies,
    held,
    item,
    join,
    paused,
    queued,
    row,
    status,
    write,
)
from remit.values import codec
from remit.values.clock import SystemClock
from remit.values.errors import StoreError
from tests.contract.proxy import Cut, Proxy, proxying
from tests.fixtures_postgres import Place, Server
from tests.fixtures_store import opened
from tests.journeys.host import DONE, Drive, hosting

pytestmark = pytest.mark.slow

MARK = b"the one that is cut off"
HASTY = LeaseTerms(
    lasts=timedelta(seconds=2),
    renew_every=timedelta(seconds=0.3),
    sweep_every=timedelta(seconds=0.3),
    grace=timedelta(seconds=0.1),
)
RUNS = 8
NAMES = [f"step {number}" for number in range(60)]
ASKED = codec.encode(Asked(at=0, input=None))


@pytest.fixture
async def proxy(place: Place) -> AsyncIterator[Proxy]:
    async with proxying(place.address) as proxy:
        yield proxy


@pytest.fixture
async def store(proxy: Proxy, place: Place) -> AsyncIterator[Store]:
    """A store whose every connection goes through the proxy."""
    made = PostgresStore(proxy.address, schema=place.schema, patience=10)
    async with opened(made):
        yield made


@pytest.fixture
async def witness(place: Place) -> AsyncIterator[Store]:
    """A store with a line of its own."""
    made = PostgresStore(place.address, schema=place.schema)
    async with opened(made):
        yield made


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_an_append_whose_answer_is_lost_is_told_as_unknown(
    store: Store, proxy: Proxy, cut: Cut
) -> None:
    had = await held(store)
    proxy.arm(cut, MARK)

    with pytest.raises(StoreError, match="may be stored or not: read before you try again"):
        await write(store, item(had, MARK))

    stored = [b"asked", MARK] if cut == "after" else [b"asked"]
    assert await bodies(store, had.run) == stored
    again = await write(store, item(had, MARK))
    assert again == (Fenced() if cut == "after" else Appended(2, 0))
    assert await bodies(store, had.run) == [b"asked", MARK]


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_all_that_share_a_lost_transaction_are_told(
    store: Store, proxy: Proxy, cut: Cut
) -> None:
    claims = [await held(store) for _ in range(5)]
    proxy.arm(cut, MARK)

    outcomes = await asyncio.gather(
        *(write(store, item(had, MARK)) for had in claims), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [StoreError] * 5
    lengths = {len(await bodies(store, had.run)) for had in claims}
    assert lengths == ({2} if cut == "after" else {1})


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_what_may_be_done_twice_is_done_again_unasked(
    store: Store, proxy: Proxy, cut: Cut
) -> None:
    proxy.arm(cut, MARK)
    assert await store.create(a_run("one", thread="t", body=MARK)) == Created()
    waiting = await paused(store, "a", "b")
    proxy.arm(cut, MARK)
    assert await store.deliver(waiting.run, {"a": MARK}, "d1") == Delivered(1)
    proxy.arm(cut, b"worker-7")
    assert await store.beat("worker-7", LASTS, join=True) == []
    assert proxy.cuts == 3

    assert await bodies(store, "one") == [MARK]
    assert (await row(store, "one")).thread == "t"
    assert await store.deliver(waiting.run, {"b": b"2"}, "d2") == Delivered(0)
    assert [signal.answer for signal in await store.signals(waiting.run)] == [MARK, b"2"]


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_cancel_whose_answer_is_lost_is_told_as_unknown(
    store: Store, proxy: Proxy, cut: Cut
) -> None:
    run = await queued(store)
    proxy.arm(cut, MARK)

    with pytest.raises(StoreError, match="may be stored or not"):
        await store.cancel(run, MARK, 1, b"stop")

    assert await status(store, run) == ("cancelled" if cut == "after" else "queued")


async def test_reads_go_on_over_a_broken_connection(store: Store, proxy: Proxy) -> None:
    run = await queued(store)

    for _ in range(3):
        proxy.cut_all()
        assert await bodies(store, run) == [b"asked"]
        assert await status(store, run) == "queued"


async def test_a_write_that_finds_the_line_cut_is_sent_on_a_new_one(
    store: Store, proxy: Proxy
) -> None:
    had = await held(store)
    for seq in range(1, 4):
        proxy.cut_all()
        await asyncio.sleep(0.05)
        assert await write(store, item(had, seq=seq)) == Appended(seq + 1, 0)


async def test_a_server_that_does_not_answer_is_given_up(
    store: Store, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    had = await held(store)
    monkeypatch.setattr(lane, "_LONGEST_ANSWER", 0.3)
    proxy.flowing.clear()

    with pytest.raises(StoreError, match="no answer for 0 s"):
        await asyncio.wait_for(write(store, item(had)), 5)

    proxy.flowing.set()
    assert (await row(store, had.run)).seq in (1, 2)


async def test_a_server_that_stays_away_is_told_in_the_end(place: Place, witness: Store) -> None:
    async with proxying(place.address) as proxy:
        hasty = PostgresStore(proxy.address, schema=place.schema, patience=0.5)
        await hasty.open()
        run = await queued(hasty)
    proxy.cut_all()

    for call in (hasty.get(run), hasty.create(a_run())):
        with pytest.raises(StoreError, match="cannot be reached: check host and port"):
            await asyncio.wait_for(call, 5)
    await asyncio.wait_for(hasty.close(), 15)
    assert await status(witness, run) == "queued"


async def test_a_start_that_may_be_stored_is_told_so_though_the_server_stays_away(
    place: Place, witness: Store
) -> None:
    async with proxying(place.address) as proxy:
        hasty = PostgresStore(proxy.address, schema=place.schema, patience=0.5)
        await hasty.open()
        proxy.arm("after", MARK)
        starting = asyncio.create_task(hasty.create(a_run("r", body=MARK)))
        await proxy.was_cut.wait()

    with pytest.raises(StoreError, match="may be stored or not"):
        await asyncio.wait_for(starting, 5)
    assert await bodies(witness, "r") == [MARK]
    await hasty.close()


def steps(effects: Counter[str]) -> Drive:
    """A program of many steps, each of which leaves a trace outside."""

    async def drive(run: ActiveRun) -> Outcome:
        async def effect(name: str) -> str:
            effects[f"{run.id} {name}"] += 1
            await asyncio.sleep(0.005)
            return name

        for name in NAMES:
            assert await run.step(name, partial(effect, name), str) == name
        return DONE

    return drive


@asynccontextmanager
async def meanwhile(fault: Callable[[], None], every: float, times: int) -> AsyncIterator[None]:
    """So many times, while the block lasts."""
    over = asyncio.Event()

    async def strike() -> None:
        for _ in range(times):
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), random.uniform(0.5, 1.5) * every)
                return
            await asyncio.to_thread(fault)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(strike())
        yield
        over.set()


async def run_all(store: Store, effects: Counter[str]) -> None:
    """Drive some runs to their end; each step is recorded once, in order, and was made once."""
    async with hosting(store, SystemClock(), steps(effects)) as host:
        runs = await asyncio.gather(*(host.start() for _ in range(RUNS)))
        rows = await asyncio.gather(*(host.settled(run) for run in runs))
        assert [row.status for row in rows] == ["succeeded"] * RUNS
        for run in runs:
            entries = await store.read(run)
            facts = await host.facts(run)
            assert [entry.seq for entry in entries] == list(range(1, len(NAMES) + 3))
            assert [fact.name for fact in facts if isinstance(fact, Stepped)] == NAMES
    assert set(effects.values()) == {1}
    assert len(effects) == RUNS * len(NAMES)


async def test_killed_connections_lose_nothing_and_double_nothing(place: Place) -> None:
    name = f"app-{place.schema}"
    address = make_conninfo(place.address, application_name=name)
    killed = []

    def kill() -> None:
        killed.extend(
            place.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = %s AND random() < 0.7",
                name,
            )
        )

    async with (
        opened(PostgresStore(address, schema=place.schema)) as store,
        meanwhile(kill, 0.06, 40),
    ):
        await run_all(store, Counter())
    assert len(killed) > 5


async def test_a_restarted_server_loses_nothing_and_doubles_nothing(server: Server) -> None:
    restarts = 0

    def restart() -> None:
        nonlocal restarts
        server.stop("immediate")
        server.start()
        restarts += 1

    async with opened(PostgresStore(server.address)) as store:
        async with meanwhile(restart, 0.2, 3):
            await run_all(store, Counter())
        assert restarts >= 1
        again = await held(store)
        await asyncio.to_thread(restart)
        assert await store.beat("w1", LASTS) is not None
        assert await write(store, item(again)) == Appended(2, 0)


async def test_a_store_whose_server_is_away_is_closed_before_long(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "_LEAVING", 0.2)
    store = PostgresStore(server.address, patience=600)
    await store.open()
    await queued(store, "r")
    server.stop("immediate")
    try:
        asked = [asyncio.ensure_future(call) for call in (store.get("r"), queued(store, "s"))]
        await asyncio.wait(asked, timeout=0)

        await asyncio.wait_for(store.close(), 10)

        for told in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(told, StoreError)
    finally:
        server.start()


async def test_lost_notifications_cost_no_more_than_a_sweep(
    place: Place, witness: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(News, "_tell_within", lambda *_: None)
    async with (
        opened(PostgresStore(place.address, schema=place.schema)) as store,
        hosting(store, SystemClock(), steps(Counter()), terms=HASTY) as host,
    ):
        waiting = await witness.create(a_run("r", program="toy@1", body=ASKED))

        assert waiting == Created()
        assert (await host.settled("r")).status == "succeeded"


async def test_news_come_again_after_the_listening_connection_broke(
    store: Store, proxy: Proxy, witness: Store
) -> None:
    wakeups = store.wakeups()
    for _ in range(3):
        await asyncio.wait_for(anext(wakeups), 5)
        proxy.cut_all()
        # Whoever was deaf for a while is rung once it hears again.
        await asyncio.wait_for(anext(wakeups), 5)
        await queued(witness)


async def test_doubled_and_foreign_notifications_do_no_harm(place: Place, witness: Store) -> None:
    wakeups = witness.wakeups()
    await asyncio.wait_for(anext(wakeups), 5)

    for payload in ("", "", "no run of ours", "x" * 7000):
        await asyncio.to_thread(place.execute, "SELECT pg_notify(%s, %s)", place.schema, payload)

    await asyncio.wait_for(anext(wakeups), 5)
    assert await queued(witness)


async def test_a_notification_wakes_within_moments(place: Place, witness: Store) -> None:
    async with opened(PostgresStore(place.address, schema=place.schema)) as store:
        wakeups = store.wakeups()
        await asyncio.wait_for(anext(wakeups), 5)

        began = asyncio.get_running_loop().time()
        await queued(witness)
        await asyncio.wait_for(anext(wakeups), 5)

        assert asyncio.get_running_loop().time() - began < 0.5


async def test_a_heart_goes_on_over_a_broken_connection(place: Place, witness: Store) -> None:
    async with proxying(place.address) as proxy:
        through = PostgresStore(proxy.address, schema=place.schema)
        await join(witness, "w1")
        heart = through.heart()
        for _ in range(3):
            assert await asyncio.to_thread(heart.beat, "w1", LASTS)
            proxy.cut_all()
    with pytest.raises(StoreError, match="cannot be reached"):
        await asyncio.to_thread(heart.beat, "w1", LASTS)
    heart.close()
