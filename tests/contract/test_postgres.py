"""Laws of the PostgreSQL store alone: its schema, its sessions, and what it costs when idle."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import Any, TypeVar

import pytest
from psycopg.conninfo import make_conninfo

from remit.store.money import DAY, Ceiling, Charge, Granted, Hold, Meter
from remit.store.postgres import PostgresStore
from remit.store.postgres.address import Address
from remit.store.postgres.connections import Connections
from remit.store.postgres.statements import Call, statement
from remit.store.postgres.wire import Unit, Wire
from remit.store.protocol import Store
from remit.store.records import Appended, Fenced, Query
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    LASTS,
    PROGRAM,
    claim,
    ended,
    held,
    item,
    join,
    queued,
    row,
    write,
)
from remit.values.clock import SystemClock
from remit.values.errors import StoreError
from tests.contract import postgres_processes
from tests.fixtures_postgres import Place, fresh_place
from tests.fixtures_store import opened
from tests.journeys.host import DONE, hosting

pytestmark = pytest.mark.slow

T = TypeVar("T")


@pytest.fixture
async def store(place: Place, clock: ManualClock) -> AsyncIterator[Store]:
    async with opened(PostgresStore(place.address, clock, schema=place.schema)) as store:
        yield store


async def refusal(place: Place) -> str:
    """Why the store does not open."""
    with pytest.raises(StoreError) as refused:
        await PostgresStore(place.address, schema=place.schema).open()
    return str(refused.value)


async def ask(place: Place, question: str) -> Any:
    """What a session, set up as the store's are, answers."""
    answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    wire = await Wire.connect(Address.parse(place.address, place.schema))
    wire.send([Unit([Call(statement("question", question), [])], answered.set_result)], 5)
    answers = await answered
    wire.close()
    if isinstance(answers, Exception):
        raise answers
    return answers[0][0][0]


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """The statements that this process sends meanwhile, by name."""
    sent: Counter[str] = Counter()
    send = Wire.send

    def count(wire: Wire, units: Sequence[Unit], within: float) -> None:
        sent.update(call.statement.name.decode() for unit in units for call in unit.calls)
        send(wire, units, within)

    with monkeypatch.context() as patch:
        patch.setattr(Wire, "send", count)
        yield sent


@contextmanager
def own_database(place: Place) -> Iterator[Place]:
    """A database beside that of `place`."""
    name = f"db_{place.schema}"
    place.execute(f"CREATE DATABASE {name}")
    try:
        yield Place(make_conninfo(place.address, dbname=name), place.schema)
    finally:
        place.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_fresh_schemas_can_be_opened_by_eight_processes_at_once(place: Place) -> None:
    context = multiprocessing.get_context("spawn")
    gate, results = context.Barrier(8), context.Queue()
    with own_database(place) as fresh:
        schemas = [f"s{number}" for number in range(10)]
        starters = [
            context.Process(
                target=postgres_processes.start_together,
                args=(fresh.address, schemas, f"p{number}", gate, results),
            )
            for number in range(8)
        ]
        for starter in starters:
            starter.start()
        outcomes = [results.get(timeout=50) for _ in range(80)]
        for starter in starters:
            starter.join()
        results.close()

    assert outcomes == ["fine"] * 80


async def test_processes_together_cannot_overrun_a_ceiling(place: Place, store: Store) -> None:
    context = multiprocessing.get_context("spawn")
    gate, results = context.Barrier(4), context.Queue()
    spenders = [
        context.Process(
            target=postgres_processes.spend_together,
            args=(place.address, place.schema, f"p{number}", gate, results),
        )
        for number in range(4)
    ]
    for spender in spenders:
        spender.start()
    told = [await asyncio.to_thread(results.get, timeout=50) for _ in spenders]
    for spender in spenders:
        spender.join()
    results.close()

    rounds = range(postgres_processes.ROUNDS)
    granted = [sum(sum(one[turn * 8 : turn * 8 + 8]) for one in told) for turn in rounds]
    assert granted == [5] * len(rounds)


async def test_a_newer_schema_is_left_alone(place: Place, store: Store) -> None:
    await store.close()
    place.execute("INSERT INTO migrations VALUES (99, now())")

    message = await refusal(place)

    assert "at migration 99" in message
    assert "up to 2: update remit" in message


async def test_another_program_s_schema_is_left_alone(place: Place) -> None:
    place.execute(f"CREATE SCHEMA {place.schema}")
    place.execute("CREATE TABLE theirs(x int)")

    assert "another program's tables there: give another schema" in await refusal(place)

    names = place.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace", place.schema
    )
    assert names == [("theirs",)]


async def test_an_empty_schema_is_a_fresh_store(place: Place) -> None:
    place.execute(f"CREATE SCHEMA {place.schema}")

    async with opened(PostgresStore(place.address, schema=place.schema)) as store:
        await queued(store)


async def test_two_schemas_are_two_stores(place: Place, store: Store) -> None:
    run = await queued(store)

    with fresh_place(place.address) as beside:
        async with opened(PostgresStore(beside.address, schema=beside.schema)) as other:
            assert await other.get(run) is None
            await queued(other)
    assert len(await store.find(Query())) == 1


async def test_every_mixture_of_conditions_can_be_asked_for(store: Store) -> None:
    run = await queued(store, user="u", tenant="x", thread="t")
    later = await queued(store)
    conditions: dict[str, Any] = {
        "status": "queued",
        "names": ("greeter",),
        "user": "u",
        "tenant": "x",
        "thread": "t",
        "before": later,
    }

    for count in range(7):
        for names in combinations(conditions, count):
            found = await store.find(Query(**{name: conditions[name] for name in names}))
            assert found[-1].id == run


