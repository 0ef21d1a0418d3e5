"""Tells text from calls that a model wrote as text, while it streams.

What is shown and explained passes: code in backticks and fences, quoted lines, and marks that
are spoken of in a sentence. A call is what follows the grammar of one where text stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache, partial

from remit.agent.answer.calls import json_call
from remit.agent.answer.cursor import SPACE, Cursor, Unfinished
from remit.agent.answer.fences import Fence, closes, code_end, fence
from remit.agent.answer.lines import FLOWER, action, flowered, named, recipient, thought, told
from remit.agent.answer.marks import bracket, tag

Rule = Callable[[Cursor], bool]

_AT_LINES = (
    "Thought:",
    "Action:",
    "functools[",
    "print(",
    "default_api.",
    "functions.",
    "call:",
    "Tool",
)
_ANYWHERE = ("to=", "assistant", "commentary")
_WORDS: tuple[Rule, ...] = (thought, action, told, named, recipient)
_BRACKETS: tuple[Rule, ...] = (bracket, json_call)
_WALKING: tuple[Rule, ...] = (*_BRACKETS, action)
_OPENING = "\u201c\u201e\u2018\u00ab"
"""Marks that open a quotation, and close none."""
_CODE = 4
"""So many blanks before a line make it code."""
_SHORT = 64
_SPACES = " \t\ufeff"


class Detector:
    """One answer's text, on its way to those who read along.

    `feed` and `close` give what may be shown: in order, byte for byte, and never a part of a
    mark. Once `leaked` is true nothing more is shown. What is decided does not depend on how the
    text is cut, and the work grows with its length alone: what is withheld is looked at again
    only when a quarter has been added to it.
    """

    __slots__ = (
        "_begins",
        "_due",
        "_fence",
        "_fresh",
        "_last",
        "_names",
        "_passed",
        "_pieces",
        "_quoted",
        "_search",
        "_size",
        "_start",
        "_walked",
        "gone",
        "leaked",
        "steps",
    )  # fmt: skip

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._search, self._begins = _patterns(self._names)
        self.leaked = False
        self.steps = 0
        """How many characters were looked at."""
        self._pieces: list[str] = []
        self._size = self._due = 0
        self.gone = 0
        """How many characters may be shown."""
        self._walked = 0
        self._last = ""
        self._start = self._fresh = True
        self._quoted = False
        self._fence: Fence | None = None
        self._passed: set[str] = set()

    def feed(self, piece: str) -> str:
        """What may be shown once `piece` has come."""
        if not self._size and not self._start and self._search(piece) is None:
            if piece:
                self.gone += len(piece)
                self._last = piece[-1]
            return piece
        if self.leaked:
            return ""
        self._pieces.append(piece)
        self._size += len(piece)
        return "" if self._size < self._due else self._decided(whole=False)

    def close(self) -> str:
        """What may be shown at the answer's end."""
        return "" if self.leaked or not self._size else self._decided(whole=True)

    def _decided(self, *, whole: bool) -> str:
        text = "".join(self._pieces)
        at = 0
        try:
            while at < len(text) and not self.leaked:
                at = self._next(text, at, whole)
        except _Withheld as withheld:
            at = withheld.at
        self._pieces = [text[at:]] if at < len(text) and not self.leaked else []
        self._size = len(text) - at if self._pieces else 0
        self._due = self._size + self._size // 4 if self._size > _SHORT else 0
        self.gone += at
        if self.leaked:
            # The short way of `feed` is shut.
            self._start = True
        elif at:
            self._last = text[at - 1]
        return text[:at]

    def _next(self, text: str, at: int, whole: bool) -> int:
        """Where to go on, past what is decided from `at`."""
        c = Cursor(text, at, self._names, whole=whole)
        c.fresh = self._fresh
        try:
            if self._start:
                return self._begin(c)
            if self._quoted or self._fence:
                return self._end_line(text, at)
            found = self._search(text, at)
            if found is None:
                self.steps += len(text) - at
                return len(text)
            at = found.start()
            self.steps += at - c.at
            return self._middle(c, at)
        except Unfinished:
            raise _Withheld(at) from None
        finally:
            self.steps += max(c.at - at, 1)

    def _end_line(self, text: str, at: int) -> int:
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        self._start, self._quoted = True, False
        return end + 1

    def _begin(self, c: Cursor) -> int:
        """Go on from the start of a line."""
        start = c.at
        if self._fence:
            closed = closes(self._fence, c)
            self._start = False
            if closed:
                self._fence, self._quoted = None, True
            return start
        indent = c.run(SPACE)
        first = c.peek()
        if not first or first == "\n":
            return c.at + len(first)
        if len(indent.expandtabs(_CODE)) >= _CODE and not c.fresh:
            self._leave_start(quoted=True)
            return c.at
        opened = self._fenced(c)
        if opened is not None:
            return opened
        c.line = True
        if self._begins(c.text, c.at) and self._is_call(c):
            self.leaked = True
            return start
        self._leave_start(quoted=first == ">")
        # Marks that may stand anywhere were looked at, here, as well.
        return c.at if first in "`~" else c.at + 1

    def _fenced(self, c: Cursor) -> int | None:
        """Where to go on behind a fence's first line."""
        start = c.at
        found = fence(c)
        behind, c.at = c.at, start
        if found is None:
            return None
        self._fence, self.leaked = found
        self._start, self._fresh = True, False
        return start if self.leaked else behind

    def _leave_start(self, *, quoted: bool) -> None:
        self._start, self._fresh, self._quoted = False, False, quoted

    def _middle(self, c: Cursor, at: int) -> int:
        """Go on from what was found in the middle of a line."""
        c.at = at
        found = c.text[at]
        if found == "\n":
            self._start = True
            return at + 1
        if found == "`":
            return code_end(c)
        before = c.text[at - 1] if at else self._last
        joined = found.isalnum() and (before.isalnum() or before == "_")
        c.glued = before.isascii() and before.isalnum()
        c.spaced = before in (" ", "\t")
        c.quoted = bool(before) and before in _OPENING
        if not joined and self._is_call(c):
            self.leaked = True
            return at
        return at + 1

    def _is_call(self, c: Cursor) -> bool:
        at, fresh, found = c.at, c.fresh, c.text[c.at]
        walked = self._walked
        for rule in self._rules(found, c):
            c.at, c.depth, c.fresh = at, 0, fresh
            if rule(c):
                return True
            if rule in _WALKING:
                # What stands inside of it was looked at, and is not looked at again.
                walked = max(walked, self.gone + c.at)
            self.steps += c.at - at
        c.at, self._walked = at, walked
        return False

    def _rules(self, found: str, c: Cursor) -> tuple[Rule, ...]:
        if found == "<":
            return (partial(tag, passed=self._passed),)
        c.line = c.line and self.gone + c.at >= self._walked
        if found == FLOWER:
            return (flowered,)
        if found == "[":
            if c.quoted:
                return ()
            return _BRACKETS if c.line else _BRACKETS[:1]
        if found == "{":
            return _BRACKETS[1:] if c.line else ()
        return _WORDS if c.line else (recipient,)


