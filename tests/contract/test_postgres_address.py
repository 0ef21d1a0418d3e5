"""Laws of what is told where there is no PostgreSQL database, or no way into it."""

from __future__ import annotations

import asyncio
import socket
import traceback
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from remit.store.connect import connect
from remit.store.postgres import PostgresStore
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import a_run, queued
from remit.values.clock import SystemClock
from remit.values.errors import ConfigError, RemitError, StoreError
from tests.fixtures_postgres import Server, own_server
from tests.fixtures_store import opened

SECRET = "s3cret-w0rd"


async def refusal(address: str, schema: str = "remit") -> str:
    """Why the store does not open; neither the message nor what caused it tells the password."""
    with pytest.raises(StoreError) as refused:
        await asyncio.wait_for(PostgresStore(address, schema=schema, patience=0.2).open(), 20)
    assert not secret_in(refused.value)
    return str(refused.value)


def secret_in(error: BaseException) -> bool:
    """Whether the password stands where somebody may print it."""
    return SECRET in f"{error!r} {''.join(traceback.format_exception(error))}"


@pytest.fixture(scope="module")
def strict() -> Iterator[Server]:
    """A server that asks some users for their password, and lets one do nothing."""
    with own_server() as server:
        with psycopg.connect(server.address, autocommit=True) as db:
            db.execute(f"CREATE ROLE guarded LOGIN PASSWORD '{SECRET}'".encode())
            db.execute("CREATE ROLE barred LOGIN")
            db.execute("CREATE ROLE guest LOGIN")
            db.execute("GRANT CREATE ON DATABASE postgres TO guarded")
            db.execute("CREATE DATABASE closed")
            db.execute("REVOKE CONNECT ON DATABASE closed FROM public")
            hba = server.folder / "data" / "pg_hba.conf"
            rules = "local all guarded scram-sha-256\nlocal all barred reject\n"
            hba.write_text(rules + hba.read_text())
            db.execute("SELECT pg_reload_conf()")
        yield server


def of(server: Server, user: str, **parts: str) -> str:
    return make_conninfo(server.address, user=user, **parts)


@pytest.mark.slow
async def test_the_right_password_opens_the_store(strict: Server) -> None:
    address = of(strict, "guarded", password=SECRET)

    async with opened(PostgresStore(address)) as store:
        await queued(store)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("user", "parts", "told"),
    [
        ("guarded", {"password": SECRET + "!"}, "refuses the password: check user and password"),
        ("guarded", {}, "asks for a password: put one into the address"),
        ("barred", {"password": SECRET}, "pg_hba.conf"),
        ("nobody", {"password": SECRET}, "has no such user: check the user"),
        ("guest", {"dbname": "nowhere"}, "does not exist: check the name"),
        ("guest", {"dbname": "closed"}, "refuses this user: grant it CONNECT"),
        ("guest", {}, "CREATE SCHEMA remit_of_guest AUTHORIZATION"),
    ],
)
async def test_each_way_to_be_kept_out_is_told_with_its_mend(
    strict: Server, user: str, parts: dict[str, str], told: str
) -> None:
    assert told in await refusal(of(strict, user, **parts), "remit_of_guest")


@pytest.mark.slow
async def test_a_user_without_rights_on_the_tables_is_told(strict: Server) -> None:
    async with opened(PostgresStore(strict.address, schema="owned")):
        pass
    with psycopg.connect(strict.address, autocommit=True) as db:
        db.execute("GRANT USAGE ON SCHEMA owned TO guest")
        db.execute("GRANT SELECT ON ALL TABLES IN SCHEMA owned TO guest")

    async with opened(PostgresStore(of(strict, "guest"), schema="owned")) as store:
        with pytest.raises(StoreError, match="refuses this user: grant it the schema"):
            await store.create(a_run())


@pytest.mark.slow
async def test_a_user_with_rights_on_rows_alone_can_work(strict: Server) -> None:
    async with opened(PostgresStore(strict.address, schema="shared")):
        pass
    with psycopg.connect(strict.address, autocommit=True) as db:
        db.execute("GRANT USAGE ON SCHEMA shared TO guest")
        db.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA shared TO guest")

    async with opened(PostgresStore(of(strict, "guest"), schema="shared")) as store:
        await queued(store)


@pytest.mark.slow
async def test_a_server_that_is_full_is_waited_for(strict: Server) -> None:
    with psycopg.connect(strict.address, autocommit=True) as db:
        db.execute("ALTER ROLE guest CONNECTION LIMIT 0")
        opening = asyncio.create_task(PostgresStore(of(strict, "guest"), schema="shared").open())
        message = await refusal(of(strict, "guest"), "shared")
        assert "takes no connections just now: try again later" in message
        assert not opening.done()
        opening.cancel()
        db.execute("ALTER ROLE guest CONNECTION LIMIT -1")


async def test_a_server_that_is_not_there_is_told() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    message = await refusal(f"postgresql://me:{SECRET}@127.0.0.1:{port}/runs")

    assert f"postgresql://127.0.0.1:{port}/runs, schema remit, cannot be reached" in message
    assert "check host and port, and that the server runs" in message
    assert "\n" not in message


async def test_a_host_without_an_address_is_told() -> None:
    message = await refusal(f"postgresql://me:{SECRET}@no-such-host.invalid/runs")

    assert "no-such-host.invalid/runs, schema remit, cannot be reached" in message


async def test_something_else_than_a_server_is_told() -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    other = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = other.sockets[0].getsockname()[1]

    for way in ("prefer", "disable"):
        address = f"postgresql://me:{SECRET}@127.0.0.1:{port}/runs?sslmode={way}"
        assert "is no PostgreSQL server: check host and port" in await refusal(address)
    other.close()


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://me:{SECRET}/x@host/db",
        f"postgresql://me:{SECRET}@host:port/db",
        f"postgresql://me:{SECRET}%zz@host/db",
        f"postgresql://me:{SECRET}@host/db?no_such_option={SECRET}",
        f"postgres://me:{SECRET}@host:99999999/db",
        f"postgresql://[{SECRET}/db",
    ],
)
def test_an_address_that_cannot_be_read_is_told_without_a_word_of_it(address: str) -> None:
    with pytest.raises(ConfigError, match="write postgresql://user:password@host") as refused:
        connect(address, ManualClock())

    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is refused.value.__context__ is None


@pytest.mark.parametrize("schema", ["", "Remit", 'a"b', "a b", "1a", "x" * 60, "pg.remit"])
def test_a_schema_s_name_is_plain(schema: str) -> None:
    with pytest.raises(ConfigError, match="cannot name a schema here"):
        PostgresStore("postgresql://host/db", schema=schema)


def test_no_store_shows_its_password() -> None:
    store = PostgresStore(f"postgresql://me:{SECRET}@host/db", SystemClock())

    assert SECRET not in f"{store!r} {vars(store)!r}"


def test_a_store_that_is_not_open_shows_no_password() -> None:
    store = PostgresStore(f"postgresql://me:{SECRET}@host/db")

    with pytest.raises(RemitError, match="postgresql://host/db, schema remit, is not open") as told:
        store.wakeups()

    assert not secret_in(told.value)