async def test_time_is_the_database_s_own(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ((now,),) = place.execute("SELECT extract(epoch FROM clock_timestamp()) * 1000000")
    monkeypatch.setattr(SystemClock, "wall", staticmethod(lambda: 0.0))
    monkeypatch.setattr(SystemClock, "steady", staticmethod(lambda: 0.0))

    async with opened(PostgresStore(place.address, schema=place.schema)) as store:
        run = await ended(store)
        found = await row(store, run)
        lost = await held(store, worker="w2")
        place.execute("UPDATE workers SET alive_until = clock_timestamp() WHERE id = 'w2'")
        assert await store.sweep() == [lost.run]
        again = await claim(store, lost.run, "w3")

    assert 0 <= found.created - int(now) < 60e6
    assert found.ended is not None
    assert found.created < found.ended
    assert again.since_lost is not None
    assert 0 <= again.since_lost < 60
    assert found.ended < again.now < found.ended + 60e6


async def test_the_database_s_defaults_weaken_nothing(place: Place) -> None:
    with own_database(place) as lax:
        for setting, value in (
            ("synchronous_commit", "off"),
            ("default_transaction_isolation", "serializable"),
            ("search_path", "elsewhere"),
        ):
            lax.execute(f"ALTER DATABASE db_{place.schema} SET {setting} = {value}")

        async with opened(PostgresStore(lax.address)) as store:
            await ended(store)
        assert await ask(lax, "SELECT current_setting('synchronous_commit')") == "on"
        assert await ask(lax, "SELECT current_setting('transaction_isolation')") == "read committed"


@pytest.mark.parametrize(
    "setting", ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
)
async def test_no_session_waits_for_ever(place: Place, setting: str) -> None:
    assert await ask(place, f"SELECT current_setting('{setting}')") not in ("0", "")


async def test_a_batch_is_held_to_the_laws_of_one(store: Store, clock: ManualClock) -> None:
    lost = [await held(store, worker="a") for _ in range(3)]
    clock.advance(LASTS)
    await store.sweep()
    fine, other, waiting = [await claim(store, one.run, "b") for one in lost]
    await write(store, item(waiting, status="paused"))

    outcomes = await store.append(
        [item(fine, format=2), item(other), item(lost[2], status="paused", asks=("k",))]
    )

    assert outcomes == [Appended(2, 0), Appended(2, 0), Fenced()]
    assert [(await row(store, one.run)).deaths for one in (fine, other)] == [0, 0]
    assert (await row(store, waiting.run)).status == "paused"
    await store.release("b", fine.run, fine.token)
    assert await store.claim("b", [PROGRAM], format=1, run=fine.run) == []


async def test_a_claim_trusts_nothing_that_was_looked_at_before(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def found(*_: Any) -> bool:
        return True

    monkeypatch.setattr(Connections, "look", found)
    newer, others, taken = [
        await queued(store, format=2),
        await queued(store, program="other@1"),
        await queued(store),
    ]
    await join(store, "w1", "w2")
    assert len(await store.claim("w2", [PROGRAM], format=1, run=taken)) == 1

    for run in (None, newer, others, taken, "nobody"):
        assert await store.claim("w1", [PROGRAM], format=1, run=run) == []
    waiting = await queued(store)
    clock.advance(LASTS)
    for run in (None, waiting):
        assert await store.claim("w1", [PROGRAM], format=1, run=run) == []
    assert await store.beat("w3", LASTS, join=True) == []
    assert len(await store.claim("w3", [PROGRAM], format=1)) == 1


async def test_an_idle_worker_asks_less_than_once_a_second(
    store: Store, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 120

    async def nothing(_: Any) -> Any:
        return DONE

    async with hosting(store, clock, nothing):
        await asyncio.sleep(0.2)
        with counted(monkeypatch) as sent:
            for _ in range(seconds):
                clock.advance(1)
                await asyncio.sleep(0.02)

    assert sent["beat"] == pytest.approx(seconds / 5, abs=1)
    assert 0 < sum(sent.values()) < seconds


async def test_many_who_ask_at_once_share_few_transactions(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with counted(monkeypatch) as sent:
        await asyncio.gather(*(queued(store) for _ in range(100)))

    assert sent["make_run"] <= 2


async def test_an_append_without_money_is_one_statement(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    had = await held(store)

    with counted(monkeypatch) as sent:
        await write(store, item(had))

    assert sum(count for name, count in sent.items() if name != "tell") == sent["append"] == 1


async def test_money_of_many_runs_shares_few_statements(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = [await held(store) for _ in range(30)]
    day = Meter(key="day", slots=1, width=DAY)
    charge = Charge(model="m", purpose="turn", body=b"")
    hold = Hold(name="call", nano=1, ceilings=(Ceiling(day, 20),), charge=charge)

    with counted(monkeypatch) as sent:
        outcomes = await store.append([item(one, holds=(hold,)) for one in claims])

    granted = [one for one in outcomes if isinstance(one, Appended) and one.grants == (Granted(),)]
    assert len(granted) == 20
    assert {name for name in sent if name != "tell"} == {
        "lock_run",
        "make_meter",
        "lock_meter",
        "hold",
        "append_each",
    }
    assert sum(sent.values()) - sent["tell"] == 5
