"""A call's effect and its record, as one commit on a connection of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format, TransactionStatus
from psycopg.rows import tuple_row

from remit.store.postgres import journal
from remit.store.postgres.address import Address
from remit.store.postgres.faults import BrokenError, explained, may_come_back
from remit.store.postgres.lane import Plan
from remit.store.postgres.statements import Call, Queries
from remit.store.postgres.wire import OPENING, Rows
from remit.store.records import Append, Appended, Fenced, News
from remit.values.errors import EffectError

Connection = psycopg.AsyncConnection[Any]
Effect = Callable[[Connection], Awaitable[Sequence[bytes]]]
Outcome = Appended | Fenced | News

_ROOM = 8
_PAUSE = 0.25
_MARK = "remit_before_the_work"


class _RaisedError(Exception):
    """The work raised `error`; the transaction goes with it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


class _MissedError(Exception):
    """The run was moved on meanwhile; the transaction goes with it."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class Effects:
    """Carries out effects, a few at a time."""

    def __init__(self, address: Address, sql: Queries, patience: float) -> None:
        self._address, self._sql, self._patience = address, sql, patience
        self._room = asyncio.Semaphore(_ROOM)

    async def transact(self, item: Append, work: Effect) -> Outcome:
        """`Transacting.transact`."""
        async with self._room:
            connection = await self._connect()
            try:
                return await self._transact(connection, item, work)
            except _MissedError as missed:
                return missed.outcome
            except _RaisedError as raised:
                error = raised.error
            except psycopg.Error as failed:
                gone = BrokenError(" ".join(str(failed).split())) if connection.closed else failed
                raise explained(gone, self._address.place) from failed
            finally:
                await connection.close()
        # Outside, so that it is raised as it was.
        raise error

    async def stop(self) -> None:
        """Wait for what is under way, and begin nothing more."""
        for _ in range(_ROOM):
            await self._room.acquire()

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience
        while True:
            try:
                async with asyncio.timeout(OPENING):
                    connection = await psycopg.AsyncConnection.connect(self._address.conninfo)
                await connection.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)
                return connection
            except (psycopg.Error, TimeoutError) as error:
                if not may_come_back(error) or loop.time() >= deadline:
                    raise explained(error, self._address.place) from error
            await asyncio.sleep(_PAUSE)

    async def _transact(self, connection: Connection, item: Append, work: Effect) -> Outcome:
        # No lock of ours is kept while the work goes on: who answers or cancels the run would
        # wait for it, and all writes of their process with them. What the fence promised may be
        # past then, hence it is compared once more with the entries.
        async with connection.transaction():
            begun, path = await self._enter(connection)
            refused: Outcome | None
            (refused,) = await self._carried_out(connection, journal.refusal(self._sql, item))
            await _rows(connection, self._sql("leave", path=path))
            if refused is not None:
                missed: Outcome = refused
                return missed
            await _execute(connection, f"SAVEPOINT {_MARK}")
            try:
                bodies = await _done(connection, work)
            except _RaisedError as raised:
                is_cancel = isinstance(raised.error, asyncio.CancelledError)
                if is_cancel or await _is_undone(connection):
                    raise
                raise _ended() from raised.error
            await self._return_to(connection, begun)
            whole = msgspec.structs.replace(item, entries=(*item.entries, *bodies))
            plan = journal.append(self._sql, [[whole]])
            ((outcome,),) = await self._carried_out(connection, plan)
            if not isinstance(outcome, Appended):
                raise _MissedError(outcome)
            stored: Appended = outcome
        return stored

    async def _enter(self, connection: Connection) -> Sequence[str]:
        """The name of the transaction, and the path that it searched until now."""
        ((begun, path, *_),) = await _rows(
            connection, self._sql("enter", path=self._address.schema)
        )
        return begun, path

    async def _return_to(self, connection: Connection, begun: str) -> None:
        status = connection.info.transaction_status
        if status == TransactionStatus.INERROR and await _is_undone(connection):
            raise EffectError(
                reason="the work went on after a statement of its transaction had failed, and"
                " nothing of it was stored: let it end with the error, or put what may fail into"
                " `async with connection.transaction()`."
            )
        if status != TransactionStatus.INTRANS or (await self._enter(connection))[0] != begun:
            raise _ended()

    async def _carried_out(self, connection: Connection, plan: Plan) -> Sequence[Any]:
        return plan.meaning([await _rows(connection, call) for call in plan.calls])


async def _done(connection: Connection, work: Effect) -> Sequence[bytes]:
    try:
        return tuple(await work(connection))
    # Whatever it is, it must reach the caller as it is, and not as a failure of the store.
    except BaseException as error:
        raise _RaisedError(error) from error


async def _is_undone(connection: Connection) -> bool:
    """Undo what the work did; False where that cannot be told, such as after a COMMIT of its own.
    The transaction that another statement began then knows nothing of ours."""
    try:
        await _execute(connection, f"ROLLBACK TO SAVEPOINT {_MARK}")
    except psycopg.Error:
        return False
    return True


async def _execute(connection: Connection, sql: str) -> None:
    async with psycopg.AsyncRawCursor(connection, row_factory=tuple_row) as cursor:
        await cursor.execute(sql.encode())


def _ended() -> EffectError:
    return EffectError(
        reason="the work ended the transaction in which its effect was to be recorded, and the"
        " effect may be stored without its record: leave out COMMIT and ROLLBACK, the store"
        " commits.",
        may_stay=True,
    )


class _AsText:
    """A value as it travels in a text."""

    __slots__ = ("value",)

    def __init__(self, value: bytes) -> None:
        self.value = value


class _AsBinary(_AsText):
    """A value as it travels in PostgreSQL's binary form."""


class _TextDumper(Dumper):
    format = Format.TEXT

    def dump(self, obj: _AsText) -> bytes:
        return obj.value


class _BinaryDumper(_TextDumper):
    format = Format.BINARY


_FORMS = (_AsText, _AsBinary)


async def _rows(connection: Connection, call: Call) -> Rows:
    """What the driver's own cursor gets for a call."""
    statement, values = call
    async with psycopg.AsyncRawCursor(connection, row_factory=tuple_row) as cursor:
        cursor.adapters.register_dumper(_AsText, _TextDumper)
        cursor.adapters.register_dumper(_AsBinary, _BinaryDumper)
        travelling = [
            None if value is None else _FORMS[format](value)
            for value, format in zip(values, statement.formats, strict=True)
        ]
        await cursor.execute(statement.text, travelling)
        return await cursor.fetchall() if cursor.description else []
