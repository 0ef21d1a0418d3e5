"""Looks at what a database holds, and brings its schema up to date."""

from __future__ import annotations

import asyncio
from importlib import resources
from typing import Any

import psycopg
from psycopg import sql

from remit.store.postgres.address import Address
from remit.store.postgres.faults import explained, takes_nobody_in
from remit.store.postgres.wire import OPENING
from remit.values.errors import StoreError

_OLDEST = 140000
_PAUSE = 0.25
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('remit/' || %s, 0))"
_BEGIN = """
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = '60s';
SET LOCAL statement_timeout = '60s'
"""
_LOOK = """
SELECT to_regclass(quote_ident(%(schema)s) || '.migrations') IS NOT NULL,
  EXISTS (SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = %(schema)s AND relkind IN ('r', 'p', 'v', 'm', 'f'))
"""
_MIGRATIONS = "CREATE TABLE migrations(number int PRIMARY KEY, at timestamptz NOT NULL)"
_NOTE = "INSERT INTO migrations(number, at) VALUES (%s, clock_timestamp())"

Connection = psycopg.AsyncConnection[Any]


async def prepare(address: Address, patience: float) -> None:
    """Make the schema, or bring it up to date.

    Raises StoreError, and changes nothing, where it holds something else or something newer.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while True:
        try:
            return await _prepare(address)
        except (psycopg.Error, TimeoutError) as error:
            if not takes_nobody_in(error) or loop.time() >= deadline:
                raise explained(error, address.place) from error
        await asyncio.sleep(_PAUSE)


async def _prepare(address: Address) -> None:
    async with asyncio.timeout(OPENING):
        connection = await psycopg.AsyncConnection.connect(address.conninfo, autocommit=True)
    try:
        _refuse_what_is_too_old(connection, address)
        if await _version(connection, address) != _newest():
            await _migrate(connection, address)
    finally:
        await connection.close()


def _refuse_what_is_too_old(connection: Connection, address: Address) -> None:
    version = connection.info.server_version
    if version < _OLDEST:
        raise StoreError(
            reason=f"the database {address.place} runs on PostgreSQL {version // 10000}, which is"
            f" too old: use {_OLDEST // 10000} or newer."
        )


async def _version(connection: Connection, address: Address) -> int:
    """The number of the last migration; 0 where nothing is made yet. Raises StoreError where
    the schema is another program's, or newer than this code."""
    looked = await connection.execute(_LOOK, {"schema": address.schema})
    ours, anything = await looked.fetchone() or (False, False)
    if not ours and anything:
        raise StoreError(
            reason=f"the database {address.place} holds another program's tables there: give"
            " another schema."
        )
    if not ours:
        return 0
    table = sql.Identifier(address.schema, "migrations")
    found = await connection.execute(sql.SQL("SELECT max(number) FROM {}").format(table))
    (version,) = await found.fetchone() or (None,)
    if version is not None and version > _newest():
        raise StoreError(
            reason=f"the database {address.place} is at migration {version}, written by a newer"
            f" remit, and this one knows migrations up to {_newest()}: update remit."
        )
    return version or 0


async def _migrate(connection: Connection, address: Address) -> None:
    schema = sql.Identifier(address.schema)
    async with connection.transaction():
        await connection.execute(_BEGIN)
        await connection.execute(_LOCK, [address.schema])
        # Another process may have migrated it since.
        version = await _version(connection, address)
        if version == _newest():
            return
        await _make(connection, address)
        await connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(schema))
        if version == 0:
            await connection.execute(_MIGRATIONS)
        for number, script in _scripts():
            if number > version:
                await connection.execute(script.encode())
                await connection.execute(_NOTE, [number])


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


def _scripts() -> list[tuple[int, str]]:
    """The numbered migrations, in order."""
    files = resources.files(__package__).iterdir()
    scripts = [file for file in files if file.name[:4].isdigit() and file.name.endswith(".sql")]
    return sorted((int(file.name[:4]), file.read_text("utf-8")) for file in scripts)


def _newest() -> int:
    return _scripts()[-1][0]
