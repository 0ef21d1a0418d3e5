"""Looks after a database file: its schema and its health."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable, Sequence
from typing import TypeVar

from remit.store.migrations import Script, Versions, scripts
from remit.store.sqlite import schema
from remit.store.sqlite.faults import explained, patiently
from remit.store.sqlite.health import checkup
from remit.store.sqlite.moment import Moment
from remit.store.upkeep import Concern, Look
from remit.values.errors import StoreError

T = TypeVar("T")


class SqliteUpkeep:
    """An `Upkeep` of the file at `path`; the newest schema is the last script of those `given`."""

    def __init__(
        self,
        path: str,
        now: Callable[[], Moment],
        patience: float,
        given: Sequence[Script] | None = None,
    ) -> None:
        self._path = path
        self._now = now
        self._patience = patience
        self._scripts = scripts("remit.store.sqlite") if given is None else given

    async def versions(self) -> Versions:
        return await self._explained(self._versions)

    async def migrate(self) -> Versions:
        return await self._explained(
            lambda: schema.migrate(self._path, self._patience, self._scripts)
        )

    async def look(self, concern: Concern) -> Look:
        newest = self._scripts[-1].number
        return await asyncio.to_thread(checkup.look, self._path, self._now, concern, newest)

    def _versions(self) -> Versions:
        newest = self._scripts[-1].number
        schema.refuse_what_cannot_work(self._path)
        if not os.path.exists(self._path) or os.path.getsize(self._path) == 0:
            return Versions(at=0, newest=newest)
        with checkup.reading(self._path) as db:
            version = patiently(lambda: schema.version_of(db), self._patience)
        if version is None:
            raise StoreError(reason=schema.FOREIGN.format(path=self._path))
        schema.refuse_newer(version, self._path, newest)
        return Versions(at=version, newest=newest)

    async def _explained(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(work)
        except sqlite3.Error as error:
            raise explained(error, self._path) from error
