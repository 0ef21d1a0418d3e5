"""Laws of what a PostgreSQL store is asked: each order for itself, to its end, while it is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from psycopg.conninfo import make_conninfo

from remit.store.postgres import PostgresStore
from remit.store.protocol import Store
from remit.store.records import Appended, Created, Query
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import PROGRAM, a_run, held, item, queued, write
from remit.values.errors import StoreError
from tests.fixtures_postgres import Place
from tests.fixtures_store import opened

pytestmark = pytest.mark.slow


@pytest.fixture
async def store(place: Place, clock: ManualClock) -> AsyncIterator[Store]:
    async with opened(PostgresStore(place.address, clock, schema=place.schema)) as store:
        yield store


async def test_an_order_that_cannot_be_carried_out_harms_no_neighbour(store: Store) -> None:
    news = [a_run(), a_run("\ud800"), a_run(), a_run("a\0b"), a_run(), a_run(thread="t" * 10**6)]

    outcomes = await asyncio.gather(*map(store.create, news), return_exceptions=True)

    assert [isinstance(one, Created) for one in outcomes] == [True, False] * 3
    assert "take the NUL" in str(outcomes[3])
    assert len(await store.find(Query())) == 3


async def test_an_append_that_cannot_be_carried_out_harms_no_neighbour(
    place: Place, store: Store
) -> None:
    place.execute("ALTER TABLE entries ADD CHECK(body <> 'poison')")
    claims = [await held(store) for _ in range(5)]

    outcomes = await asyncio.gather(
        *(
            write(store, item(had, b"poison" if n == 2 else b"fine"))
            for n, had in enumerate(claims)
        ),
        return_exceptions=True,
    )

    assert outcomes[:2] + outcomes[3:] == [Appended(2, 0)] * 4
    assert isinstance(outcomes[2], StoreError)
    assert await write(store, item(claims[2])) == Appended(2, 0)


CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "create": lambda store: store.create(a_run()),
    "claim": lambda store: store.claim("w", [PROGRAM], format=1),
    "beat": lambda store: store.beat("w", 1),
    "append": lambda store: store.append([]),
    "read": lambda store: store.read("r"),
    "sweep": lambda store: store.sweep(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_a_store_that_is_not_open_says_so(
    place: Place, store: Store, call: Callable[[Store], Awaitable[object]]
) -> None:
    await store.close()
    await store.close()

    for shut in (store, PostgresStore(place.address, schema=place.schema)):
        with pytest.raises(StoreError, match="is not open: open it first"):
            await call(shut)
        with pytest.raises(StoreError, match="is not open: open it first"):
            shut.wakeups()


async def test_what_one_wrote_oneself_is_not_heard_again_from_the_server(store: Store) -> None:
    wakeups = store.wakeups()
    await asyncio.wait_for(anext(wakeups), 5)
    await asyncio.sleep(0.1)

    await queued(store)

    await asyncio.wait_for(anext(wakeups), 5)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(wakeups), 0.3)


async def test_a_close_ends_the_wakeups_and_all_connections(place: Place) -> None:
    name = f"app-{place.schema}"
    address = make_conninfo(place.address, application_name=name)
    store = PostgresStore(address, schema=place.schema)
    await store.open()

    async def listen() -> None:
        async for _ in store.wakeups():
            await queued(store)

    listening = asyncio.create_task(listen())
    await asyncio.sleep(0.1)

    await store.close()

    await asyncio.wait([listening], timeout=5)
    await asyncio.sleep(0.1)
    open_sessions = place.execute(
        "SELECT query FROM pg_stat_activity WHERE application_name = %s", name
    )
    assert open_sessions == []


def test_a_store_can_be_opened_in_one_loop_after_another(place: Place) -> None:
    store = PostgresStore(place.address, schema=place.schema)

    async def use() -> None:
        async with opened(store):
            await queued(store)

    for _ in range(3):
        asyncio.run(use())


async def test_another_loop_s_store_is_refused(store: Store) -> None:
    def use() -> None:
        asyncio.run(queued(store))

    with pytest.raises(StoreError, match="was opened in another event loop"):
        await asyncio.to_thread(use)


async def test_opening_twice_is_opening_once(place: Place) -> None:
    store = PostgresStore(place.address, schema=place.schema)
    await asyncio.gather(*(store.open() for _ in range(5)))

    await queued(store)

    await store.close()
    with pytest.raises(StoreError):
        await store.find(Query())
