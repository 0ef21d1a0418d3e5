"""Answers as Anthropic's Messages send them, whole and in events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from remit.models.request import Stop
from remit.testing.model import Call, Say
from remit.testing.provider.refusal import Body, Refusal
from remit.testing.provider.script import Part, Reply, Sent, Think
from remit.testing.provider.signing import sign
from remit.values.errors import ProviderError
from remit.values.usage import Usage

PATH = "/v1/messages"
VERSION = "2026-10-21"
_STOP: Mapping[Stop, str] = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
    "pause": "pause_turn",
}
_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_INPUT_PIECE = 12


def events(reply: Reply, sent: Sent, ids: Sequence[str | None], maker: str) -> Iterator[Body]:
    """The answer's events; `ids` are those of its calls, and thinking is signed by `maker`."""
    place = reply.quirks.usage
    early = reply.usage if place in ("before", "twice") else Usage()
    yield {"type": "message_start", "message": _head(sent) | _rest(early, place == "never")}
    yield {"type": "ping"}
    calls = iter(ids)
    for number, part in enumerate(reply.parts):
        index = 0 if reply.quirks.index == "reset" else number
        id = next(calls) if isinstance(part, Call) else None
        yield from _block(part, index, id, maker)
    if reply.fails is not None:
        yield refusal(reply.fails).as_anthropic()
        return
    delta = {"stop_reason": _STOP[reply.stop], "stop_sequence": None, "stop_details": None}
    told = {"usage": _usage(reply.usage)} if place in ("after", "twice") else {}
    yield {"type": "message_delta", "delta": delta} | told
    yield {"type": "message_stop"}


def framed(event: Body) -> bytes:
    """An event as it stands in the stream."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def whole(reply: Reply, sent: Sent, ids: Sequence[str | None], maker: str) -> Body:
    """The answer as one object."""
    calls = iter(ids)
    content = []
    for part in reply.parts:
        block = _empty(part, next(calls) if isinstance(part, Call) else None)
        match part:
            case Call():
                block["input"] = part.arguments
            case Think():
                block |= {"thinking": part.text, "signature": sign(part.text, maker)}
            case Say():
                block["text"] = part.text
        content.append(block)
    last = {"content": content, "stop_reason": _STOP[reply.stop]}
    return _head(sent) | _rest(reply.usage, reply.quirks.usage == "never") | last


def refusal(error: ProviderError) -> Refusal:
    """A scripted error as Anthropic sends it."""
    status = error.status or 500
    kind = error.code or _TYPES.get(status, "invalid_request_error")
    words = error.message or f"The server answers with status {status}."
    return Refusal(status=status, type=kind, message=words)


def misaddressed(headers: Mapping[str, str]) -> Refusal | None:
    """The refusal of a request without a key, or for another version of the interface."""
    if not (headers.get("x-api-key") or headers.get("authorization")):
        words = "x-api-key header is required"
        return Refusal(status=401, type="authentication_error", message=words)
    version = headers.get("anthropic-version")
    if version is None:
        return Refusal(message="anthropic-version: header is required")
    if version != VERSION:
        return Refusal(message=f'anthropic-version: "{version}" is not a valid version')
    return None


def _block(part: Part, index: int, id: str | None, maker: str) -> Iterator[Body]:
    at = {"index": index}
    yield {"type": "content_block_start", "content_block": _empty(part, id)} | at
    for delta in _deltas(part, maker):
        yield {"type": "content_block_delta", "delta": delta} | at
    yield {"type": "content_block_stop"} | at


def _empty(part: Part, id: str | None) -> Body:
    match part:
        case Call():
            named = {"type": "tool_use", "name": part.name, "input": {}}
            return named if id is None else named | {"id": id}
        case Think():
            return {"type": "thinking", "thinking": "", "signature": ""}
        case Say():
            return {"type": "text", "text": ""}


def _deltas(part: Part, maker: str) -> Iterator[Body]:
    match part:
        case Call():
            # A call without arguments brings no piece of them at all.
            text = json.dumps(part.arguments) if part.arguments else ""
            for at in range(0, len(text), _INPUT_PIECE):
                piece = text[at : at + _INPUT_PIECE]
                yield {"type": "input_json_delta", "partial_json": piece}
        case Think():
            for piece in part.pieces:
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": sign(part.text, maker)}
        case Say():
            for piece in part.pieces:
                yield {"type": "text_delta", "text": piece}


def _head(sent: Sent) -> Body:
    model = sent.body["model"]
    return {"id": "msg_0001", "type": "message", "role": "assistant", "model": model}


def _rest(usage: Usage, untold: bool) -> Body:
    rest: Body = {"content": [], "stop_reason": None, "stop_sequence": None}
    return rest if untold else rest | {"usage": _usage(usage)}


def _usage(usage: Usage) -> Body:
    """What is read from the cache or written to it is no part of `input_tokens` here."""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": usage.input_tokens - cached,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
    }
