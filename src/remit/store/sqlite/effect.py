"""A call's effect and its record, as one commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from remit.store.records import Append, Appended, Fenced, News
from remit.store.sqlite import journal
from remit.store.sqlite.lent import Lent
from remit.store.sqlite.moment import Moment
from remit.values.errors import EffectError

_TELLING = ("_info", "_xinfo", "_list", "_check", "defer_foreign_keys")
"""How the names of pragmas end that change nothing of the connection when given something."""
Effect = Callable[[sqlite3.Connection], Sequence[bytes]]


class Raised(Exception):
    """What was given to `transact` raised `error`; the transaction goes with it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def transact(
    db: sqlite3.Connection, now: Moment, item: Append, work: Effect
) -> Appended | Fenced | News:
    """`Transacting.transact`, in a transaction that nothing else is in. Raises Raised."""
    refused = journal.refusal(db, item)
    if refused is not None:
        return refused
    assert isinstance(db, Lent)
    with _guarded(db):
        bodies = _bodies(db, work)
    (outcome,) = journal.append(
        db, now, [msgspec.structs.replace(item, entries=(*item.entries, *bodies))]
    )
    if not isinstance(outcome, Appended):
        raise EffectError(
            reason="the work moved its own run on, and nothing of it was stored: leave the"
            " store's own tables alone."
        )
    return outcome


def _bodies(db: sqlite3.Connection, work: Effect) -> Sequence[bytes]:
    try:
        return tuple(work(db))
    # Whatever it is, it must reach the caller, and must not end the thread that writes.
    except BaseException as error:
        raise Raised(error) from error


@contextmanager
def _guarded(db: Lent) -> Iterator[None]:
    """Refuse what ends a transaction or the connection, and what would change it for those
    after; notice where the transaction was lost."""
    attempts: list[str | None] = []

    def allow(action: int, name: str | None, setting: str | None, *_: Any) -> int:
        if action == sqlite3.SQLITE_PRAGMA:
            is_told = setting is None or (name or "").lower().endswith(_TELLING)
            return sqlite3.SQLITE_OK if is_told else sqlite3.SQLITE_DENY
        if action != sqlite3.SQLITE_TRANSACTION:
            return sqlite3.SQLITE_OK
        attempts.append(name)
        return sqlite3.SQLITE_DENY

    db.set_authorizer(allow)
    try:
        with db.out(attempts):
            yield
    except Raised as raised:
        if attempts:
            raise _trespass(attempts) from raised.error
        raise
    finally:
        db.set_authorizer(None)
        db.row_factory, db.text_factory = None, str
    if attempts:
        raise _trespass(attempts)
    if not db.in_transaction:
        raise EffectError(
            reason="SQLite rolled back the transaction in which the effect was to be recorded,"
            " and the work went on: let the work end with the error that it was told."
        )


def _trespass(attempts: Sequence[str | None]) -> EffectError:
    return EffectError(
        reason=f"the work asked for {attempts[0]} inside the store's transaction, and nothing of"
        " it was stored: leave out commit, rollback, close and `with connection`, since the store"
        " commits."
    )
