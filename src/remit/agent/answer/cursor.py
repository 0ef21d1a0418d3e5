"""Reading a text that may not have come to its end."""

from __future__ import annotations

import re

SPACE = re.compile("[ \t\ufeff]*")
BLANK = re.compile("[\\s\ufeff]*")
WORD = re.compile(r"[\w.-]*")
LINE = re.compile(r"[^\n]*")
_PLAIN = re.compile(r"[^\"'()\[\]{}\\]*")
_IN_STRING = {quote: re.compile(rf"[^{quote}\\]*") for quote in "\"'"}
_CLOSERS = {"(": ")", "[": "]", "{": "}"}
_PREFIXES = ("functions.", "default_api.", "function.", "tools.")


class Unfinished(Exception):
    """The text so far does not tell yet."""


class Cursor:
    """A place in a text. Whatever asks for what has not come yet raises Unfinished, so that an
    answer that was once given is the same however the text goes on.

    `whole` says that nothing comes any more. `line` says that only blanks stand before it in its
    line, `fresh` that only blanks stand before it at all. `glued`
    says that a letter stands right before it, `spaced` that a blank does, and `quoted` that a
    quotation opens there. `names` are the run's tools.
    """

    __slots__ = (
        "at",
        "depth",
        "fresh",
        "glued",
        "line",
        "names",
        "quoted",
        "spaced",
        "text",
        "whole",
    )  # fmt: skip

    def __init__(self, text: str, at: int, names: frozenset[str], *, whole: bool) -> None:
        self.text, self.at, self.names, self.whole = text, at, names, whole
        self.line = self.fresh = self.glued = self.spaced = self.quoted = False
        self.depth = 0

    def peek(self) -> str:
        """The next character; empty at the end."""
        if self.at < len(self.text):
            return self.text[self.at]
        if self.whole:
            return ""
        raise Unfinished

    def next(self) -> str:
        """The next character, which is passed."""
        found = self.peek()
        self.at += len(found)
        return found

    def take(self, literal: str) -> bool:
        """Pass `literal` if it stands here."""
        end = self.at + len(literal)
        if self.text.startswith(literal, self.at):
            self.at = end
            return True
        if not self.whole and end > len(self.text) and literal.startswith(self.text[self.at :]):
            raise Unfinished
        return False

    def run(self, pattern: re.Pattern[str], most: int | None = None) -> str:
        """Pass all that `pattern`, a repeated class, takes, `most` characters of it at most."""
        limit = len(self.text) if most is None else min(len(self.text), self.at + most)
        found = pattern.match(self.text, self.at, limit)
        assert found is not None
        if found.end() == len(self.text) and limit == len(self.text) and not self.whole:
            raise Unfinished
        self.at = found.end()
        return found[0]

    def knows(self, name: str) -> bool:
        """Whether the run has a tool of this name, which may stand in quotes or a namespace."""
        name = name.strip(" \t\"'")
        if name in self.names:
            return True
        return any(name.removeprefix(prefix) in self.names for prefix in _PREFIXES)

    def string(self) -> str | None:
        """Pass the quoted string that begins here; None if the text ends in it."""
        quote = self.next()
        start = self.at
        while True:
            self.run(_IN_STRING[quote])
            ended = self.next()
            if ended == quote:
                return self.text[start : self.at - 1]
            if not ended or not self.next():
                return None

    def balanced(self) -> bool:
        """Pass the bracket that begins here, to its end; False if it has none."""
        waiting: list[str] = []
        while True:
            found = self.peek()
            if found in _CLOSERS:
                waiting.append(_CLOSERS[found])
            elif found and found in ")]}":
                if found != waiting.pop():
                    return False
            elif found in _IN_STRING:
                if self.string() is None:
                    return False
                continue
            elif not found:
                return False
            self.next()
            if not waiting:
                return True
            self.run(_PLAIN)
