"""The named statements of the `.sql` files, and how texts travel in them."""

from __future__ import annotations

import re

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


def pack(text: str) -> bytes:
    """A text that came from outside, as bytes: it may hold what SQLite's texts cannot."""
    return text.encode("utf-8", "surrogatepass")


def unpack(data: bytes) -> str:
    """The text that `pack` was given."""
    return data.decode("utf-8", "surrogatepass")
