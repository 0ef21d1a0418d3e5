"""Looks after a schema of a database: its version and its health."""

from __future__ import annotations

from collections.abc import Sequence

from remit.store.migrations import Script, Versions, scripts
from remit.store.postgres import checkup, schema
from remit.store.postgres.address import Address
from remit.store.upkeep import Concern, Look
from remit.values.clock import Clock


class PostgresUpkeep:
    """An `Upkeep` of the schema at `address`; the newest is the last script of those `given`."""

    def __init__(
        self,
        address: Address,
        clock: Clock,
        patience: float,
        given: Sequence[Script] | None = None,
    ) -> None:
        self._address = address
        self._clock = clock
        self._patience = patience
        self._scripts = scripts(__package__) if given is None else given

    async def versions(self) -> Versions:
        return await schema.look(self._address, self._patience, self._scripts)

    async def migrate(self) -> Versions:
        return await schema.migrate(self._address, self._patience, self._scripts)

    async def look(self, concern: Concern) -> Look:
        newest = self._scripts[-1].number
        return await checkup.look(self._address, self._clock, concern, newest)
