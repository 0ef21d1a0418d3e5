"""Where a request's prompt is cut for the cache."""

from __future__ import annotations

from typing import Any, Literal

Kept = Literal["5m", "1h"]
"""How long the cache keeps a prompt that nobody asks for."""

_TURNS = 2


def mark(body: dict[str, Any], kept: Kept) -> None:
    """Set at most four marks: behind the tools, behind the instructions, and behind what the user
    said last and next to last.

    The next request finds this one's last mark again as its next to last, however many blocks an
    answer and its results added in between. Marks are no part of what is cached.
    """
    control = {"type": "ephemeral"} if kept == "5m" else {"type": "ephemeral", "ttl": kept}
    said = [turn["content"] for turn in body["messages"] if turn["role"] == "user"]
    for blocks in (body.get("tools"), body.get("system"), *said[-_TURNS:]):
        if blocks:
            blocks[-1]["cache_control"] = control
