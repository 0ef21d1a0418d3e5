"""Calls as JSON, and as a function that is called."""

from __future__ import annotations

import re
from typing import Literal

from remit.agent.answer.cursor import BLANK, WORD, Cursor

Shape = Literal["call", "other", "cut"]

_NAMES = frozenset(
    {"name", "tool", "tool_name", "function_name", "recipient_name", "action", "toolName"}
)
_ARGUMENTS = frozenset(
    {"arguments", "parameters", "args", "input", "params", "action_input", "tool_input"}
    | {"tool_args", "tool_parameters", "function_arguments", "kwargs"}
)
_AROUND = frozenset(
    {"tool_calls", "tool_uses", "tool_call", "function_call", "calls", "function"}
    | {"toolCalls", "toolCall", "toolUse", "functionCall"}
)
_BESIDE = frozenset(
    {"id", "call_id", "tool_call_id", "index", "role", "content", "thought"}
    | {"toolCallId", "toolUseId"}
)
_KINDS = frozenset({"function", "tool_use", "tool_call", "tool-call", "function_call", "tool"})
_SCALAR = re.compile(r"[^\s,\]}]*")
_SEPARATORS = re.compile(r"[\s;,]*")
_DEEPEST = 6


def opens(c: Cursor) -> bool:
    """Whether what begins here is JSON or a list of calls, and no `{...}` that stands for one."""
    c.next()
    c.run(BLANK)
    found = c.peek()
    return not found or found in "\"'{[}]<" or found.isalnum()


def json_call(c: Cursor) -> bool:
    """Whether the JSON that begins here is a call of a tool that the run has.

    One that opens an answer is. One below other text is if nothing comes after it; before more
    text it is an example.
    """
    shape = _shape(c)
    if c.fresh or shape != "call":
        return shape == "call"
    while True:
        c.run(_SEPARATORS)
        if not c.peek() or c.take("</"):
            return True
        if c.peek() not in "{[]}" or not _skip(c):
            return False


def _skip(c: Cursor) -> bool:
    if c.peek() in "]}":
        c.next()
        return True
    return c.balanced()


def _shape(c: Cursor) -> Shape:
    """What stands here; what comes behind a call that is complete is left."""
    c.depth += 1
    if c.depth > _DEEPEST:
        return "other"
    try:
        return _list(c) if c.peek() == "[" else _object(c)
    finally:
        c.depth -= 1


def _list(c: Cursor) -> Shape:
    c.next()
    c.run(BLANK)
    return _shape(c) if c.peek() in ("{", "[") else "other"


def _object(c: Cursor) -> Shape:
    named = given = False
    if c.next() != "{":
        return "other"
    while True:
        c.run(BLANK)
        if c.peek() not in ('"', "'"):
            return "other"
        key = c.string()
        c.run(BLANK)
        if key is None or not c.take(":"):
            return "other"
        c.run(BLANK)
        found = _member(c, key)
        if found in ("call", "other"):
            return "call" if found == "call" else "other"
        named, given = named or found == "name", given or found in ("given", "cut")
        if named and given:
            return "call"
        c.run(BLANK)
        if found == "cut" or not c.take(","):
            return "other"


def _member(c: Cursor, key: str) -> Literal["call", "other", "name", "given", "cut", "beside"]:
    """What a member tells of its object."""
    first = c.peek()
    if key in _AROUND and first in ("{", "["):
        return "call" if _shape(c) == "call" else "other"
    if key in _NAMES or key == "function":
        return "name" if first in ('"', "'") and c.knows(c.string() or "") else "other"
    if key in _ARGUMENTS:
        return _given(c)
    if key == "type":
        known = first in ('"', "'") and (c.string() or "") in _KINDS
        return "beside" if known else "other"
    if key in _BESIDE:
        return "beside" if _value(c) else "cut"
    return "other"


def _given(c: Cursor) -> Literal["given", "other", "cut"]:
    start, first = c.at, c.peek()
    if first not in ("{", "[", '"', "'", ""):
        return "other"
    whole = _value(c)
    # A tool's description has its schema where a call has arguments.
    said = c.text[start : min(c.at, start + 4000)]
    if '"properties"' in said and '"type"' in said:
        return "other"
    return "given" if whole else "cut"


def _value(c: Cursor) -> bool:
    """Pass a value; False if the text ends in it."""
    first = c.peek()
    if first in ("{", "["):
        return c.balanced()
    if first in ('"', "'"):
        return c.string() is not None
    return bool(c.run(_SCALAR))


def arguments(c: Cursor) -> bool:
    """Whether a call's `(name=value, …)` begins here; it is passed, as far as it goes."""
    start = c.at
    if not c.take("("):
        return False
    c.run(BLANK)
    if c.take(")"):
        return True
    c.run(WORD)
    c.run(BLANK)
    if not c.take("=") or c.peek() == "=":
        return False
    c.at = start
    return c.balanced() or not c.peek()


def listed_calls(c: Cursor) -> bool:
    """Whether a list of nothing but calls begins here, behind its bracket, and its line ends
    with it."""
    while True:
        c.run(BLANK)
        if not c.knows(c.run(WORD, 100)) or not arguments(c):
            return False
        c.run(BLANK)
        if not c.peek() or c.take("]"):
            return c.peek() in ("", "\n", "<", "[", "\r")
        if not c.take(","):
            return False
