"""What Anthropic's Messages refuse (API version 2026-10-21), one rule each, with its words.

One rule is stricter than Anthropic itself, which joins messages of one role: other servers of its
models refuse them.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from remit.testing.provider.anthropic_blocks import (
    BLOCK_RULES,
    blocks_of,
    thinking_comes_first,
    thinking_is_signed,
)
from remit.testing.provider.anthropic_tools import TOOL_RULES
from remit.testing.provider.plain_json import unsendable
from remit.testing.provider.refusal import Body, Refusal, RefusedError, Rule, first, repeated
from remit.testing.provider.signing import MAKER

_FIELDS = frozenset(
    [
        "cache_control",
        "container",
        "context_management",
        "inference_geo",
        "max_tokens",
        "mcp_servers",
        "messages",
        "metadata",
        "model",
        "output_config",
        "output_format",
        "service_tier",
        "speed",
        "stop_sequences",
        "stream",
        "system",
        "thinking",
        "tool_choice",
        "tools",
    ]
)
_ROLES = ("user", "assistant", "system")


def check_anthropic(body: Body, *, maker: str = MAKER) -> None:
    """Raise RefusedError for a body of a Messages request that Anthropic would refuse.

    Thinking has to be signed by `maker`, as `sign(thinking, maker)` does it.
    """
    refusal = refused_by_anthropic(body, maker=maker)
    if refusal is not None:
        raise RefusedError(refusal)


def refused_by_anthropic(body: Body, *, maker: str = MAKER) -> Refusal | None:
    """Anthropic's refusal of a request's body; None for one that it takes."""
    return first((*RULES, partial(thinking_is_signed, maker=maker)), body)


def is_json(body: Body) -> Refusal | None:
    """All of it is JSON in UTF-8: no bare NaN, no half characters."""
    why = unsendable(body) if isinstance(body, dict) else "it is no object"
    return None if why is None else Refusal(message=f"The request body is not valid JSON: {why}")


def fields_are_there(body: Body) -> Refusal | None:
    """A model, messages and the most tokens of the answer are given."""
    for name in ("model", "messages", "max_tokens"):
        if body.get(name) is None:
            return Refusal(message=f"{name}: Field required")
    return None


def fields_are_known(body: Body) -> Refusal | None:
    """No field that the vendor does not know; `temperature` and its like are gone."""
    for name in body:
        if name not in _FIELDS:
            return Refusal(message=f"{name}: Extra inputs are not permitted")
    return None


def cap_is_a_number(body: Body) -> Refusal | None:
    """`max_tokens` is a number from 1 on."""
    value = body["max_tokens"]
    if type(value) is not int:
        return Refusal(message="max_tokens: Input should be a valid integer")
    if value < 1:
        return Refusal(message="max_tokens: Input should be greater than or equal to 1")
    return None


def messages_are_messages(body: Body) -> Refusal | None:
    """There are messages, each with a role and content alone."""
    messages = body["messages"]
    if not isinstance(messages, list):
        return Refusal(message="messages: Input should be a valid list")
    if not messages:
        return Refusal(message="messages: at least one message is required")
    for at, message in enumerate(messages):
        found = _message_fault(f"messages.{at}", message)
        if found is not None:
            return found
    return None


def roles_take_turns(body: Body) -> Refusal | None:
    """A user's message comes first, and no role twice in a row."""
    roles = [message["role"] for message in body["messages"]]
    if roles[0] == "assistant":
        return Refusal(message='messages: first message must use the "user" role')
    for one, other in pairwise(roles):
        if one == other:
            return Refusal(
                message='messages: roles must alternate between "user" and "assistant", but found'
                f' multiple "{one}" roles in a row'
            )
    return None


def user_has_the_last_word(body: Body) -> Refusal | None:
    """The conversation ends with a user's message."""
    if body["messages"][-1]["role"] != "assistant":
        return None
    return Refusal(
        message="This model does not support assistant message prefill. The conversation must end"
        " with a user message."
    )


