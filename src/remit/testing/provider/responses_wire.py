"""Answers as OpenAI's Responses send them, whole and in events.

Reasoning comes encrypted, which here means signed: over its id, its words and the id of the item
that it led to, whose own id names the reasoning in turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from remit.testing.model import Call, Say
from remit.testing.provider.openai_wire import refusal
from remit.testing.provider.refusal import Body
from remit.testing.provider.script import Part, Reply, Sent, Think
from remit.testing.provider.signing import sign
from remit.values.usage import Usage

PATH = "/responses"
FOR = "_for_"
"""What stands in an item's id before that of the reasoning which led to it."""
_REASONS = {"length": "max_output_tokens", "refusal": "content_filter"}
_ARGUMENT_PIECE = 12


def encrypted(id: str, words: str, follower: str, maker: str) -> str:
    """The encrypted content of a reasoning item."""
    return f"{follower}.{sign(f'{id} {follower} {words}', maker)}"


def events(reply: Reply, sent: Sent, ids: Sequence[str | None], maker: str) -> Iterator[Body]:
    """The answer's events; `ids` are those of its calls, and reasoning is signed by `maker`."""
    begun = _head(sent, "in_progress")
    if reply.quirks.usage in ("before", "twice"):
        begun["usage"] = _usage(reply.usage)
    told = [{"type": "response.created", "response": begun}]
    told.append({"type": "response.in_progress", "response": begun})
    for at, (part, item) in enumerate(_items(reply, sent, ids, maker)):
        told += _item(part, item, 0 if reply.quirks.index == "reset" else at)
    for number, event in enumerate([*told, _last(reply, sent, ids, maker)]):
        yield event | {"sequence_number": number}


def framed(event: Body) -> bytes:
    """An event as it stands in the stream."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def whole(reply: Reply, sent: Sent, ids: Sequence[str | None], maker: str) -> Body:
    """The answer as one object."""
    reason = _REASONS.get(reply.stop)
    found = _head(sent, "completed" if reason is None else "incomplete")
    found["output"] = [item for _, item in _items(reply, sent, ids, maker)]
    if reason is not None:
        found["incomplete_details"] = {"reason": reason}
    if reply.quirks.usage in ("after", "twice"):
        found["usage"] = _usage(reply.usage)
    return found


def _last(reply: Reply, sent: Sent, ids: Sequence[str | None], maker: str) -> Body:
    if reply.fails is None:
        response = whole(reply, sent, ids, maker)
        return {"type": f"response.{response['status']}", "response": response}
    told = refusal(reply.fails)
    error = {"code": told.code or told.type, "message": told.message}
    return {"type": "response.failed", "response": _head(sent, "failed") | {"error": error}}


def _items(
    reply: Reply, sent: Sent, ids: Sequence[str | None], maker: str
) -> list[tuple[Part, Body]]:
    """The answer's parts, each with its item. Reasoning names the item behind it."""
    place = len(sent.body["input"])
    calls = list(ids)
    found: list[tuple[Part, Body]] = []
    for at in range(len(reply.parts) - 1, -1, -1):
        part = reply.parts[at]
        before = reply.parts[at - 1] if at else None
        led = f"{FOR}{_id('rs', place, at - 1)}" if isinstance(before, Think) else ""
        if isinstance(part, Think):
            follower = str(found[0][1]["id"]) if found else ""
            item = _reasoning(_id("rs", place, at), part.text, follower, maker)
        elif isinstance(part, Say):
            item = _message(_id("msg", place, at) + led, part.text)
        else:
            item = _call(_id("fc", place, at) + led, part, calls.pop())
        found.insert(0, (part, item))
    return found


def _id(kind: str, place: int, at: int) -> str:
    return f"{kind}_{place}_{at}"


def _reasoning(id: str, words: str, follower: str, maker: str) -> Body:
    summary = [{"type": "summary_text", "text": words}]
    kept = encrypted(id, words, follower, maker)
    return {"type": "reasoning", "id": id, "summary": summary, "encrypted_content": kept}


def _message(id: str, text: str) -> Body:
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
    head = {"type": "message", "id": id, "role": "assistant", "status": "completed"}
    return head | {"content": content}


def _call(id: str, call: Call, call_id: str | None) -> Body:
    item = {"type": "function_call", "id": id, "status": "completed", "name": call.name}
    item["arguments"] = json.dumps(call.arguments)
    return item if call_id is None else item | {"call_id": call_id}


def _item(part: Part, item: Body, at: int) -> Iterator[Body]:
    where = {"output_index": at}
    yield {"type": "response.output_item.added", "item": _empty(part, item)} | where
    where["item_id"] = item["id"]
    match part:
        case Think():
            yield from _streamed("response.reasoning_summary_text", part, where, "summary_index")
        case Say():
            yield from _streamed("response.output_text", part, where, "content_index")
        case Call():
            text, name = item["arguments"], "response.function_call_arguments"
            for begin in range(0, len(text), _ARGUMENT_PIECE):
                piece = text[begin : begin + _ARGUMENT_PIECE]
                yield {"type": f"{name}.delta", "delta": piece} | where
            yield {"type": f"{name}.done", "arguments": text} | where
    yield {"type": "response.output_item.done", "output_index": at, "item": item}


def _streamed(name: str, part: Say | Think, where: Body, counted: str) -> Iterator[Body]:
    for piece in part.pieces:
        yield {"type": f"{name}.delta", "delta": piece, counted: 0} | where
    yield {"type": f"{name}.done", "text": part.text, counted: 0} | where


def _empty(part: Part, item: Body) -> Body:
    match part:
        case Think():
            # What is told so early is no more than a part of it.
            return item | {"summary": [], "encrypted_content": "unfinished"}
        case Say():
            return item | {"status": "in_progress", "content": []}
        case Call():
            return item | {"status": "in_progress", "arguments": ""}


def _head(sent: Sent, status: str) -> Body:
    return {
        "id": "resp_0001",
        "object": "response",
        "created_at": 0,
        "status": status,
        "model": sent.body["model"],
        "error": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }


def _usage(usage: Usage) -> Body:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "cache_write_tokens_details": {
                "ttl_30m_tokens": usage.cache_write_tokens - usage.cache_write_long_tokens,
                "ttl_12h_tokens": usage.cache_write_long_tokens,
            },
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.tokens,
    }
