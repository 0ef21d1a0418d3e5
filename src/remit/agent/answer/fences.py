"""Code in an answer: what stands in it is shown and not called, unless it is all that there is."""

from __future__ import annotations

import re
from typing import NamedTuple

from remit.agent.answer.calls import json_call
from remit.agent.answer.cursor import BLANK, LINE, SPACE, Cursor
from remit.agent.answer.marks import bracket, tag

_RUN = {"`": re.compile(r"`*"), "~": re.compile(r"~*")}
_TICKS = re.compile(r"`+|\n[ \t]*\n")
_MARKER = re.compile(r"[-*+0-9.)]*")
_CALLS = re.compile(r"(?:tool|function)[_-]?(?:calls?|code|uses?)")
_BARE = frozenset({"", "json", "jsonc", "json5", "xml", "html", "text", "plaintext", "txt"})
_OUTPUTS = ("```tool_output", "```tool_result", "```tool_response")
_LONGEST = 2000


class Fence(NamedTuple):
    """A block of code that is open: its closing line has at least `length` times `mark`."""

    mark: str
    length: int


def code_end(c: Cursor) -> int:
    """Where the code that begins here with backticks ends; without an end, where they do."""
    ticks = len(c.run(_RUN["`"]))
    behind = c.at
    end = min(len(c.text), behind + _LONGEST)
    for found in _TICKS.finditer(c.text, behind, end):
        if found[0][0] == "\n":
            return behind
        if found.end() == len(c.text) and not c.whole:
            break
        if len(found[0]) == ticks:
            return found.end()
    if end == len(c.text) and not c.whole and end < behind + _LONGEST:
        c.at = end
        c.peek()
    return behind


def fence(c: Cursor) -> tuple[Fence, bool] | None:
    """The fence that opens here, perhaps in a list, and whether what it holds is a call instead
    of code. The cursor ends behind its line."""
    if c.run(_MARKER, 5):
        c.run(SPACE)
    mark = c.peek()
    if mark not in ("`", "~"):
        return None
    length = len(c.run(_RUN[mark]))
    if length < 3:
        return None
    words = c.run(LINE)
    if mark == "`" and "`" in words:
        return None
    opened, called = Fence(mark, length), False
    behind = c.at + len(c.peek())
    info = words.strip().lower()
    if _CALLS.fullmatch(info) or (c.fresh and info in _BARE):
        c.next()
        called = _is_call(opened, c, coded=info not in _BARE)
    c.at = behind
    return opened, called


def closes(opened: Fence, c: Cursor) -> bool:
    """Whether the line that begins here closes the fence."""
    c.run(SPACE)
    if c.peek() != opened.mark or len(c.run(_RUN[opened.mark])) < opened.length:
        return False
    c.run(SPACE)
    return c.peek() in ("", "\n", "\r")


def _is_call(opened: Fence, c: Cursor, *, coded: bool) -> bool:
    """Whether the fence holds a call and nothing comes after it; what is explained is code."""
    start = c.at
    c.run(BLANK)
    if not coded and not _begins_a_call(c):
        return False
    end, behind = _end(opened, c, start)
    if coded and not _names_a_tool(c, start, end):
        return False
    c.at = behind
    c.run(BLANK)
    return not c.peek() or any(c.take(output) for output in _OUTPUTS)


def _begins_a_call(c: Cursor) -> bool:
    rules = {"{": json_call, "<": lambda at: tag(at, set())}
    rule = rules.get(c.peek())
    if rule is not None:
        return _try(rule, c)
    return c.peek() == "[" and (_try(bracket, c) or _try(json_call, c))


def _try(rule: object, c: Cursor) -> bool:
    start, line, fresh = c.at, c.line, c.fresh
    c.line = c.fresh = True
    assert callable(rule)
    found = bool(rule(c))
    c.at, c.line, c.fresh = start, line, fresh
    return found


def _end(opened: Fence, c: Cursor, start: int) -> tuple[int, int]:
    """Where the block's content ends, and what comes after it begins."""
    closing = re.compile(rf"\n[ \t]*{opened.mark}{{{opened.length},}}[ \t]*(?=[\r\n]|\Z)")
    found = closing.search(c.text, max(start - 1, 0))
    if found is None or found.end() == len(c.text):
        c.at = len(c.text)
        c.peek()
    return (found.start(), found.end()) if found else (len(c.text), len(c.text))


def _names_a_tool(c: Cursor, start: int, end: int) -> bool:
    content = c.text[start:end]
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", content) for name in c.names)