def texts_are_said(body: Body) -> Refusal | None:
    """No text is empty or blank, nor any message without content."""
    for block in _system(body):
        if block.get("type") == "text" and not str(block.get("text", "")).strip():
            return Refusal(message="system: text content blocks must be non-empty")
    for at, message in enumerate(body["messages"]):
        blocks = blocks_of(message)
        if message["content"] in ("", []):
            return Refusal(
                message=f"messages.{at}: all messages must have non-empty content except for the"
                " optional final assistant message"
            )
        texts = [str(b.get("text", "")) for b in blocks if b.get("type") == "text"]
        if "" in texts:
            return Refusal(message="messages: text content blocks must be non-empty")
        if not all(text.strip() for text in texts):
            return Refusal(message="messages: text content blocks must contain non-whitespace text")
    return None


def calls_have_results(body: Body) -> Refusal | None:
    """Each call has its result at the front of the very next message."""
    messages = body["messages"]
    for at, message in enumerate(messages):
        calls = [b["id"] for b in blocks_of(message) if b["type"] == "tool_use"]
        after = messages[at + 1] if at + 1 < len(messages) else {"content": []}
        results = _front_results(after)
        missing = [id for id in calls if id not in results]
        if missing:
            return Refusal(
                message=f"messages.{at}: `tool_use` ids were found without `tool_result` blocks"
                f" immediately after: {', '.join(missing)}. Each `tool_use` block must have a"
                " corresponding `tool_result` block in the next message."
            )
    return None


def results_have_calls(body: Body) -> Refusal | None:
    """Each result stands right behind its call."""
    called: set[str] = set()
    for at, message in enumerate(body["messages"]):
        for number, block in enumerate(blocks_of(message)):
            if block["type"] == "tool_result" and block["tool_use_id"] not in called:
                return Refusal(
                    message=f"messages.{at}.content.{number}: unexpected `tool_use_id` found in"
                    f" `tool_result` blocks: {block['tool_use_id']}. Each `tool_result` block must"
                    " have a corresponding `tool_use` block in the previous message."
                )
        called = {b["id"] for b in blocks_of(message) if b["type"] == "tool_use"}
    return None


def ids_are_unique(body: Body) -> Refusal | None:
    """No two calls have one id, and no call two results."""
    seen: set[str] = set()
    for at, message in enumerate(body["messages"]):
        for number, block in enumerate(blocks_of(message)):
            if block["type"] == "tool_use":
                if block["id"] in seen:
                    words = f"messages.{at}.content.{number}: `tool_use` ids must be unique"
                    return Refusal(message=words)
                seen.add(block["id"])
        results = [b.get("tool_use_id", "") for b in blocks_of(message)]
        for number, id in repeated([id or f"#{n}" for n, id in enumerate(results)]):
            return Refusal(
                message=f"messages.{at}.content.{number}: each tool_use must have a single result."
                f" Found multiple `tool_result` blocks with id: {id}"
            )
    return None


RULES: tuple[Rule, ...] = (
    is_json,
    fields_are_there,
    fields_are_known,
    cap_is_a_number,
    messages_are_messages,
    *BLOCK_RULES,
    texts_are_said,
    roles_take_turns,
    user_has_the_last_word,
    ids_are_unique,
    calls_have_results,
    results_have_calls,
    thinking_comes_first,
    *TOOL_RULES,
)


def _message_fault(place: str, message: object) -> Refusal | None:
    if not isinstance(message, dict):
        return Refusal(message=f"{place}: Input should be an object")
    for name in ("role", "content"):
        if name not in message:
            return Refusal(message=f"{place}.{name}: Field required")
    for name in message:
        if name not in ("role", "content"):
            return Refusal(message=f"{place}.{name}: Extra inputs are not permitted")
    if message["role"] not in _ROLES:
        words = f"{place}.role: Input should be 'user', 'assistant' or 'system'"
        return Refusal(message=words)
    if not isinstance(message["content"], str | list):
        return Refusal(message=f"{place}.content: Input should be a valid list")
    return None


def _front_results(message: Body) -> list[str]:
    found = []
    for block in blocks_of(message):
        if block["type"] != "tool_result":
            break
        found.append(block["tool_use_id"])
    return found


def _system(body: Body) -> list[Body]:
    system = body.get("system")
    if isinstance(system, str):
        return [{"type": "text", "text": system}]
    return system or []
