"""What a server may refuse in a request, and what we promise beyond that."""

from __future__ import annotations

from typing import Any

from remit.testing import check_openai


def check(body: dict[str, Any]) -> None:
    """Raise AssertionError for a body that would be refused with status 400, and for results
    that are not in the order of their calls."""
    check_openai(body, also=("reasoning_content", "reasoning", "reasoning_details"))
    waiting: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0), "results must follow their calls"
        waiting += [call["id"] for call in message.get("tool_calls", ())]
