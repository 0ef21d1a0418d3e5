"""What can be read of an answer of a type while it streams."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from remit.agent.answer.detector import Detector, is_plain
from remit.agent.answer.malformed import is_call
from remit.agent.answer.typed import FINAL, KEY, Form
from remit.models.request import CallChunk
from remit.values.content import sendable

_STEP = 16
_PART = 8
"""It is read anew once an eighth has been added to it, so that the work grows with its length
alone."""


_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_DIGITS = "0123456789.eE+-"
_OPENING = ("{", "[", '"')


class Shown(NamedTuple):
    """A piece of text, and the value so far, None where nothing new is known of it."""

    text: str
    value: Any


NOTHING = Shown("", None)


class Partial:
    """One answer in JSON on its way to readers: its text, and what can be read of it so far.

    A text inside of it that is a call is shown to nobody, and nothing behind it either; one that
    may become a call is held back.
    """

    __slots__ = (
        "_due",
        "_form",
        "_gone",
        "_leaked",
        "_looked",
        "_names",
        "_pieces",
        "_size",
        "steps",
    )  # fmt: skip

    def __init__(self, form: Form, names: frozenset[str]) -> None:
        self._form, self._names = form, names
        self._pieces: list[str] = []
        self._size, self._due, self._gone, self._looked = 0, 1, 0, 0
        self._leaked = False
        self.steps = 0
        """How many characters were read."""

    def feed(self, piece: str) -> Shown:
        """What may be shown once `piece` has come."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size < self._due or self._leaked:
            return NOTHING
        self._due = self._size + max(_STEP, self._size // _PART)
        return self._show(whole=False)

    def close(self) -> str:
        """The text that may be shown at the end."""
        return "" if self._leaked or self._size == self._gone else self._show(whole=True).text

    def _show(self, *, whole: bool) -> Shown:
        self.steps += self._size
        text = "".join(self._pieces)
        self._pieces = [text]
        try:
            value, held = self._screened(_read(text), text, whole=whole)
        except ValueError:
            # Words pass: they were looked at as any answer's are.
            value, held = None, text.lstrip()[:1] in _OPENING
        except _Leak:
            self._leaked = True
            return NOTHING
        if held:
            return Shown("", value)
        shown, self._gone = text[self._gone :], len(text)
        return Shown(shown, value)

    def _screened(self, value: Any, text: str, *, whole: bool) -> tuple[Any, bool]:
        """The `value` of `text` out of the object around it, without what its last text may not
        show yet and without a last number that may go on; and whether any text is held back. Of a
        `whole` answer nothing is."""
        self._look(text)
        if self._form.wrapped and isinstance(value, dict) and set(value) <= {KEY}:
            value = value.get(KEY)
        around, place, last = _last(value)
        if whole:
            if isinstance(last, str) and is_call(last, self._names):
                raise _Leak
            return value, False
        if text[-1] in _DIGITS and type(last) in (int, float):
            if around is None:
                return None, False
            del around[place]
        if not isinstance(last, str):
            return value, False
        shown = self._shown(last)
        if around is None:
            return shown, shown != last
        around[place] = shown
        return value, shown != last

    def _look(self, text: str) -> None:
        """Look at the strings that have come to their end. Each is looked at once."""
        while (at := text.find('"', self._looked)) >= 0:
            found = _STRING.match(text, at)
            if found is None:
                self._looked = at
                return
            said = found[1] if "\\" not in found[1] else json.loads(found[0], strict=False)
            if is_call(said, self._names):
                raise _Leak
            self._looked = found.end()

    def _shown(self, last: str) -> str:
        """As much of the last text as may be shown, as long as it may go on."""
        if is_plain(last, self._names):
            return last
        detector = Detector(self._names)
        shown = detector.feed(last)
        if detector.leaked:
            raise _Leak
        return shown


class _Leak(Exception):
    """A text in the answer is a call."""


def _read(text: str) -> Any:
    from pydantic_core import from_json

    return from_json(
        sendable(text),
        allow_inf_nan=False,
        cache_strings="none",
        allow_partial="trailing-strings",
    )


def _last(value: Any) -> tuple[Any, Any, Any]:
    """The value that comes last inside of `value`, what it stands in, and where there."""
    around, place = None, None
    while isinstance(value, dict | list) and value:
        around = value
        place = len(value) - 1 if isinstance(value, list) else next(reversed(value))
        value = around[place]
    return around, place, value


class Partials:
    """What may be shown of one attempt at an answer, however the model gives it: as text, or by
    the call of the final tool."""

    __slots__ = ("_called", "_form", "_index", "_names", "_other", "_said")

    def __init__(self, form: Form, names: frozenset[str]) -> None:
        self._form, self._names = form, names
        self._said = Partial(form, names)
        self._called: Partial | None = None
        self._index: int | None = None
        self._other = False

    def say(self, text: str) -> Shown:
        """What may be shown once the answer's text goes on with `text`."""
        return self._said.feed(text)

    def close(self, text: str) -> str:
        """What may be shown at the end, which `text` is."""
        return self.say(text).text + self._said.close()

    def call(self, chunk: CallChunk) -> Shown:
        """What may be shown once a call goes on: the value alone, and beside other calls none.
        What is no text is checked with the whole answer."""
        if type(chunk.name) is not str or type(chunk.arguments) is not str:
            return NOTHING
        if chunk.name and (chunk.name != FINAL or self._called is not None):
            # Some servers give every call of an answer the same index.
            self._other = self._other or chunk.name != FINAL
            self._index = None
        elif chunk.name:
            self._index, self._called = chunk.index, Partial(self._form, self._names)
        if self._other or self._called is None or chunk.index != self._index:
            return NOTHING
        return Shown("", self._called.feed(chunk.arguments).value)
