"""A look at a database that writes nothing to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from remit.store import sql
from remit.store.migrations import Versions
from remit.store.postgres import schema
from remit.store.postgres.address import Address
from remit.store.postgres.faults import explained, keeps_out
from remit.store.upkeep import (
    Concern,
    Dying,
    Lapsed,
    Live,
    Look,
    Overdue,
    PostgresHealth,
    Shut,
    Waiting,
    Why,
    Work,
)
from remit.values.clock import Clock, SystemClock
from remit.values.errors import StoreError

SQL: Mapping[str, str] = sql.load("remit.store.postgres", "checkup.sql")

_ENTRY = "USAGE on schema {}"

Rows = list[tuple[Any, ...]]


async def look(address: Address, clock: Clock, concern: Concern, newest: int) -> Look:
    """How the server is and, where they can be read, the schema's runs."""
    whole = Look(place=address.place.rstrip(","))
    try:
        connection = await schema.connect(address)
    except (psycopg.Error, TimeoutError) as error:
        why: Why = "login" if keeps_out(error) else "unreachable"
        return replace(whole, shut=Shut(why, _reason(error, address)))
    visit = _Visit(connection, address, clock)
    try:
        health = await visit.health()
        whole = replace(whole, health=health)
        return await visit.inside(whole, health, concern, newest)
    except psycopg.Error as error:
        return replace(whole, shut=Shut("unreadable", _reason(error, address)))
    finally:
        await connection.close()


class _Visit:
    """One connection's worth of questions."""

    def __init__(self, connection: schema.Connection, address: Address, clock: Clock) -> None:
        self._connection = connection
        self._address = address
        self._clock = clock

    async def health(self) -> PostgresHealth:
        ((fsync, synchronous_commit, read_only),) = await self._rows("health")
        before = self._clock.wall()
        ((there,),) = await self._rows("time")
        after = self._clock.wall()
        # The answer was given some time between the two: only what lies outside is certain.
        ahead = there - after if there > after else min(there - before, 0.0)
        return PostgresHealth(
            server=self._connection.info.server_version,
            oldest=schema.OLDEST,
            fsync=fsync,
            synchronous_commit=synchronous_commit,
            read_only=read_only,
            ahead=ahead,
        )

    async def inside(
        self, whole: Look, health: PostgresHealth, concern: Concern, newest: int
    ) -> Look:
        await self._rows("quiet", schema=self._address.schema)
        if health.server < schema.OLDEST:
            return whole
        missing = await self._missing()
        if {_ENTRY.format(self._address.schema), "SELECT on migrations"} & set(missing):
            return replace(whole, health=replace(health, missing=missing))
        version = await schema.version_of(self._connection, self._address)
        if version is None:
            return replace(whole, shut=Shut("foreign", schema.foreign(self._address)))
        if version == 0:
            missing = await self._missing_to_make()
        readable = 0 < version <= newest and not any(told.startswith("SELECT") for told in missing)
        return replace(
            whole,
            versions=Versions(at=version, newest=newest),
            health=replace(health, missing=missing),
            work=await self._work(concern) if readable else None,
        )

    async def _missing(self) -> list[str]:
        """A schema that is not there needs no right to be used."""
        schema = self._address.schema
        ((may_use,),) = await self._rows("may_use", schema=schema)
        entry = [_ENTRY.format(schema)] if may_use is False else []
        return entry + [told for (told,) in await self._rows("missing", schema=schema)]

    async def _missing_to_make(self) -> list[str]:
        ((may,),) = await self._rows("may_make")
        return [] if may else ["CREATE on the database"]

    async def _work(self, concern: Concern) -> Work:
        now = await self._now()
        overdue = now - timedelta(seconds=concern.overdue)
        paused = now - timedelta(seconds=concern.paused)
        return Work(
            alive=(await self._rows("alive", now=now))[0][0],
            lapsed=[
                Lapsed(worker=id, ago=ago, runs=runs)
                for id, ago, runs in await self._rows("lapsed", now=now)
            ],
            dying=[
                Dying(run=id, program=of, deaths=deaths)
                for id, of, deaths in await self._rows("dying")
            ],
            overdue=[
                Overdue(program=of, runs=runs, ago=ago)
                for of, runs, ago in await self._rows("overdue", now=now, before=overdue)
            ],
            live=[Live(program=of, runs=runs) for of, runs in await self._rows("live")],
            waiting=[
                Waiting(run=id, program=of, created=created, newest=bytes(body))
                for id, of, created, body in await self._rows("waiting", before=paused)
            ],
        )

    async def _now(self) -> datetime:
        """The database's time, or that of a clock which a test owns."""
        if type(self._clock) is not SystemClock:
            return datetime.fromtimestamp(self._clock.wall(), UTC)
        ((there,),) = await self._rows("time")
        return datetime.fromtimestamp(there, UTC)

    async def _rows(self, name: str, **values: Any) -> Rows:
        cursor = await self._connection.execute(SQL[name].encode(), values or None)
        return await cursor.fetchall()


def _reason(error: Exception, address: Address) -> str:
    told = explained(error, address.place)
    return told.reason if isinstance(told, StoreError) else str(error)
