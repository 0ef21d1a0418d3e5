"""Renewing a lease without an event loop."""

from __future__ import annotations

import select
import time
from typing import Any

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from remit.store.postgres.address import SETTINGS, Address
from remit.store.postgres.faults import explained
from remit.store.postgres.statements import Call, Queries

_LONGEST_ANSWER = 10.0


class Heart:
    """`Store.heart`, with a connection of its own that is opened when it is first needed."""

    def __init__(self, address: Address, sql: Queries) -> None:
        self._address = address
        self._sql = sql
        self._db: psycopg.Connection[Any] | None = None

    def beat(self, worker: str, lasts: float) -> bool:
        """Whether the worker's lease was alive and is renewed. Raises StoreError."""
        call = self._sql("beat", worker=worker, lasts=lasts)
        try:
            return self._asked(call)
        except psycopg.Error:
            self.close()
        # The connection may have been gone for long; a lease may be renewed twice.
        try:
            return self._asked(call)
        except psycopg.Error as error:
            self.close()
            raise explained(error, self._address.place) from error

    def close(self) -> None:
        """Close the connection."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _asked(self, call: Call) -> bool:
        if self._db is None:
            self._db = psycopg.connect(self._address.conninfo, autocommit=True)
            settings = self._address.settings(self._db.info.server_version)
            self._db.execute(SETTINGS, settings)
        pgconn = self._db.pgconn
        statement, values = call
        pgconn.send_query_params(statement.text, values, None, statement.formats)
        result = _last_result(self._db)
        if result.status != ExecStatus.TUPLES_OK:
            raise error_from_result(result)
        return result.ntuples > 0


def _last_result(db: psycopg.Connection[Any]) -> PGresult:
    """What the server answers; the driver's own wait has no end where the server is frozen."""
    pgconn, last = db.pgconn, None
    deadline = time.monotonic() + _LONGEST_ANSWER
    while True:
        pgconn.flush()
        while not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:
                assert last is not None
                return last
            last = result
        rest = deadline - time.monotonic()
        if rest <= 0 or not select.select([pgconn.socket], [], [], rest)[0]:
            raise psycopg.OperationalError(f"no answer for {_LONGEST_ANSWER:.0f} s")
        pgconn.consume_input()
