"""A conversation made so that every server takes it."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from remit.values.content import Call, Image, Pdf, Reasoning, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NO_RESULT = "Not run: no result was recorded."


class Said(NamedTuple):
    """What a user said, adjacent messages as one. No part of it is blank."""

    parts: tuple[Text | Image | Pdf, ...]

    @property
    def text(self) -> str | None:
        """All of it, where it is text alone."""
        texts = [part.text for part in self.parts if isinstance(part, Text)]
        return "".join(texts) if len(texts) == len(self.parts) else None


class Answered(NamedTuple):
    """What a model said and asked for, each call with its result. Nothing in it is empty."""

    text: str
    reasoning: tuple[Reasoning, ...]
    calls: tuple[tuple[Call, ToolMessage], ...]


def mended(messages: Iterable[Message], maker: str) -> list[Said | Answered]:
    """`messages` with calls and results paired, in order and under ids of their own.

    A call without a result is answered "Not run", a result without a call left out, and so is
    whatever is empty. Reasoning is kept for `maker` alone, and only beside calls: nobody wants
    it back elsewhere.
    """
    given = list(messages)
    results: dict[str, deque[ToolMessage]] = defaultdict(deque)
    for message in given:
        if isinstance(message, ToolMessage):
            results[message.call_id].append(message)
    turns: list[Said | Answered] = []
    used: set[str] = set()
    for message in given:
        if isinstance(message, UserMessage):
            _say(turns, message)
        elif isinstance(message, AssistantMessage):
            calls = tuple(_pair(call, results, used) for call in message.calls)
            reasoning = _own(message, maker) if calls else ()
            _answer(turns, Answered(_text(message), reasoning, calls))
    return turns


def _say(turns: list[Said | Answered], message: UserMessage) -> None:
    parts = message.content
    if message.files:
        parts = tuple(p for p in parts if not isinstance(p, Text) or p.text.strip())
    elif not message.text.strip():
        return
    last = turns[-1] if turns else None
    if not isinstance(last, Said):
        turns.append(Said(parts))
    elif isinstance(last.parts[-1], Text) and isinstance(parts[0], Text):
        turns[-1] = Said((*last.parts, Text("\n\n"), *parts))
    else:
        turns[-1] = Said(last.parts + parts)


def _answer(turns: list[Said | Answered], turn: Answered) -> None:
    if not turn.text and not turn.calls:
        return
    last = turns[-1] if turns else None
    if isinstance(last, Answered) and not last.calls:
        text = "\n\n".join(part for part in (last.text, turn.text) if part)
        turns[-1] = turn._replace(text=text)
    else:
        turns.append(turn)


def _pair(
    call: Call, results: dict[str, deque[ToolMessage]], used: set[str]
) -> tuple[Call, ToolMessage]:
    waiting = results.get(call.id)
    found = waiting.popleft() if waiting else ToolMessage(call.id, call.name, _NO_RESULT, "not_run")
    id = _free(call.id, used)
    if id == call.id:
        return call, found
    replace = msgspec.structs.replace
    return replace(call, id=id), replace(found, call_id=id)


def _free(id: str, used: set[str]) -> str:
    stem = id if _ID.fullmatch(id) else "call"
    free, number = stem, 1
    while free in used or not _ID.fullmatch(free):
        number += 1
        free = f"{stem[:30]}_{number}"
    used.add(free)
    return free


def _text(message: AssistantMessage) -> str:
    text = "".join(part.text for part in message.content if isinstance(part, Text))
    return text if text.strip() else ""


def _own(message: AssistantMessage, maker: str) -> tuple[Reasoning, ...]:
    parts: Sequence[object] = message.content
    return tuple(part for part in parts if isinstance(part, Reasoning) and part.maker == maker)
