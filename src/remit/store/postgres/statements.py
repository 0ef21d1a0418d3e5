"""The named statements of the `.sql` files, and how values travel in them."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from remit.store import sql

_PARAMETER = re.compile(r"(?<!:):([a-z]+)\b(?:::([a-z0-9]+(?:\[\])?))?")
_THE_TIME = "clock_timestamp()"
_TEXT, _BINARY = 0, 1
_OID_OF_TEXT, _OID_OF_BYTEA = 25, 17
_LONGEST_NAME = 63


class Statement(NamedTuple):
    """A statement as the server prepares it; `encode` and `formats` are its parameters'."""

    name: bytes
    text: bytes
    parameters: tuple[str, ...]
    encode: tuple[Callable[[Any], bytes | None], ...]
    formats: list[int]


class Call(NamedTuple):
    """A statement with its values, as they travel."""

    statement: Statement
    values: list[bytes | None]


def statement(name: str, text: str) -> Statement:
    """The statement whose parameters `text` writes as `:name::type`, the type at least once.

    Raises ValueError where a type is missing or none that travels here, and for a long name:
    the server tells statements apart by 63 bytes.
    """
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"the name {name!r} is too long")
    types: dict[str, str] = {}
    for parameter, type in _PARAMETER.findall(text):
        types[parameter] = type or types.get(parameter, "")
    for parameter, type in types.items():
        if type not in _TRAVELS:
            raise ValueError(f"parameter {parameter} of {name!r} needs one of the known types")
    numbers = {parameter: number for number, parameter in enumerate(types, 1)}

    def numbered(found: re.Match[str]) -> str:
        return f"${numbers[found[1]]}::{types[found[1]]}"

    travels = [_TRAVELS[type] for type in types.values()]
    return Statement(
        name.encode(),
        _PARAMETER.sub(numbered, text).encode(),
        tuple(types),
        tuple(encode for encode, _ in travels),
        [format for _, format in travels],
    )


class Queries:
    """Makes calls of the named statements.

    Their time is the database's. Only a test gives `now`, which is then asked at every call.
    """

    def __init__(self, now: Callable[[], datetime] | None = None) -> None:
        self._now = now
        self._made: dict[str, Statement] = {}

    def __call__(self, name: str, /, **values: Any) -> Call:
        """A call of the statement `name`; raises ValueError for a text that cannot travel."""
        made = self._made.get(name) or self._make(name, SQL[name])
        if self._now is not None:
            values["now"] = self._now()
        return Call(
            made,
            [
                encode(values[parameter])
                for parameter, encode in zip(made.parameters, made.encode, strict=True)
            ],
        )

    def joined(self, name: str, parts: Sequence[str], /, **values: Any) -> Call:
        """A call of the statement `name` with its `parts`, each of which is `name_part`."""
        whole = " ".join([name, *parts])
        if whole not in self._made:
            texts = [SQL[name], *(SQL[f"{name}_{part}"] for part in parts)]
            self._make(whole, "\n".join(texts))
        return self(whole, **values)

    def _make(self, name: str, text: str) -> Statement:
        if self._now is not None:
            text = text.replace(_THE_TIME, ":now::timestamptz")
        made = self._made[name] = statement(name, text)
        return made


def pack(text: str) -> bytes:
    """A text that came from outside, as bytes: it may hold what PostgreSQL's texts cannot."""
    return text.encode("utf-8", "surrogatepass")


def unpack(data: bytes) -> str:
    """The text that `pack` was given."""
    return data.decode("utf-8", "surrogatepass")


def _text(value: str | None) -> bytes | None:
    return None if value is None else value.encode()


def _bytes(value: bytes | None) -> bytes | None:
    return value


def _number(value: float | None) -> bytes | None:
    return None if value is None else repr(value).encode()


def _truth(value: bool) -> bytes:
    return b"t" if value else b"f"


def _time(value: datetime) -> bytes:
    return value.isoformat().encode()


def _numbers(values: Sequence[int | None]) -> bytes:
    return b"{%s}" % ",".join("NULL" if value is None else str(value) for value in values).encode()


def _texts(values: Sequence[str | None]) -> bytes:
    return _array(_OID_OF_TEXT, [_text(value) for value in values])


def _many_bytes(values: Sequence[bytes | None]) -> bytes:
    return _array(_OID_OF_BYTEA, values)


_HEADER = struct.Struct("!iiiii")
_LENGTH = struct.Struct("!i")
_NULL = _LENGTH.pack(-1)
_EMPTY = struct.Struct("!iii")


def _array(oid: int, values: Sequence[bytes | None]) -> bytes:
    """One dimension, from 1, in PostgreSQL's binary form of an array."""
    if not values:
        return _EMPTY.pack(0, 0, oid)
    parts = [_HEADER.pack(1, None in values, oid, len(values), 1)]
    for value in values:
        if value is None:
            parts.append(_NULL)
        else:
            parts.append(_LENGTH.pack(len(value)))
            parts.append(value)
    return b"".join(parts)


_TRAVELS: dict[str, tuple[Callable[[Any], bytes | None], int]] = {
    "text": (_text, _BINARY),
    "bytea": (_bytes, _BINARY),
    "int": (_number, _TEXT),
    "int8": (_number, _TEXT),
    "float8": (_number, _TEXT),
    "bool": (_truth, _TEXT),
    "timestamptz": (_time, _TEXT),
    "int[]": (_numbers, _TEXT),
    "int8[]": (_numbers, _TEXT),
    "text[]": (_texts, _BINARY),
    "bytea[]": (_many_bytes, _BINARY),
}

SQL: Mapping[str, str] = {
    name: text
    for file in ("queries.sql", "money.sql", "retention.sql")
    for name, text in sql.load("remit.store.postgres", file).items()
}
