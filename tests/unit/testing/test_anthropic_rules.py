"""What Anthropic refuses, rule by rule, with its own words."""

from __future__ import annotations

from typing import Any

import pytest

from remit.testing import RefusedError, check_anthropic
from remit.testing.provider import sign

HELLO = {"role": "user", "content": "Hello"}


def body(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    given = list(messages) or [HELLO]
    return {"model": "claude-test", "max_tokens": 9, "messages": given, **fields}


def use(id: str = "a", name: str = "add", input: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": {} if input is None else input}


def result(id: str = "a", content: Any = "3") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content}


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def thinking(words: str = "hm", **fields: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": sign(words)} | fields


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def tool(schema: Any, name: str = "add") -> dict[str, Any]:
    return {"name": name, "description": "Adds.", "input_schema": schema}


MARK = {"cache_control": {"type": "ephemeral"}}
OBJECT = {"type": "object", "properties": {}}
TAKEN = [
    body(),
    body(HELLO, assistant(use("a"), use("b")), user(result("b"), result("a"), text("Go on"))),
    body(HELLO, assistant(thinking(), use()), user(result()), thinking={"type": "enabled"}),
    body(HELLO, {"role": "assistant", "content": "Hi"}, HELLO, {"role": "system", "content": "S"}),
    body(system="Help.", tools=[tool(OBJECT)], tool_choice={"type": "auto"}, stream=True),
    body(HELLO, assistant({"type": "server_tool_use", "id": "s"}, text("Hi")), HELLO),
    body(user(*[text("Hi") | MARK] * 3), tools=[tool(OBJECT) | MARK]),
]


@pytest.mark.parametrize("taken", TAKEN)
def test_what_anthropic_takes_passes(taken: dict[str, Any]) -> None:
    check_anthropic(taken)


REFUSED: list[tuple[dict[str, Any], str]] = [
    (body(metadata={"user_id": float("inf")}), "The request body is not valid JSON"),
    ({"model": "m", "messages": [HELLO]}, "max_tokens: Field required"),
    ({"max_tokens": 9, "messages": [HELLO]}, "model: Field required"),
    ({"max_tokens": 9, "model": "m"}, "messages: Field required"),
    (body(temperature=0), "temperature: Extra inputs are not permitted"),
    (body(top_p=1), "top_p: Extra inputs are not permitted"),
    (body() | {"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
    (body() | {"max_tokens": "9"}, "max_tokens: Input should be a valid integer"),
    (body() | {"messages": []}, "messages: at least one message is required"),
    (body() | {"messages": "Hi"}, "messages: Input should be a valid list"),
    (body({"role": "tool", "content": "3"}), "messages.0.role: Input should be 'user'"),
    (body({"role": "user"}), "messages.0.content: Field required"),
    (body(HELLO | {"name": "x"}), "messages.0.name: Extra inputs are not permitted"),
    (body(assistant(text("Hi")), HELLO), 'messages: first message must use the "user" role'),
    (body(HELLO, HELLO), 'roles must alternate between "user" and "assistant"'),
    (body(HELLO, assistant(text("Hi"))), "does not support assistant message prefill"),
    (body({"role": "user", "content": ""}), "messages.0: all messages must have non-empty content"),
    (body(user()), "messages.0: all messages must have non-empty content"),
    (body(user(text(""))), "messages: text content blocks must be non-empty"),
    (body(user(text(" \n"))), "messages: text content blocks must contain non-whitespace text"),
    (body(system=""), "system: text content blocks must be non-empty"),
    (body(user({"text": "Hi"})), "messages.0.content.0.type: Field required"),
    (body(user({"type": "text"})), "messages.0.content.0.text.text: Field required"),
    (body(user(text("Hi") | {"x": 1})), "messages.0.content.0.text.x: Extra inputs"),
    (body(user(text("Hi") | {"citations": [1]})), "text.citations: Extra inputs"),
    (body(user(use())), "messages.0.content.0: `tool_use` blocks can only be in `assistant`"),
    (body(HELLO, assistant(result()), HELLO), "`tool_result` blocks can only be in `user`"),
    (
        body(HELLO, assistant({"type": "document", "source": {}}), HELLO),
        "`document` blocks can only be in `user` messages",
    ),
    (
        body(HELLO, assistant(use("a b")), user(result("a b"))),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    (
        body(HELLO, assistant(use(name="drop table")), user(result())),
        "messages.1.content.0.tool_use.name: String should match pattern",
    ),
    (
        body(HELLO, assistant(use(input="{}")), user(result())),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    (
        body(HELLO, assistant(use()), user(result(content=[text("")]))),
        "tool_result.content: text content blocks must be non-empty",
    ),
    (
        body(HELLO, assistant(use("a"), use("b")), user(result("a"))),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b."
        " Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    (
        body(HELLO, assistant(use()), user(text("First"), result())),
        "`tool_use` ids were found without `tool_result` blocks immediately after: a.",
    ),
    (
        body(user(result())),
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a. Each"
        " `tool_result` block must have a corresponding `tool_use` block in the previous message.",
    ),
    (
        body(HELLO, assistant(use(), use()), user(result())),
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    (
        body(HELLO, assistant(use()), user(result()), assistant(use()), user(result())),
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    (
        body(HELLO, assistant(use()), user(result(), result())),
        "messages.2.content.1: each tool_use must have a single result.",
    ),
    (
        body(HELLO, assistant(thinking(signature="c2ln"), text("Hi")), HELLO),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    (
        body(HELLO, assistant(thinking() | {"thinking": "hm."}, text("Hi")), HELLO),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    (
        body(HELLO, assistant({"type": "thinking", "thinking": "hm"}, text("Hi")), HELLO),
        "messages.1.content.0.thinking.signature: Field required",
    ),
    (
        body(HELLO, assistant(thinking(" "), text("Hi")), HELLO),
        "each thinking block must contain thinking",
    ),
    (
        body(HELLO, assistant({"type": "redacted_thinking", "data": ""}, text("Hi")), HELLO),
        "Invalid `data` in `redacted_thinking` block",
    ),
    (
        body(HELLO, assistant(text("Hi"), use()), user(result()), thinking={"type": "enabled"}),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
    ),
    (body(tools=[tool(OBJECT, "a b")]), "tools.0.custom.name: String should match pattern"),
    (body(tools=[tool(OBJECT), tool(OBJECT)]), "tools: Tool names must be unique."),
    (body(tools=[{"name": "add"}]), "tools.0.custom.input_schema: Field required"),
    (body(tools=[tool({})]), "tools.0.custom.input_schema.type: Field required"),
    (body(tools=[tool({"type": "array"})]), "input_schema.type: Input should be 'object'"),
    (body(tools=[tool(OBJECT | {"anyOf": []})]), "does not support oneOf, allOf, or anyOf"),
    (
        body(tools=[tool({"type": "object", "properties": {"a": {"type": "text"}}})]),
        "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft",
    ),
    (body(user(*[text("Hi") | MARK] * 4), system=[text("Help.") | MARK]), "Found 5."),
    (body(user(*[text("Hi") | MARK] * 4), **MARK), "A maximum of 4 blocks with cache_control"),
    (body(tool_choice={"type": "any"}), "may only be specified while providing tools"),
]


@pytest.mark.parametrize(("refused", "words"), REFUSED)
def test_what_anthropic_refuses_is_refused_in_its_words(
    refused: dict[str, Any], words: str
) -> None:
    with pytest.raises(RefusedError) as raised:
        check_anthropic(refused)

    refusal = raised.value.refusal
    assert words in refusal.message
    assert refusal.status == 400
    assert refusal.as_anthropic()["error"]["type"] == "invalid_request_error"


def test_thinking_goes_back_to_its_own_maker_alone() -> None:
    thought = body(HELLO, assistant(thinking(), text("Hi")), HELLO)
    check_anthropic(thought)
    with pytest.raises(RefusedError, match="Invalid `signature`"):
        check_anthropic(thought, maker="another")
