"""Answers as Gemini sends them, whole and in events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from remit.models.request import Stop
from remit.testing.model import Call
from remit.testing.provider.gemini_parts import sign_call, sign_text
from remit.testing.provider.refusal import Body, Refusal
from remit.testing.provider.script import Reply, Sent, Think
from remit.values.errors import ProviderError
from remit.values.usage import Usage

_PATH = re.compile(r".*/models/([^/:]+):(streamGenerateContent|generateContent)")
_FINISH: Mapping[Stop, str] = {
    "end": "STOP",
    "calls": "STOP",
    "length": "MAX_TOKENS",
    "refusal": "SAFETY",
}
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def is_path(path: str) -> bool:
    """Whether a request is for Gemini's interface."""
    return _PATH.fullmatch(path.partition("?")[0]) is not None


def streams(path: str) -> bool:
    """Whether it asks for a stream of events."""
    return ":streamGenerateContent?" in path and "alt=sse" in path


def events(reply: Reply, sent: Sent, ids: Sequence[str | None], maker: str) -> Iterator[Body]:
    """The answer's events; `ids` are those of its calls, which come whole and together."""
    place = reply.quirks.usage
    usage = {"usageMetadata": _usage(reply.usage)}
    told = usage if place in ("before", "twice") else {}
    for parts in _chunks(reply, ids, maker):
        yield _head(sent) | {"candidates": [_candidate(parts)]} | told
        told = usage if place == "twice" else {}
    if reply.fails is not None:
        yield refusal(reply.fails).as_gemini()
        return
    last = _candidate(_last(reply, maker)) | {"finishReason": _FINISH.get(reply.stop, "STOP")}
    told = usage if place in ("after", "twice") else told
    yield _head(sent) | {"candidates": [last]} | told


def framed(event: Body) -> bytes:
    """An event as it stands in the stream."""
    return f"data: {json.dumps(event)}\r\n\r\n".encode()


def whole(reply: Reply, sent: Sent, ids: Sequence[str | None], maker: str) -> Body:
    """The answer as one object."""
    parts = [part for chunk in _chunks(reply, ids, maker) for part in chunk]
    candidate = _candidate(parts) | {"finishReason": _FINISH.get(reply.stop, "STOP")}
    told = {} if reply.quirks.usage == "never" else {"usageMetadata": _usage(reply.usage)}
    return _head(sent) | {"candidates": [candidate]} | told


def refusal(error: ProviderError) -> Refusal:
    """A scripted error as Gemini sends it."""
    status = error.status or 500
    kind = error.code or _STATUS.get(status, "UNKNOWN")
    words = error.message or f"The server answers with status {status}."
    return Refusal(status=status, type=kind, message=words)


def keyless(headers: Mapping[str, str]) -> Refusal | None:
    """The refusal of a request without a key."""
    if headers.get("x-goog-api-key") or headers.get("authorization"):
        return None
    words = "Method doesn't allow unregistered callers. Please use API Key or other form of API"
    return Refusal(status=403, type="PERMISSION_DENIED", message=words)


def _chunks(reply: Reply, ids: Sequence[str | None], maker: str) -> Iterator[list[Body]]:
    """The parts of each event: pieces of text one by one, calls side by side in one."""
    given = iter(ids)
    signed = False
    for kind, group in groupby(reply.parts, type):
        if issubclass(kind, Call):
            calls = [_call(part, next(given)) for part in group if isinstance(part, Call)]
            if not signed:
                first = calls[0]["functionCall"]
                calls[0]["thoughtSignature"] = sign_call(first["name"], first["args"], maker)
            signed = True
            yield calls
            continue
        mark = {"thought": True} if issubclass(kind, Think) else {}
        for part in group:
            for piece in () if isinstance(part, Call) else part.pieces:
                yield [{"text": piece} | mark]


def _last(reply: Reply, maker: str) -> list[Body]:
    """The empty text of the last event. Behind thoughts and text it brings the text's signature."""
    last = reply.parts[-1] if reply.parts else None
    thought = any(isinstance(part, Think) for part in reply.parts)
    if last is None or isinstance(last, Call | Think) or not last.text or not thought:
        return [{"text": ""}]
    return [{"text": "", "thoughtSignature": sign_text(maker)}]


def _call(call: Call, id: str | None) -> Body:
    named: Body = {"name": call.name, "args": call.arguments}
    return {"functionCall": named if id is None else named | {"id": id}}


def _candidate(parts: list[Body]) -> Body:
    return {"content": {"parts": parts, "role": "model"}, "index": 0}


def _head(sent: Sent) -> Body:
    found = _PATH.fullmatch(sent.path.partition("?")[0])
    model = found[1] if found else ""
    return {"modelVersion": model, "responseId": "response-0001"}


def _usage(usage: Usage) -> Body:
    """Thoughts are told beside what was said, and a count of 0 is left out."""
    counts = {
        "promptTokenCount": usage.input_tokens,
        "cachedContentTokenCount": usage.cache_read_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
        "thoughtsTokenCount": usage.reasoning_tokens,
        "totalTokenCount": usage.tokens,
    }
    return {name: count for name, count in counts.items() if count}
