"""What OpenAI refuses in a request, as a check of request bodies."""

from __future__ import annotations

import json
import re
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check(body: dict[str, Any]) -> None:
    """Raise AssertionError for a body that would be refused with status 400."""
    messages = body["messages"]
    assert messages
    _check_text(body)
    seen: set[str] = set()
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert waiting, "a result without a call"
            assert message["tool_call_id"] == waiting.pop(0), "results must follow their calls"
        else:
            assert not waiting, f"calls without results: {waiting}"
        _check_content(message)
        for call in message.get("tool_calls", ()):
            assert call["id"]
            assert len(call["id"]) <= 40
            assert call["id"] not in seen, "two calls of one id"
            assert _NAME.fullmatch(call["function"]["name"])
            assert isinstance(json.loads(call["function"]["arguments"], parse_constant=_no), dict)
            seen.add(call["id"])
            waiting.append(call["id"])
    assert not waiting, f"calls without results: {waiting}"


def _check_content(message: dict[str, Any]) -> None:
    content = message.get("content")
    if message["role"] == "assistant" and "tool_calls" in message:
        assert message["tool_calls"]
        assert content is None or content.strip()
    else:
        assert isinstance(content, str)
        assert content.strip(), f"an empty message: {message}"


def _check_text(body: dict[str, Any]) -> None:
    """All of it is UTF-8 and JSON."""
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


def _no(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")
