"""Answers as OpenAI's Chat Completions send them, whole and in events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from remit.models.request import Stop
from remit.testing.model import Call, Say
from remit.testing.provider.refusal import Body, Refusal
from remit.testing.provider.script import Reply, Sent, Think
from remit.values.errors import ProviderError
from remit.values.usage import Usage

PATH = "/chat/completions"
DONE = "[DONE]"
_FINISH: Mapping[Stop, str] = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refusal": "content_filter",
}
_ARGUMENT_PIECE = 12


def events(reply: Reply, sent: Sent, ids: Sequence[str | None]) -> Iterator[Body | str]:
    """The answer's events, the last of them `[DONE]`; `ids` are those of its calls."""
    asked = sent.body
    told = (asked.get("stream_options") or {}).get("include_usage") is True
    place = reply.quirks.usage if told else "never"
    if place in ("before", "twice"):
        yield _chunk(asked, usage=_usage(reply.usage))
    yield _chunk(asked, {"role": "assistant", "content": ""})
    number = 0
    for part in reply.parts:
        if isinstance(part, Call):
            index = 0 if reply.quirks.index == "reset" else number
            for delta in _call(part, ids[number]):
                yield _chunk(asked, {"tool_calls": [{"index": index} | delta]})
            number += 1
            continue
        name = "content" if isinstance(part, Say) else "reasoning_content"
        for piece in part.pieces:
            yield _chunk(asked, {name: piece})
    if reply.fails is not None:
        yield refusal(reply.fails).as_openai()
        return
    yield _chunk(asked, {}, finish=_FINISH[reply.stop])
    if place in ("after", "twice"):
        yield _chunk(asked, usage=_usage(reply.usage))
    yield DONE


def framed(event: Body | str) -> bytes:
    """An event as it stands in the stream."""
    return f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()


def whole(reply: Reply, sent: Sent, ids: Sequence[str | None]) -> Body:
    """The answer as one object."""
    calls = [part for part in reply.parts if isinstance(part, Call)]
    said = "".join(part.text for part in reply.parts if isinstance(part, Say))
    thought = "".join(part.text for part in reply.parts if isinstance(part, Think))
    message: Body = {"role": "assistant", "content": said or None, "refusal": None}
    if thought:
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = [
            _identified(id) | {"type": "function", "function": _function(call)}
            for call, id in zip(calls, ids, strict=True)
        ]
    choice = {"index": 0, "message": message, "finish_reason": _FINISH[reply.stop]}
    found = _head(sent.body, "chat.completion") | {"choices": [choice]}
    return found if reply.quirks.usage == "never" else found | {"usage": _usage(reply.usage)}


def refusal(error: ProviderError) -> Refusal:
    """A scripted error as OpenAI sends it."""
    status = error.status or 500
    kind = "server_error" if status >= 500 else "invalid_request_error"
    if status == 429:
        kind = "insufficient_quota" if error.code == "insufficient_quota" else "requests"
    words = error.message or f"The server answers with status {status}."
    return Refusal(status=status, type=kind, message=words, code=error.code)


def keyless() -> Refusal:
    """The refusal of a request without a key."""
    return Refusal(
        status=401,
        message="You didn't provide an API key. You need to provide your API key in an"
        " Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    )


def _call(call: Call, id: str | None) -> Iterator[Body]:
    function = _function(call)
    text = function["arguments"]
    named = {"type": "function", "function": {"name": call.name, "arguments": ""}}
    yield _identified(id) | named
    for at in range(0, len(text), _ARGUMENT_PIECE):
        yield {"function": {"arguments": text[at : at + _ARGUMENT_PIECE]}}


def _function(call: Call) -> dict[str, str]:
    return {"name": call.name, "arguments": json.dumps(call.arguments)}


def _identified(id: str | None) -> Body:
    return {} if id is None else {"id": id}


def _chunk(
    asked: Body, delta: Body | None = None, *, finish: str | None = None, usage: Body | None = None
) -> Body:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    choices = [] if delta is None else [choice]
    return _head(asked, "chat.completion.chunk") | {"choices": choices, "usage": usage}


def _head(asked: Body, kind: str) -> Body:
    return {"id": "chatcmpl-0001", "object": kind, "created": 0, "model": asked["model"]}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
