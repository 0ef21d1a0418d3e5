"""The named statements of the `.sql` files, and how texts travel in them."""

from __future__ import annotations

import re
from functools import cache

from remit.store import sql

SQL = {
    name: statement
    for file in ("queries.sql", "money.sql", "retention.sql")
    for name, statement in sql.load("remit.store.sqlite", file).items()
}


_PARAMETER = re.compile(r":(\w+)")


def positional(name: str, *parameters: str) -> str:
    """The statement `name`, whose parameters stand in this order, each once, to be given as a
    tuple: finding each by its name takes longer than the statement itself."""
    found = tuple(_PARAMETER.findall(SQL[name]))
    if found != parameters:
        raise ValueError(f"statement {name!r} takes {found}, not {parameters}")
    return _PARAMETER.sub("?", SQL[name])


_ROW = re.compile(r"\(:\w+(?:, :\w+)+\)")


@cache
def many(name: str, rows: int) -> str:
    """The statement `name` with its row of values so many times, for all their values in one
    list, in the order in which the row names them."""
    (row,) = _ROW.findall(SQL[name])
    marks = _PARAMETER.sub("?", row)
    return SQL[name].replace(row, ", ".join([marks] * rows))


def pack(text: str) -> bytes:
    """A text that came from outside, as bytes: it may hold what SQLite's texts cannot."""
    return text.encode("utf-8", "surrogatepass")


def unpack(data: bytes) -> str:
    """The text that `pack` was given."""
    return data.decode("utf-8", "surrogatepass")
