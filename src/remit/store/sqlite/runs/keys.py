"""Start keys: what was started once is not started again."""

from __future__ import annotations

import sqlite3

from remit.store.records import Existing, NewRun
from remit.store.sqlite.moment import Moment
from remit.store.sqlite.statements import SQL, pack


def taken(db: sqlite3.Connection, new: NewRun) -> Existing | None:
    """The run that was made for the start key of `new`, if there is one."""
    if new.key is None:
        return None
    row = db.execute(SQL["start_key"], {"key": pack(new.key.key)}).fetchone()
    return None if row is None else Existing(row[0], other=row[1] != new.key.digest)


def keep(db: sqlite3.Connection, now: Moment, new: NewRun) -> None:
    """Note for which run the start key of `new` was used."""
    if new.key is not None:
        used = {
            "key": pack(new.key.key),
            "run": new.id,
            "digest": new.key.digest,
            "wall": now.wall,
        }
        db.execute(SQL["make_start_key"], used)
