"""A conversation as Gemini's contents: a model's turn with its calls, then all of their results."""

from __future__ import annotations

import base64
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from remit.models.google.files import parts_of
from remit.models.google.names import sent_name
from remit.values.content import Call, Image, Pdf, Reasoning, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage

SIGNS_TEXT = "text"
"""The form of a signature that came with text, and goes back with it."""
UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode()
"""Gemini's own word for a call that it has not signed; models from 3 on refuse one without any.
Source: ai.google.dev/gemini-api/docs/thought-signatures."""
_NO_RESULT = "Not run: no result was recorded."

Part = dict[str, Any]


class Said(NamedTuple):
    """What a user said. No part of it is blank."""

    parts: tuple[Text | Image | Pdf, ...]


class Answered(NamedTuple):
    """What a model said and asked for, and the results of its calls in their order."""

    parts: tuple[Text | Reasoning | Call, ...]
    results: tuple[ToolMessage, ...]


def contents(messages: Iterable[Message], maker: str) -> list[dict[str, Any]]:
    """`messages` as contents, each only added to by the messages behind it. Reasoning is sent to
    its own `maker` alone, its signatures where they came.

    Users' messages stay apart, and so do they from results: Gemini takes what stands in one
    content with results for the model's own.
    """
    return [content for turn in _turns(messages, maker) for content in _contents(turn)]


def _contents(turn: Said | Answered) -> Iterator[dict[str, Any]]:
    if isinstance(turn, Said):
        yield {"role": "user", "parts": parts_of(turn.parts)}
        return
    yield {"role": "model", "parts": _model_parts(turn.parts)}
    if turn.results:
        calls = [part for part in turn.parts if isinstance(part, Call)]
        answers = zip(calls, turn.results, strict=True)
        yield {"role": "user", "parts": [_response(call, result) for call, result in answers]}


def _turns(messages: Iterable[Message], maker: str) -> list[Said | Answered]:
    given = list(messages)
    waiting: dict[str, deque[ToolMessage]] = defaultdict(deque)
    for message in given:
        if isinstance(message, ToolMessage):
            waiting[message.call_id].append(message)
    turns: list[Said | Answered] = []
    for message in given:
        if isinstance(message, UserMessage):
            parts = tuple(part for part in message.content if not _blank(part))
            if parts:
                turns.append(Said(parts))
        elif isinstance(message, AssistantMessage):
            _answer(turns, _answered(message, maker, waiting))
    return turns


def _answered(
    message: AssistantMessage, maker: str, waiting: dict[str, deque[ToolMessage]]
) -> Answered:
    parts = tuple(part for part in message.content if not _blank(part) and _goes_to(maker, part))
    calls = [part for part in parts if isinstance(part, Call)]
    return Answered(parts, tuple(_result(call, waiting[call.id]) for call in calls))


def _answer(turns: list[Said | Answered], turn: Answered) -> None:
    if all(isinstance(part, Reasoning) for part in turn.parts):
        return
    last = turns[-1] if turns else None
    if isinstance(last, Answered) and not last.results:
        turns[-1] = Answered(last.parts + turn.parts, turn.results)
    else:
        turns.append(turn)


def _result(call: Call, waiting: deque[ToolMessage]) -> ToolMessage:
    return waiting.popleft() if waiting else ToolMessage(call.id, call.name, _NO_RESULT, "not_run")


def _blank(part: object) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _goes_to(maker: str, part: Text | Reasoning | Call) -> bool:
    if not isinstance(part, Reasoning):
        return True
    return part.maker == maker and part.form in ("", SIGNS_TEXT)


def _model_parts(parts: Iterable[Text | Reasoning | Call]) -> list[Part]:
    found: list[Part] = []
    called = False
    for part in parts:
        match part:
            case Text():
                found.append({"text": part.text})
            case Reasoning() if part.form == SIGNS_TEXT:
                _sign(found, part.signature)
            case Reasoning():
                found.append({"text": part.text, "thought": True} | _signed(part.signature))
            case Call():
                # The first call alone is signed, where several are side by side.
                signature = _own_signature(part) or (None if called else UNSIGNED)
                called = True
                found.append({"functionCall": _call(part)} | _signed(signature))
    return found


def _sign(found: list[Part], signature: str | None) -> None:
    """Put the signature of text on the text that it came with, or behind calls by itself. Where
    neither is before it, what it signed is not as it came, and it is left out."""
    last = found[-1] if found else {}
    if "text" in last and "thought" not in last and "thoughtSignature" not in last:
        last.update(_signed(signature))
    elif "functionCall" in last:
        found.append({"text": ""} | _signed(signature))


def _signed(signature: str | None) -> Part:
    return {"thoughtSignature": signature} if signature else {}


def _own_signature(call: Call) -> str | None:
    """The signature of a call that is sent as it came."""
    return call.signature if call.misnamed is None and call.malformed is None else None


def _call(call: Call) -> Part:
    return {"id": call.id, "name": sent_name(call.name), "args": call.arguments}


def _response(call: Call, result: ToolMessage) -> Part:
    told = {"output" if result.status == "ok" else "error": result.text}
    response = {"id": call.id, "name": sent_name(call.name), "response": told}
    return {"functionResponse": response}
