"""Tool calls out of pieces that servers number, name and cut each in their own way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from remit.models.request import CallChunk
from remit.models.wire.events import DEEPEST
from remit.models.wire.plain import is_deeper

_PREFIX = re.compile(r"^(?:functions|tools?)[.:/]")
_NUMBER = re.compile(r":\d+$")


class Piece(NamedTuple):
    """One entry of `tool_calls`, with what is missing as None or as no text."""

    place: int | None
    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class _Open:
    number: int
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    named_again: bool = False
    """Whether its name came once more after its arguments were whole."""

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()

    def is_whole(self) -> bool:
        """Whether its arguments are a whole JSON object."""
        return bool(self.pieces) and self.pieces[-1].rstrip()[-1:] == "}" and _is_object(self.text)

    def is_cut(self) -> bool:
        """Whether its arguments have begun and not come to their end."""
        return any(piece.strip() for piece in self.pieces) and not self.is_whole()


class Calls:
    """Collects an answer's calls.

    An index is a hint: servers leave it out, start it anew, count pieces with it, or give every
    call the same. So are ids: they are left out, repeated, or made anew for each piece. What
    decides in the end is that a JSON object that is whole cannot go on.
    """

    def __init__(self, tools: Iterable[str]) -> None:
        self._tools = frozenset(tools)
        self._calls: list[_Open] = []
        self._by_index: dict[int, _Open] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def take(self, entries: Iterable[object]) -> Iterator[CallChunk]:
        """Take the entries of one chunk; a chunk without content for each call that begins."""
        touched: set[int] = set()
        for entry in entries:
            piece = read_piece(entry)
            if piece is None:
                continue
            call = self._find(piece)
            if call is not None and (
                self._is_next(call, piece) or (piece.name and call.number in touched)
            ):
                piece = piece._replace(name=piece.name or call.name)
                call = None
            if call is None:
                call = self._begin(piece)
                yield CallChunk(call.number)
            touched.add(call.number)
            self._add(call, piece)

    def close(self) -> Iterator[CallChunk]:
        """Every call, whole, in the order in which they began."""
        for call in self._calls:
            yield CallChunk(call.number, tool_name(call.name, self._tools), "".join(call.pieces))

    def _find(self, piece: Piece) -> _Open | None:
        """The call that a piece seems to go on with."""
        if not self._calls:
            return None
        last = self._calls[-1]
        of_index = None if piece.place is None else self._by_index.get(piece.place)
        if of_index is not None and piece.id in ("", of_index.id):
            return of_index
        of_id = [call for call in self._calls if piece.id and call.id == piece.id]
        if of_id:
            goes_on = piece.place is None or not piece.name or of_id[-1].is_cut()
            return of_id[-1] if goes_on else None
        if of_index is not None:
            return of_index
        if piece.place is not None and piece.name:
            return None
        if piece.id:
            goes_on = last.is_cut() or bool(piece.arguments and not last.pieces)
            return last if goes_on and not piece.name else None
        return None if piece.place is not None and last.is_whole() else last

    def _is_next(self, call: _Open, piece: Piece) -> bool:
        """Whether a piece that seems to go on with `call` begins another one."""
        starts = piece.arguments.lstrip().startswith("{")
        if not piece.name:
            return call.named_again and starts
        if not call.name:
            return False
        if piece.id and call.id and piece.id != call.id:
            return starts or not piece.arguments.strip() or not call.is_cut()
        if call.is_whole() and piece.arguments.strip():
            same = piece.arguments.strip() == call.text
            return not (same and piece.id and piece.id == call.id)
        return piece.name != call.name and {piece.name, call.name} <= self._tools

    def _begin(self, piece: Piece) -> _Open:
        call = _Open(len(self._calls), piece.id)
        self._calls.append(call)
        if piece.place is not None:
            self._by_index[piece.place] = call
        return call

    def _add(self, call: _Open, piece: Piece) -> None:
        call.id = call.id or piece.id
        if piece.name:
            call.named_again = call.is_whole()
            call.name = self._joined(call.name, piece.name)
        text = piece.arguments
        if text.lstrip().startswith("{") and call.is_whole():
            if text.strip() in ("{}", call.text):
                return
            if call.text == "{}":
                call.pieces.clear()
        if text:
            call.pieces.append(text)

    def _joined(self, name: str, more: str) -> str:
        """A name and the next piece of it, which may be the whole name once more."""
        if name in self._tools or name == more:
            whole = name + more
            return whole if whole in self._tools else name
        if more.startswith(name) and more in self._tools:
            return more
        return name + more


def read_piece(entry: object) -> Piece | None:
    """An entry of `tool_calls`, or None for what is no entry."""
    if not isinstance(entry, dict):
        return None
    function = entry.get("function")
    inside: dict[str, Any] = function if isinstance(function, dict) else entry
    index, id, name = entry.get("index"), entry.get("id"), inside.get("name")
    return Piece(
        index if type(index) is int else None,
        id if isinstance(id, str) else "",
        name if isinstance(name, str) else "",
        _arguments(inside.get("arguments")),
    )


def tool_name(name: str, tools: frozenset[str]) -> str:
    """`name` without what chat templates leave on it, where that makes it a tool's name."""
    if name in tools:
        return name
    bare = name.partition("<")[0].strip() if not name.startswith("<") else name
    bare = _NUMBER.sub("", _PREFIX.sub("", bare))
    return bare if bare in tools else name


def rescued(error: object) -> dict[str, Any] | None:
    """The call that a server refused by its tool's schema, from the error that tells of it.

    It is checked again where every call is, and the model is told what to mend.
    """
    written = error.get("failed_generation") if isinstance(error, dict) else None
    if not isinstance(written, str):
        return None
    try:
        call = json.loads(written)
    except (ValueError, RecursionError):
        return None
    known = isinstance(call, dict) and isinstance(call.get("name"), str)
    known = known and not is_deeper(call, DEEPEST)
    return call if known and isinstance(call.get("arguments"), dict) else None


def _arguments(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
