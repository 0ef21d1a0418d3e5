"""Looks at what a database holds, and brings its schema up to date."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import psycopg
from psycopg import sql

from remit.store.migrations import Script, Versions, scripts
from remit.store.postgres.address import Address
from remit.store.postgres.faults import explained, takes_nobody_in
from remit.store.postgres.wire import OPENING
from remit.values.errors import StoreError

OLDEST = 140000
"""The oldest server that knows what is asked of it, as its own number."""

_PAUSE = 0.25
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('remit/' || %s, 0))"
_BEGIN = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED"
_LIMITS = """
SELECT set_config('lock_timeout', '60s', true), set_config('statement_timeout', %s, true)
"""
_HELD = """
SELECT to_regclass(quote_ident(%(schema)s) || '.migrations') IS NOT NULL,
  EXISTS (SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = %(schema)s AND relkind IN ('r', 'p', 'v', 'm', 'f'))
"""
_MIGRATIONS = "CREATE TABLE migrations(number int PRIMARY KEY, at timestamptz NOT NULL)"
_NOTE = "INSERT INTO migrations(number, at) VALUES (%s, clock_timestamp())"

MOMENTS, AN_HOUR = "60s", "1h"
"""How long a statement of a migration may take: of one that a start waits for, and of one that
somebody asked for, who may have a large database."""

Connection = psycopg.AsyncConnection[Any]


async def prepare(address: Address, patience: float, *, migrating: bool = True) -> None:
    """Make the schema, or bring it up to date; without `migrating`, see that it is.

    Raises StoreError, and changes nothing, where it holds something else or something newer,
    and without `migrating` where it holds something older or nothing.
    """
    if migrating:
        await migrate(address, patience, scripts(__package__), longest=MOMENTS)
        return
    versions = await look(address, patience, scripts(__package__))
    if versions.due:
        raise StoreError(
            reason=f"the database {address.place} is at migration {versions.at}, and this remit"
            f" needs {versions.newest}: bring it up to date with `remit migrate`."
        )


async def look(address: Address, patience: float, given: Sequence[Script]) -> Versions:
    """Where the schema is. Raises StoreError as `migrate`."""
    return await _patiently(address, patience, lambda db: _look(db, address, given))


async def migrate(
    address: Address, patience: float, given: Sequence[Script], *, longest: str = AN_HOUR
) -> Versions:
    """Bring the schema to the last script of those `given`; where it was before.

    Raises StoreError, and changes nothing, where it holds something else or something newer.
    """

    async def work(connection: Connection) -> Versions:
        found = await _look(connection, address, given)
        if not found.due:
            return found
        before = await _migrate(connection, address, given, longest)
        return Versions(at=before, newest=found.newest)

    return await _patiently(address, patience, work)


async def _patiently(
    address: Address, patience: float, work: Callable[[Connection], Awaitable[Versions]]
) -> Versions:
    """What `work` gives for a connection that a server lets in within `patience` seconds."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while True:
        try:
            connection = await connect(address)
            try:
                _refuse_what_is_too_old(connection, address)
                return await work(connection)
            finally:
                await connection.close()
        except (psycopg.Error, TimeoutError) as error:
            if not takes_nobody_in(error) or loop.time() >= deadline:
                raise explained(error, address.place) from error
        await asyncio.sleep(_PAUSE)


async def _look(connection: Connection, address: Address, given: Sequence[Script]) -> Versions:
    newest = given[-1].number
    return Versions(at=await _version(connection, address, newest), newest=newest)


async def connect(address: Address) -> Connection:
    """A plain connection, without the settings of those that the store works with."""
    async with asyncio.timeout(OPENING):
        return await psycopg.AsyncConnection.connect(address.conninfo, autocommit=True)


def _refuse_what_is_too_old(connection: Connection, address: Address) -> None:
    version = connection.info.server_version
    if version < OLDEST:
        raise StoreError(
            reason=f"the database {address.place} runs on PostgreSQL {version // 10000}, which is"
            f" too old: use {OLDEST // 10000} or newer."
        )


async def _version(connection: Connection, address: Address, newest: int) -> int:
    """The number of the last migration; 0 where nothing is made yet. Raises StoreError where
    the schema is another program's, or newer than this code."""
    version = await version_of(connection, address)
    if version is None:
        raise StoreError(reason=foreign(address))
    if version > newest:
        raise StoreError(
            reason=f"the database {address.place} is at migration {version}, written by a newer"
            f" remit, and this one knows migrations up to {newest}: update remit."
        )
    return version


def foreign(address: Address) -> str:
    """Why a schema that holds something else is refused."""
    return (
        f"the database {address.place} holds another program's tables there: give another schema."
    )


async def version_of(connection: Connection, address: Address) -> int | None:
    """The number of the last migration; 0 where nothing is made yet, None where the schema is
    another program's."""
    looked = await connection.execute(_HELD, {"schema": address.schema})
    ours, anything = await looked.fetchone() or (False, False)
    if not ours:
        return None if anything else 0
    table = sql.Identifier(address.schema, "migrations")
    found = await connection.execute(sql.SQL("SELECT max(number) FROM {}").format(table))
    (version,) = await found.fetchone() or (None,)
    return version or 0


async def _migrate(
    connection: Connection, address: Address, given: Sequence[Script], longest: str
) -> int:
    """Make what is missing; the number it was missing from."""
    schema = sql.Identifier(address.schema)
    async with connection.transaction():
        await connection.execute(_BEGIN)
        await connection.execute(_LIMITS, [longest])
        await connection.execute(_LOCK, [address.schema])
        # Another process may have migrated it since.
        version = await _version(connection, address, given[-1].number)
        if version == given[-1].number:
            return version
        await _make(connection, address)
        await connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(schema))
        if version == 0:
            await connection.execute(_MIGRATIONS)
        for script in given:
            if script.number > version:
                await connection.execute(script.text.encode())
                await connection.execute(_NOTE, [script.number])
    return version


async def _make(connection: Connection, address: Address) -> None:
    """Make the schema where it is missing; only then is the right to do so needed."""
    make = sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(address.schema))
    found = await connection.execute("SELECT to_regnamespace(quote_ident(%s))", [address.schema])
    if await found.fetchone() != (None,):
        return
    try:
        await connection.execute(make)
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            reason=f"the database {address.place} does not let this user make the schema: let its"
            f" owner run CREATE SCHEMA {address.schema} AUTHORIZATION and the user's name."
        ) from error
