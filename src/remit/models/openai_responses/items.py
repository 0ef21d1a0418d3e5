"""From a conversation to the items of a request."""

from __future__ import annotations

import base64
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any

from remit.models.openai_chat.body import as_json
from remit.models.openai_responses import marks
from remit.values.content import Call, Image, Pdf, Reasoning, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage

Item = dict[str, Any]

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NO_RESULT = "Not run: no result was recorded."
_EMPTY_RESULT = "(empty)"
_APART = "\n\n"


def items(messages: Sequence[Message], maker: str, *, ids: bool) -> list[Item]:
    """The conversation: each call is followed by its output, nothing is empty, and more messages
    only add items at the end.

    Reasoning goes back to its `maker` alone, word for word, where the item that it led to goes
    back as well; without `ids` nothing is sent under the id that the server gave it.
    """
    results: dict[str, deque[ToolMessage]] = defaultdict(deque)
    for message in messages:
        if isinstance(message, ToolMessage):
            results[message.call_id].append(message)
    used: set[str] = set()
    found: list[Item] = []
    for message in messages:
        if isinstance(message, UserMessage):
            found += _said(message)
        elif isinstance(message, AssistantMessage):
            found += _answered(message, maker, ids, results, used)
    return found


def _said(message: UserMessage) -> Iterator[Item]:
    parts = [part for part in message.content if not _blank(part)]
    if not parts:
        return
    texts = [part.text for part in parts if isinstance(part, Text)]
    plain = len(texts) == len(parts)
    content = "".join(texts) if plain else [_part(part) for part in parts]
    yield {"type": "message", "role": "user", "content": content}


def _part(part: Text | Image | Pdf) -> Item:
    match part:
        case Text():
            return {"type": "input_text", "text": part.text}
        case Image():
            url = part.url or _inline(part.media_type or "image/png", part.data)
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        case Pdf():
            if part.url:
                return {"type": "input_file", "file_url": part.url}
            held = _inline("application/pdf", part.data)
            return {"type": "input_file", "filename": part.name, "file_data": held}


def _inline(media_type: str, body: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(body).decode()}"


def _answered(
    message: AssistantMessage,
    maker: str,
    ids: bool,
    results: dict[str, deque[ToolMessage]],
    used: set[str],
) -> Iterator[Item]:
    parts = [part for part in message.content if not _blank(part)]
    back = _going_back(parts, maker)
    outputs: list[Item] = []
    own = said = False
    mark: Item = {}
    for part, goes in zip(parts, back, strict=True):
        if isinstance(part, Reasoning):
            kept = marks.read(part) if part.maker == maker else None
            if part.form == marks.MESSAGE:
                mark = kept or {}
                continue
            own = goes
            if goes and kept:
                yield kept if ids else _unnamed(kept)
        elif isinstance(part, Text):
            # The paragraph between two messages is ours.
            text = part.text.removeprefix(_APART) if said else part.text
            yield _message(text, mark, own and ids)
            said, mark = True, {}
        else:
            mark = {}
            id = _free(part.id, used)
            yield _call(part, id, own and ids)
            waiting = results.get(part.id)
            text = waiting.popleft().text if waiting else _NO_RESULT
            output = text if text.strip() else _EMPTY_RESULT
            outputs.append({"type": "function_call_output", "call_id": id, "output": output})
    yield from outputs


def _going_back(parts: Sequence[Text | Reasoning | Call], maker: str) -> list[bool]:
    """Which parts are reasoning that goes back: what it led to stands right behind it."""
    found = [False] * len(parts)
    leads_on = False
    for at in range(len(parts) - 1, -1, -1):
        part = parts[at]
        if isinstance(part, Text):
            leads_on = False
        elif isinstance(part, Call):
            leads_on = part.signature is not None
        elif _is_mark(part, maker):
            leads_on = isinstance(parts[at + 1] if at + 1 < len(parts) else None, Text)
        else:
            whole = part.maker == maker and not part.form and marks.read(part) is not None
            found[at] = leads_on = whole and leads_on
    return found


def _is_mark(part: object, maker: str) -> bool:
    """Whether this is what a message of `maker`'s, with an id, is kept by."""
    if not isinstance(part, Reasoning) or part.form != marks.MESSAGE or part.maker != maker:
        return False
    return "id" in (marks.read(part) or {})


def _message(text: str, mark: Item, own: bool) -> Item:
    made: Item = {"type": "message", "role": "assistant", "content": text}
    if own and "id" in mark:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        made |= {"id": mark["id"], "status": "completed", "content": content}
    return made | {"phase": mark["phase"]} if "phase" in mark else made


def _call(call: Call, id: str, own: bool) -> Item:
    made: Item = {"type": "function_call", "call_id": id, "name": call.name}
    made["arguments"] = as_json(call.arguments)
    return made | {"id": call.signature} if own and call.signature else made


def _unnamed(item: Item) -> Item:
    return {name: value for name, value in item.items() if name != "id"}


def _free(id: str, used: set[str]) -> str:
    stem = free = id if _ID.fullmatch(id) else "call"
    number = 1
    while free in used:
        number += 1
        free = f"{stem[:50]}_{number}"
    used.add(free)
    return free


def _blank(part: object) -> bool:
    return isinstance(part, Text) and not part.text.strip()
