"""Tags, control tokens and bracketed marks with which model families write a call."""

from __future__ import annotations

import re
from typing import Literal

from remit.agent.answer.calls import listed_calls, opens
from remit.agent.answer.cursor import BLANK, SPACE, WORD, Cursor
from remit.agent.answer.elements import ELEMENTS

BARS = "|\uff5c\u2016\u2502\u00a6"
_NAME = re.compile(r"[\w:.-]*")
_INSIDE = re.compile(r"[^<>\n]*")
_BRACKET = re.compile(r"[^\[\]\n({]*")
_ROLE = re.compile(r"[a-z]*\s*")
_NO_WORD = re.compile(r"[^a-z0-9\"]+")
_LONGEST = 400

_CALLISH = re.compile(
    r"tool|function|invoke|call|action|plugin|python_(?:tag|start|end)|channel|constrain|message|recipient"
    r"|dsml|arg|param|^start$|^\"$"
)
_STARTS = (
    "tool_call",
    "function_call",
    "python_tag",
    "python_start",
    "channel",
    "action_",
    "message",
    "dsml",
)
_RESERVED = re.compile(r"(?:ctrl|unused)\d+")
_INLINE = re.compile(r"[^\n<]*")
_SENTENCE = ",.;?)"
_BLOCK = re.compile(
    r"(?:[a-z0-9]+[:_.])?(?:(?:start|end|begin)[_-])?"
    r"(?:(?:tool|function)[_-]?(?:calls?|calling|uses?|code|requests?|invocations?)|(?:use_mcp|execute)_tool)"
    r"(?:[_-](?:start|end|begin))?"
)
_INVOKE = re.compile(r"(?:[a-z0-9]+[:_])?(?:invoke|function|tool)")
_INNER = re.compile(
    r"(?:[a-z0-9]+[:_])?(?:parameters?|arg_key|arg_value|tool_sep|tool_name|tool_input|tool_args)"
)
_KEYED = re.compile(r"(?:[a-z0-9]+[:_])?(?:arg_key|arg_value|tool_sep)")
_ATTRIBUTE = re.compile(r"\s*(?:name|tool)\s*=\s*[\"']([^\"']{1,100})[\"']")
_CONTROL = re.compile(r"/?(?:[A-Z]+_)*TOOL(?:_?[A-Z]+)*|ARGS|CALL_ID")
_TOLD = re.compile(r"(?:calling )?(?:tool|function)(?:[ _-]?(?:call|use))?", re.IGNORECASE)
_PAYLOADS = ("Arguments", "Input", "Parameters", "Args", "{", "[")

Kind = Literal["block", "invoke", "inner", "tool"]


def _kind(name: str, c: Cursor) -> Kind | None:
    if name in c.names:
        return "tool"
    name = name.lower()
    if _BLOCK.fullmatch(name):
        return "block"
    if _INVOKE.fullmatch(name):
        return "invoke"
    return "inner" if _INNER.fullmatch(name) else None


def tag(c: Cursor, passed: set[str]) -> bool:
    """Whether the tag or control token that begins here at `<` is one of a call. The names of
    those that are not are `passed`: their closing tags are none either."""
    c.next()
    if c.take("<function>>"):
        return c.knows(c.run(WORD, 100)) and c.peek() == "("
    closing = c.take("/")
    if c.peek() and c.peek() in BARS:
        return not c.quoted and _token(c, passed)
    name = c.run(_NAME, _LONGEST)
    if c.quoted:
        passed.add(name)
        return False
    return _tagged(name, c, passed, closing=closing) if c.peek() else _cut_name(name, c)


def _tagged(name: str, c: Cursor, passed: set[str], *, closing: bool) -> bool:
    """Whether the tag of this name, which was read up to it, is one of a call."""
    kind = _kind(name, c)
    if c.peek() in BARS and kind is not None:
        c.next()
        return c.take(">") and _used(c)
    if kind is None:
        return _RESERVED.fullmatch(name) is not None and c.take(">call:")
    inside = c.run(_INSIDE, _LONGEST)
    if not c.peek():
        return kind in ("block", "invoke") and (not inside.strip() or "=" in inside)
    if not c.take(">"):
        found = False
    elif closing:
        return name not in passed and _closed(c)
    else:
        found = _opened(kind, name, inside, c)
    if not found:
        passed.add(name)
    return found


def _cut_name(name: str, c: Cursor) -> bool:
    """Whether a tag whose name the answer ends in was to be one of a call."""
    if len(name) < 5:
        return False
    return _kind(name, c) in ("block", "invoke") or "function_calls tool_calls".find(name) >= 0


def _opened(kind: Kind, name: str, inside: str, c: Cursor) -> bool:
    named = _ATTRIBUTE.match(inside) if kind == "block" else None
    if named is not None and c.knows(named[1]):
        return True
    if inside.endswith("/"):
        return False
    if kind == "block":
        start = c.at
        return _payload(c) and not (c.spaced and _spoken(c, start))
    if kind == "invoke":
        return _invoked(name, inside, c)
    if kind == "tool":
        c.run(BLANK)
        if name.lower() in ELEMENTS:
            return _no_page(c)
        return c.peek() == "<" or (c.line and _used(c))
    if inside.startswith("="):
        return c.line
    return _KEYED.fullmatch(name.lower()) is not None and _used(c)


