"""What Anthropic refuses in the blocks of a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from remit.testing.provider.refusal import Body, Refusal, Rule
from remit.testing.provider.signing import MAKER, sign

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MARKS = 4
_FIELDS = {
    "text": {"text", "cache_control", "citations"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
    "tool_use": {"id", "name", "input", "cache_control", "caller"},
    "tool_result": {"tool_use_id", "content", "is_error", "cache_control"},
    "image": {"source", "cache_control"},
    "document": {"source", "title", "context", "citations", "cache_control"},
}
_NEEDED = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id",),
    "image": ("source",),
    "document": ("source",),
}
_ONLY = {
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "tool_use": "assistant",
    "tool_result": "user",
    "image": "user",
    "document": "user",
}


def blocks_of(message: Body) -> list[Body]:
    """A message's content as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def blocks_are_blocks(body: Body) -> Refusal | None:
    """Each block has a type, what that type needs, and nothing else."""
    for place, _, block in _blocks(body):
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str):
            return Refusal(message=f"{place}.type: Field required")
        for name in _NEEDED.get(kind, ()):
            if block.get(name) is None:
                return Refusal(message=f"{place}.{kind}.{name}: Field required")
        for name in block:
            if kind in _FIELDS and name != "type" and name not in _FIELDS[kind]:
                return Refusal(message=f"{place}.{kind}.{name}: Extra inputs are not permitted")
    return None


def blocks_fit_their_role(body: Body) -> Refusal | None:
    """Calls and thinking are the assistant's; results, images and documents are the user's."""
    for place, role, block in _blocks(body):
        kind = block["type"]
        if kind in _ONLY and role != _ONLY[kind]:
            words = f"{place}: `{kind}` blocks can only be in `{_ONLY[kind]}` messages"
            return Refusal(message=words)
        if kind == "text" and role == "user" and block.get("citations"):
            return Refusal(message=f"{place}.text.citations: Extra inputs are not permitted")
    return None


def calls_are_calls(body: Body) -> Refusal | None:
    """Calls have legal ids and names, and input that is an object."""
    for place, _, block in _blocks(body):
        if block["type"] == "tool_use":
            found = _call_fault(f"{place}.tool_use", block)
        elif block["type"] == "tool_result":
            found = _unmatched(f"{place}.tool_result.tool_use_id", block["tool_use_id"], _ID)
        else:
            continue
        if found is not None:
            return found
    return None


def results_are_said(body: Body) -> Refusal | None:
    """No text block in a result is empty."""
    for place, _, block in _blocks(body):
        content = block.get("content") if block["type"] == "tool_result" else None
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "text" and not part.get("text", "").strip():
                words = f"{place}.tool_result.content: text content blocks must be non-empty"
                return Refusal(message=words)
    return None


def thinking_is_signed(body: Body, *, maker: str = MAKER) -> Refusal | None:
    """Thinking comes back byte for byte, with the signature of its own maker."""
    for place, _, block in _blocks(body):
        if block["type"] == "redacted_thinking" and not block["data"]:
            return Refusal(message=f"{place}: Invalid `data` in `redacted_thinking` block")
        if block["type"] != "thinking":
            continue
        if not block["thinking"].strip():
            words = f"{place}.thinking: each thinking block must contain thinking"
            return Refusal(message=words)
        if block["signature"] != sign(block["thinking"], maker):
            return Refusal(message=f"{place}: Invalid `signature` in `thinking` block")
    return None


def thinking_comes_first(body: Body) -> Refusal | None:
    """With thinking on, the assistant's last message with calls begins with its thinking."""
    if (body.get("thinking") or {}).get("type") != "enabled":
        return None
    for at in range(len(body["messages"]) - 1, -1, -1):
        message = body["messages"][at]
        kinds = [block["type"] for block in blocks_of(message)]
        if message["role"] != "assistant" or "tool_use" not in kinds:
            continue
        if kinds[0] in ("thinking", "redacted_thinking"):
            return None
        return Refusal(
            message=f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`,"
            f" but found `{kinds[0]}`. When `thinking` is enabled, a final `assistant` message"
            " must start with a thinking block (preceeding the lastmost set of `tool_use` and"
            " `tool_result` blocks)."
        )
    return None


def marks_are_few(body: Body) -> Refusal | None:
    """At most four places are marked for the cache, one field for all of it included."""
    system = body.get("system")
    holders = [body, *(body.get("tools") or ()), *(system if isinstance(system, list) else ())]
    holders += [block for _, _, block in _blocks(body)]
    marks = sum(holder.get("cache_control") is not None for holder in holders)
    if marks <= _MARKS:
        return None
    words = f"A maximum of {_MARKS} blocks with cache_control may be provided. Found {marks}."
    return Refusal(message=words)


BLOCK_RULES: tuple[Rule, ...] = (
    blocks_are_blocks,
    blocks_fit_their_role,
    calls_are_calls,
    results_are_said,
    marks_are_few,
)


def _blocks(body: Body) -> Iterator[tuple[str, str, Any]]:
    for at, message in enumerate(body["messages"]):
        for number, block in enumerate(blocks_of(message)):
            yield f"messages.{at}.content.{number}", message["role"], block


def _call_fault(place: str, block: Body) -> Refusal | None:
    found = _unmatched(f"{place}.id", block["id"], _ID)
    found = found or _unmatched(f"{place}.name", block["name"], _NAME)
    if found is None and not isinstance(block["input"], dict):
        return Refusal(message=f"{place}.input: Input should be a valid dictionary")
    return found


def _unmatched(place: str, value: object, pattern: re.Pattern[str]) -> Refusal | None:
    if isinstance(value, str) and pattern.fullmatch(value):
        return None
    return Refusal(message=f"{place}: String should match pattern '^{pattern.pattern}$'")
