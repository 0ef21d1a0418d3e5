"""A conversation as Messages takes it: turns of blocks."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any

from remit.values.content import Call, Image, Pdf, Reasoning, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage

REDACTED = "redacted"
"""The form of reasoning that is encrypted as a whole."""

Block = dict[str, Any]

_EMPTY_RESULT = "(empty)"
_GO_ON = "Go on."


def turns(messages: Iterable[Message], maker: str) -> list[Block]:
    """`messages`, what follows on the same side as one turn. `maker` is whose reasoning may be
    sent back.

    A conversation that grows only adds blocks at its end, which is what caches of prompts go by.
    """
    found: list[Block] = []
    for message in messages:
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        blocks = list(_blocks(message, maker))
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        elif blocks:
            found.append({"role": role, "content": blocks})
    if found and found[-1]["role"] == "assistant":
        # A model that paused is asked again, and many take no request that ends with an answer.
        found.append({"role": "user", "content": [{"type": "text", "text": _GO_ON}]})
    return found


def _blocks(message: Message, maker: str) -> Iterator[Block]:
    match message:
        case UserMessage():
            yield from (_said(part) for part in message.content if not _blank(part))
        case AssistantMessage():
            for part in message.content:
                yield from _answered(part, maker)
        case ToolMessage():
            yield _result(message)


def _said(part: Text | Image | Pdf) -> Block:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            return {"type": "image", "source": _source(part, part.media_type or "image/png")}
        case Pdf():
            source = _source(part, "application/pdf")
            return {"type": "document", "source": source, "title": part.name}


def _source(part: Image | Pdf, media_type: str) -> Block:
    if part.url:
        return {"type": "url", "url": part.url}
    inline = base64.b64encode(part.data).decode()
    return {"type": "base64", "media_type": media_type, "data": inline}


def _answered(part: Text | Reasoning | Call, maker: str) -> Iterator[Block]:
    match part:
        case Text():
            if not _blank(part):
                yield {"type": "text", "text": part.text}
        case Call():
            yield {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments}
        case Reasoning():
            # Without its signature, or from another maker, it would be refused.
            if part.signature and part.maker == maker:
                yield _thought(part.text, part.signature, part.form)


def _thought(text: str, signature: str, form: str) -> Block:
    if form == REDACTED:
        return {"type": "redacted_thinking", "data": signature}
    return {"type": "thinking", "thinking": text, "signature": signature}


def _result(message: ToolMessage) -> Block:
    text = message.text if message.text.strip() else _EMPTY_RESULT
    block = {"type": "tool_result", "tool_use_id": message.call_id, "content": text}
    return block if message.status == "ok" else block | {"is_error": True}


def _blank(part: Text | Image | Pdf) -> bool:
    return isinstance(part, Text) and not part.text.strip()