def _invoked(name: str, inside: str, c: Cursor) -> bool:
    attribute = _ATTRIBUTE.fullmatch(inside)
    if attribute is None and not inside.startswith("="):
        c.run(BLANK)
        return not inside.strip() and c.take("<tool_name>")
    called = attribute[1] if attribute else inside[1:]
    if c.knows(called):
        return True
    if not c.line or (attribute and not name.lower().endswith("invoke")):
        return False
    c.run(BLANK)
    return not c.peek() or c.take("</") or (c.take("<") and "param" in c.run(_NAME, _LONGEST))


def _token(c: Cursor, passed: set[str]) -> bool:
    """Whether `<|…|>`, behind its `<`, is a token that controls calls."""
    wide = c.next() != "|"
    inside = c.run(_INSIDE, _LONGEST)
    name = _NO_WORD.sub("_", inside.lower()).strip("_")
    if not name or inside[0].isspace():
        return False
    callish = _CALLISH.search(name) is not None
    if not c.peek():
        return wide or callish or any(start.startswith(name) for start in _STARTS)
    if not c.take(">"):
        return False
    if callish:
        return _used(c)
    # Other tokens of a chat template may lead to one of a call.
    c.depth += 1
    if c.depth > 4:
        return False
    c.run(_ROLE, 40)
    return c.peek() == "<" and tag(c, passed)


def _used(c: Cursor, *, closing: bool = False) -> bool:
    """Whether the mark before this place is used, and not spoken of: words on its line, a
    closing quote or a mark of punctuation follow one that is spoken of."""
    found = c.peek()
    if closing or c.glued or not found or found in "\r\n":
        return True
    if found in "{[<":
        return _payload(c)
    if found in " \t":
        c.run(SPACE)
        found = c.peek()
        return not found or found in "\r\n" or _payload(c)
    return found.isascii() and found.isalnum()


def _no_page(c: Cursor) -> bool:
    """Whether what stands in an element of HTML, from here on, can only be a call's arguments."""
    if c.peek() == "{":
        return opens(c)
    if c.peek() != "<":
        return False
    c.next()
    name = c.run(_NAME, _LONGEST)
    return name.isidentifier() and name.islower() and name not in ELEMENTS


def _closed(c: Cursor) -> bool:
    """Whether the closing tag before this place closes a call. Behind a blank in a line it is
    spoken of, unless another one follows."""
    if not c.spaced or c.peek() not in ("", "\r", "\n"):
        return _used(c, closing=c.line)
    c.run(BLANK)
    return c.take("</")


def _spoken(c: Cursor, start: int) -> bool:
    """Whether the sentence goes on behind the JSON that begins at `start`, and its closing tag."""
    c.at = start
    if c.peek() != "{":
        return False
    c.run(_INLINE, _LONGEST)
    if not c.take("</"):
        return False
    c.run(_INSIDE, _LONGEST)
    if not c.take(">"):
        return False
    c.run(SPACE)
    found = c.peek()
    return bool(found) and (found in _SENTENCE or found.islower())


def _payload(c: Cursor) -> bool:
    """Whether what a call consists of follows."""
    spaced = c.peek() == " "
    c.run(BLANK)
    found = c.peek()
    if not found:
        return True
    if found in "{[":
        return opens(c)
    if found == "<":
        c.next()
        if not c.take("/"):
            return not c.peek() or c.peek() in BARS or c.peek().isalpha()
        c.run(_INSIDE, _LONGEST)
        return not c.take(">") or _used(c)
    name = c.run(WORD, 100)
    if c.knows(name):
        return True
    if not name or not name[0].isalnum():
        return False
    if c.take(":"):
        return name in ("call", "name", "tool")
    c.run(BLANK)
    return not spaced and c.peek() in ("<", "{", "(")


def bracket(c: Cursor) -> bool:
    """Whether the bracket that begins here is a control mark, a call's header or a list of
    calls."""
    c.next()
    name = c.run(_BRACKET, 100)
    behind = c.at
    if c.take("]"):
        return _bracketed(name, c)
    if not c.line or not c.peek():
        return bool(_CONTROL.fullmatch(name)) and len(name) > 5
    if c.peek() == "(" and c.knows(name):
        c.at = behind - len(name)
        return listed_calls(c)
    if ":" in name:
        return _told(name, c)
    return False


def _bracketed(name: str, c: Cursor) -> bool:
    if _CONTROL.fullmatch(name):
        if name.startswith(("/", "END")):
            return _used(c, closing=c.line)
        return _payload(c)
    if not c.line:
        return False
    if ":" in name:
        return _told(name, c)
    return c.knows(name) and _followed(c)


def _told(name: str, c: Cursor) -> bool:
    """Whether this is a call as a transcript tells it: `[Tool Call: name (ID: …)]`."""
    kind, _, called = name.partition(":")
    if not _TOLD.fullmatch(kind.strip()) or not c.knows(called.strip()):
        return False
    if c.peek() == "(":
        if not c.balanced():
            return True
        c.take("]")
    return _followed(c)


def _followed(c: Cursor) -> bool:
    c.run(BLANK)
    return not c.peek() or any(c.take(start) for start in _PAYLOADS)
