"""From an answer's pieces to the whole answer."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import msgspec

from remit.models.request import (
    CallChunk,
    Chunk,
    ReasoningChunk,
    Stop,
    StopChunk,
    TextChunk,
    UsageChunk,
)
from remit.models.wire.plain import is_deeper
from remit.values.content import Reasoning, Text, well_formed
from remit.values.errors import ConfigError
from remit.values.usage import Usage

_DEEPEST = 100
_PIECES = (
    "yield TextChunk(text), ReasoningChunk(text), CallChunk(index, name, arguments as JSON text),"
    " UsageChunk(Usage(…)) and StopChunk('end', 'calls', 'length', 'refusal' or 'pause')"
)
_SIGNS = {
    "": re.compile(r'["{}\[\]]'),
    '"': re.compile(r'["\\]'),
    "\\": re.compile(r".", re.DOTALL),
}
"""What ends a stretch of JSON: outside of strings, inside one, and behind a backslash there."""
_decode = msgspec.json.Decoder().decode


class _Ending(msgspec.Struct, array_like=True):
    stop: Stop
    usage: Usage | None


class RawCall(NamedTuple):
    """A call as the model wrote it. `malformed` is the text of arguments that cannot be read."""

    name: str
    arguments: dict[str, Any]
    malformed: str | None = None
    signature: str | None = None


@dataclass(slots=True)
class Assembly:
    """Collects one answer. `parts` holds its parts in the order in which they began."""

    parts: list[Text | Reasoning | RawCall] = field(default_factory=list)
    usage: Usage | None = None
    stop: Stop = "end"
    _open: list[_Open] = field(default_factory=list)
    _calls: dict[int, _Open] = field(default_factory=dict)

    @property
    def begun(self) -> bool:
        """Whether anything has come."""
        return bool(self._open) or self.usage is not None

    @property
    def told(self) -> bool:
        """Whether a token has come: of text, of reasoning, or of a call."""
        return any(part.kind == "call" or any(part.pieces) for part in self._open)

    def add(self, chunk: Chunk) -> None:
        """Take the next piece."""
        if type(chunk) is TextChunk and self._open and self._open[-1].kind == "text":
            # Most pieces are of a text that has begun.
            self._open[-1].pieces.append(chunk.text)
            return
        match chunk:
            case TextChunk(text):
                self._last("text").pieces.append(text)
            case ReasoningChunk(text, signature, form):
                part = self._reasoning(signature, form)
                part.pieces.append(text)
                part.signature = signature or part.signature
            case CallChunk(index, name, arguments, signature):
                part = self._call(index, name)
                if name and part.name:
                    part.more.append(name)
                else:
                    part.name = part.name or name
                part.pieces.append(arguments)
                part.signature = signature or part.signature
            case UsageChunk(usage):
                self.usage = usage
            case StopChunk(stop):
                self.stop = stop
            case _:
                # A model of the user's own may yield anything.
                raise ConfigError(f"a model yielded {chunk!r:.200}: {_PIECES}")

    def close(self) -> None:
        """Build `parts`: empty text and reasoning leave no part. Raises ConfigError for pieces
        whose fields are not what they must be."""
        try:
            self._close()
            msgspec.convert(msgspec.to_builtins((self.stop, self.usage)), _Ending)
        except (TypeError, AttributeError, msgspec.ValidationError) as error:
            raise ConfigError(
                f"a model yielded a piece with a wrong field ({error}): {_PIECES}"
            ) from error

    def _close(self) -> None:
        for part in self._open:
            text = well_formed("".join(part.pieces))
            if part.signature is not None or part.form:
                _check_texts(part.signature or "", part.form)
            if part.kind == "call":
                if part.more:
                    part.name += "".join(part.more)
                self.parts.append(read_call(part.name, text, part.signature))
            elif part.kind == "text" and text:
                self.parts.append(Text(text))
            elif part.kind == "reasoning" and (text or part.signature):
                self.parts.append(Reasoning(text, part.signature, form=part.form))

    def _last(self, kind: str) -> _Open:
        if not self._open or self._open[-1].kind != kind:
            self._open.append(_Open(kind))
        return self._open[-1]

    def _reasoning(self, signature: str | None, form: str) -> _Open:
        last = self._last("reasoning")
        if last.pieces and (last.form != form or last.signature not in (None, signature)):
            last = _Open("reasoning")
            self._open.append(last)
        last.form = form
        return last

    def _call(self, index: int, name: str) -> _Open:
        # Some servers give every call of an answer the same index.
        if index not in self._calls or (name and self._calls[index].is_whole()):
            self._calls[index] = _Open("call")
            self._open.append(self._calls[index])
        return self._calls[index]


@dataclass(slots=True)
class _Open:
    kind: str
    name: str = ""
    more: list[str] = field(default_factory=list)
    """What else came of the name."""
    signature: str | None = None
    form: str = ""
    pieces: list[str] = field(default_factory=list)
    _looked: int = 0
    _depth: int = 0
    _quoted: str = ""
    _ended: bool = False
    _whole: bool = False

    def is_whole(self) -> bool:
        """Whether a call's arguments have come to their end. However often it is asked, each
        piece is looked at once."""
        news, self._looked = "".join(self.pieces[self._looked :]), len(self.pieces)
        if self._ended:
            self._whole = self._whole and not news.strip()
        elif self._ends(news):
            self._ended = True
            text = "".join(self.pieces).strip()
            self._whole = text[0] == "{" and read_call("", text).malformed is None
        return self._whole

    def _ends(self, text: str) -> bool:
        """Whether the outermost bracket is closed in `text`, which is what came next."""
        at = 0
        while (found := _SIGNS[self._quoted].search(text, at)) is not None:
            at, sign = found.end(), found[0]
            if self._quoted == "\\":
                self._quoted = '"'
            elif self._quoted:
                self._quoted = "" if sign == '"' else "\\"
            elif sign == '"':
                self._quoted = sign
            else:
                self._depth += 1 if sign in "{[" else -1
                if self._depth <= 0:
                    return True
        return False


def _check_texts(*fields: object) -> None:
    if not all(isinstance(field, str) for field in fields):
        raise TypeError("a signature and a form are text")


def read_call(name: str, text: str, signature: str | None = None) -> RawCall:
    """A call whose arguments came as JSON `text`; none at all are no arguments."""
    if not text.strip():
        return RawCall(name, {}, None, signature)
    try:
        arguments = _read(text)
    except (ValueError, RecursionError):
        return RawCall(name, {}, text, signature)
    if not isinstance(arguments, dict):
        return RawCall(name, {}, text, signature)
    if text.count("{") + text.count("[") > _DEEPEST and is_deeper(arguments, _DEEPEST):
        return RawCall(name, {}, text, signature)
    return RawCall(name, arguments, None, signature)


def _read(text: str) -> object:
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeError):
        # The standard library keeps lone surrogates, which msgspec refuses.
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    # The store would keep null for it, and a repeated call would then have other arguments.
    return number if math.isfinite(number) else _refuse(digits)