class _Withheld(Exception):
    """What stands at `at` is not decided yet."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


def is_plain(text: str, names: frozenset[str]) -> bool:
    """Whether nothing in `text` begins a call of one of these tools, however it goes on: told
    without looking at more of it than where one might begin. False tells nothing."""
    search, begins = _patterns(names)
    return search(text) is None and begins(text.lstrip(_SPACES)) is None


@lru_cache(64)
def _patterns(names: frozenset[str]) -> tuple[Callable[..., re.Match[str] | None], ...]:
    """What may begin a call or end a line in the middle of one, and what may at its start."""
    anywhere = "|".join(map(_begun, _ANYWHERE))
    lines = (*_AT_LINES, *_ANYWHERE, *(f">>>{name}" for name in names), *names)
    at_lines = "|".join(map(_begun, lines))
    middle = re.compile(rf"[<\[`\n{FLOWER}]|\b(?=[{_initials(_ANYWHERE)}])(?:{anywhere})")
    return middle.search, re.compile(rf"[<\[{{{FLOWER}]|(?:{at_lines})").match


def _begun(word: str) -> str:
    """A pattern of `word`, or of as much of it as a text may end with."""
    pattern = ""
    for letter in reversed(word[1:]):
        pattern = rf"(?:\Z|{re.escape(letter)}{pattern})"
    return re.escape(word[0]) + pattern


def _initials(words: Iterable[str]) -> str:
    return "".join(sorted({word[0] for word in words}))
