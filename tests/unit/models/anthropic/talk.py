"""Conversations to send to Anthropic, and the bodies that send them."""

from __future__ import annotations

from typing import Any

from remit.models.anthropic import AnthropicMessages
from remit.models.request import ModelRequest
from remit.testing.provider import sign
from remit.values.content import Call, Image, Pdf, Reasoning, Text
from remit.values.messages import (
    AssistantMessage,
    Message,
    ResultStatus,
    ToolMessage,
    UserMessage,
)

MAKER = "anthropic:claude-test"


def user(*parts: str | Text | Image | Pdf) -> UserMessage:
    return UserMessage(tuple(Text(part) if isinstance(part, str) else part for part in parts))


def said(*parts: Text | Reasoning | Call) -> AssistantMessage:
    return AssistantMessage(parts, MAKER)


def call(id: str, **arguments: Any) -> Call:
    return Call(id, "find_order", arguments, f"run/0/{id}")


def result(id: str, text: str = "shipped", status: ResultStatus = "ok") -> ToolMessage:
    return ToolMessage(id, "find_order", text, status)


def thought(text: str, maker: str = MAKER) -> Reasoning:
    return Reasoning(text, sign(text), maker)


def body(request: ModelRequest, **options: Any) -> dict[str, Any]:
    return AnthropicMessages("claude-test", **options).body(request)


CALLED: list[Message] = [
    user("Where?"),
    said(thought("Look."), Text("Let me see."), call("c1", number="A-1"), call("c2")),
    result("c1"),
    result("c2", "No such order.", "error"),
]
