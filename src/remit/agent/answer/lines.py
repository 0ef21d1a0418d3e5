"""Calls that a line's first words, or the name of a recipient, tell."""

from __future__ import annotations

import re

from remit.agent.answer.calls import arguments, json_call, opens
from remit.agent.answer.cursor import BLANK, LINE, SPACE, WORD, Cursor

_HEADERS = ("assistant", "commentary", "analysis", "final")
_HEADER = re.compile(r"[^\n{<]*")
_RECIPIENT = re.compile(r"(?:functions|multi_tool_use|tools?)\.\w+(?::\d+)?")
_TICKS = re.compile(r"[`\w]*")
_FORMATS = frozenset({"json", "code", "commentary", "analysis", "channel"})
_LINES = 8
FLOWER = "\u273f"
_LONGEST = 2000


def recipient(c: Cursor) -> bool:
    """Whether an envelope begins here: `assistant to=functions.name json`, and then its payload."""
    for _ in _HEADERS:
        if any(c.take(word) for word in _HEADERS):
            c.run(SPACE, 20)
    if not c.take("to="):
        return False
    named = c.run(WORD, 100)
    if not _RECIPIENT.match(named) and not c.knows(named):
        return False
    header = c.run(_HEADER, 200)
    c.run(BLANK)
    found = c.peek()
    if not found:
        return c.line and _FORMATS.issuperset(header.split())
    return (found == "{" and opens(c)) or found == "<"


def thought(c: Cursor) -> bool:
    """Whether thoughts lead to an action."""
    c.take("Thought:")
    for _ in range(_LINES):
        line = c.run(LINE, _LONGEST)
        if c.next() != "\n" or not line.strip():
            return False
        if c.take("Action:"):
            return _acted(c)
    return False


def action(c: Cursor) -> bool:
    """Whether `Action:` names a tool and gives it input."""
    return c.take("Action:") and _acted(c)


def told(c: Cursor) -> bool:
    """Whether a transcript's `Tool call: name` and its arguments begin here."""
    if not any(c.take(start) for start in ("Tool Call:", "Tool call:", "Tool:")):
        return False
    c.run(SPACE)
    if not c.knows(c.run(WORD, 100)):
        return False
    c.run(BLANK)
    return any(c.take(start) for start in ("Arguments:", "Input:", "Parameters:", "{"))


def _acted(c: Cursor) -> bool:
    c.run(BLANK)
    if c.peek() == "`":
        c.run(_TICKS, 20)
        c.run(BLANK)
    if c.peek() in ("{", "["):
        c.fresh = True
        return json_call(c)
    if not c.knows(c.run(WORD, 100)):
        return False
    if c.peek() in ("[", "("):
        return not c.balanced() or c.peek() in ("", "\n", "\r")
    c.run(BLANK)
    return c.take("Action Input:") or c.take("Action input:") or c.take("Input:")


def named(c: Cursor) -> bool:
    """Whether a tool's name, which begins here, is called."""
    if c.take("functools["):
        return c.peek() == "{"
    headed = c.take(">>>")
    shown = c.take("print(")
    api = c.take("default_api.") or c.take("call:default_api:")
    called = c.take("call:")
    name = c.run(WORD, 100)
    if not c.knows(name):
        return False
    if name.startswith("functions.") and c.take(":"):
        c.run(WORD, 10)
        called = True
    return _called(c, api=api or shown, called=called or headed)


def flowered(c: Cursor) -> bool:
    """Whether a call between flowers begins here: `✿FUNCTION✿: name`, and then `✿ARGS✿:`."""
    if not c.take(f"{FLOWER}FUNCTION{FLOWER}"):
        return False
    if not c.take(":"):
        c.take("\uff1a")
    c.run(SPACE)
    name = c.run(WORD, 100)
    c.run(BLANK)
    return c.take(f"{FLOWER}ARGS{FLOWER}") or (c.knows(name) and not c.peek())


def _called(c: Cursor, *, api: bool, called: bool) -> bool:
    if c.take("[ARGS]") or c.take("[CALL_ID]"):
        return True
    found = c.peek()
    if found == "(":
        if api or called:
            return arguments(c)
        return c.fresh and arguments(c) and _over(c)
    c.run(BLANK)
    found = c.peek()
    if found == "<":
        return _keyed(c)
    if found != "{" or not (called or c.fresh):
        return False
    if called:
        return opens(c)
    start = c.at
    c.next()
    c.run(BLANK)
    # Arguments are JSON: a query and a sheet of styles have names in their braces.
    if c.peek() not in ("", '"', "'", "}"):
        return False
    c.at = start
    return not c.balanced() or _over(c)


def _keyed(c: Cursor) -> bool:
    c.next()
    found = c.peek()
    if found and found in "|\uff5c":
        return True
    return any(c.take(tag) for tag in ("arg_key>", "longcat_arg_key>", "parameter=", "tool_sep>"))


def _over(c: Cursor) -> bool:
    c.run(BLANK)
    return not c.peek()
