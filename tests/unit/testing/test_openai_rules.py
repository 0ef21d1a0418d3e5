"""What OpenAI refuses, rule by rule, with its own words."""

from __future__ import annotations

from typing import Any

import pytest

from remit.testing import RefusedError, check_openai

HELLO = {"role": "user", "content": "Hello"}


def body(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"model": "gpt-test", "messages": list(messages) or [HELLO], **fields}


def asks(*ids: str, name: str = "add", arguments: Any = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    calls = [{"id": id, "type": "function", "function": function} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(id: str = "a", content: Any = "3") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content}


def function(schema: Any, name: str = "add", **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": schema, **fields}}


def closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def kept(schema: Any, name: str = "answer", **fields: Any) -> dict[str, Any]:
    told = {"name": name, "schema": schema, **fields}
    return {"response_format": {"type": "json_schema", "json_schema": told}}


TAKEN = [
    body(**kept(closed(a={"type": "string"}), strict=True)),
    body(**kept({"type": "object", "properties": {}})),
    body(response_format={"type": "json_object"}),
    body(),
    body({"role": "system", "content": "Help."}, HELLO, max_completion_tokens=9),
    body(HELLO, asks("a", "b"), result("b"), result("a")),
    body(HELLO, asks("a"), result("a"), asks("b"), result("b"), HELLO, stream=True),
    body({"role": "user", "content": [{"type": "text", "text": "Hi"}]}),
    body(tools=[function({"type": "object", "properties": {}})], tool_choice="auto"),
    body(tools=[function(closed(a={"type": "array", "items": {}}), strict=True)]),
    body(stream=True, stream_options={"include_usage": True}),
]


@pytest.mark.parametrize("taken", TAKEN)
def test_what_openai_takes_passes(taken: dict[str, Any]) -> None:
    check_openai(taken)


REFUSED: list[tuple[dict[str, Any], str, str | None]] = [
    (
        body(**kept({"type": "array", "items": {}}, strict=True)),
        "'type: \"object\"'",
        "response_format",
    ),
    (body(**kept(closed(), name="an answer")), "pattern", "response_format.json_schema.name"),
    (body(**kept(closed(a={"type": "text"}))), "not valid under any", "response_format"),
    (
        body(**kept({"type": "object", "properties": {}}, strict=True)),
        "'additionalProperties' is required",
        "response_format",
    ),
    (body(temperature=float("nan")), "could not parse the JSON body", None),
    (body({"role": "user", "content": "half \ud83d"}), "could not parse the JSON body", None),
    (body(top_k=3), "Unrecognized request argument supplied: top_k", None),
    (body(top_k=3, system="x"), "Unrecognized request arguments supplied: top_k, system", None),
    ({"messages": [HELLO]}, "you must provide a model parameter", None),
    ({"model": "m"}, "Missing required parameter: 'messages'.", "messages"),
    (body() | {"messages": []}, "Invalid 'messages': empty array.", "messages"),
    (body() | {"messages": "Hi"}, "Invalid type for 'messages'", "messages"),
    (body({"role": "robot", "content": "Hi"}), "Invalid value: 'robot'.", "messages[0].role"),
    (body(HELLO | {"id": "1"}), "Unknown parameter: 'messages[0].id'.", "messages[0].id"),
    (body({"role": "user", "content": None}), "expected a string, got null", "messages[0].content"),
    (body({"role": "user", "content": ""}), "empty string", "messages[0].content"),
    (body({"role": "user", "content": " \n"}), "empty string", "messages[0].content"),
    (body({"role": "user", "content": []}), "empty array", "messages[0].content"),
    (
        body({"role": "user", "content": [{"type": "text", "text": " "}]}),
        "empty string",
        "messages[0].content[0].text",
    ),
    (body(HELLO, {"role": "assistant", "content": None}), "got null", "messages[1].content"),
    (
        body(HELLO, {"role": "assistant", "content": "Hi", "tool_calls": []}),
        "Invalid 'messages[1].tool_calls': empty array.",
        "messages[1].tool_calls",
    ),
    (body(HELLO, asks(""), result("")), "minimum length 1", "messages[1].tool_calls[0].id"),
    (
        body(HELLO, asks("x" * 41), result("x" * 41)),
        "maximum length 40, but got a string with length 41 instead.",
        "messages[1].tool_calls[0].id",
    ),
    (
        body(HELLO, asks("a", name="drop table"), result()),
        "does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        "messages[1].tool_calls[0].function.name",
    ),
    (
        body(HELLO, asks("a", arguments={}), result()),
        "expected a string, but got an object instead.",
        "messages[1].tool_calls[0].function.arguments",
    ),
    (
        body(HELLO, asks("a", arguments='{"a": NaN}'), result()),
        "expected a JSON object",
        "messages[1].tool_calls[0].function.arguments",
    ),
    (
        body(HELLO, asks("a", "a"), result("a"), result("a")),
        "Duplicate value for 'tool_call_id' of 'a'",
        "messages",
    ),
    (body(HELLO, asks("a"), result(), asks("a"), result()), "Duplicate value", "messages"),
    (
        body(HELLO, asks("a", "b"), result("a")),
        "must be followed by tool messages responding to each 'tool_call_id'. The following"
        " tool_call_ids did not have response messages: b",
        "messages.[3].role",
    ),
    (
        body(HELLO, asks("a"), HELLO, result("a")),
        "did not have response messages: a",
        "messages.[2].role",
    ),
    (
        body(HELLO, result("a")),
        "messages with role 'tool' must be a response to a preceeding message",
        "messages.[1].role",
    ),
    (
        body(HELLO, asks("a"), result("a"), result("a")),
        "'tool_call_id' of 'a' not found in 'tool_calls' of previous message.",
        "messages.[3].tool_call_id",
    ),
    (body(max_tokens="9"), "Invalid type for 'max_tokens'", "max_tokens"),
    (body(max_completion_tokens=0), "Expected a value >= 1, but got 0", "max_completion_tokens"),
    (body(max_tokens=1, max_completion_tokens=1), "at the same time is not supported", None),
    (body(stream_options={}), "only allowed when 'stream' is enabled", "stream_options"),
    (body(tools=[]), "Invalid 'tools': empty array.", "tools"),
    (body(tool_choice="auto"), "only allowed when 'tools' are specified", "tool_choice"),
    (
        body(tools=[function(closed(), name="a b")]),
        "Invalid 'tools[0].function.name': string does not match pattern.",
        "tools[0].function.name",
    ),
    (
        body(tools=[function(closed(), name="a" * 65)]),
        "maximum length 64",
        "tools[0].function.name",
    ),
    (
        body(tools=[function({"type": "array", "items": {}})]),
        """schema must be a JSON Schema of 'type: "object"', got 'type: "array"'.""",
        "tools[0].function.parameters",
    ),
    (
        body(tools=[function(closed(a={"type": "text"}))]),
        "Invalid schema for function 'add': In context=('properties', 'a'), 'text' is not valid",
        "tools[0].function.parameters",
    ),
    (
        body(tools=[function(closed(a={"type": "array"}))]),
        "In context=('properties', 'a'), array schema missing items.",
        "tools[0].function.parameters",
    ),
    (
        body(tools=[function({"type": "object", "properties": {}}, strict=True)]),
        "'additionalProperties' is required to be supplied and to be false.",
        "tools[0].function.parameters",
    ),
    (
        body(tools=[function(closed(a={"type": "null"}) | {"required": []}, strict=True)]),
        "an array including every key in properties. Missing 'a'.",
        "tools[0].function.parameters",
    ),
]


@pytest.mark.parametrize(("refused", "words", "param"), REFUSED)
def test_what_openai_refuses_is_refused_in_its_words(
    refused: dict[str, Any], words: str, param: str | None
) -> None:
    with pytest.raises(RefusedError) as raised:
        check_openai(refused)

    refusal = raised.value.refusal
    assert words in refusal.message
    assert (refusal.status, refusal.param) == (400, param)
    assert refusal.as_openai()["error"]["type"] == "invalid_request_error"


def test_fields_of_other_servers_are_taken_where_they_are_named() -> None:
    thought = {"role": "assistant", "content": "Hi", "reasoning_content": "hm"}
    check_openai(body(HELLO, thought), also=("reasoning_content",))
    with pytest.raises(RefusedError, match=r"Unknown parameter: 'messages\[1\].reasoning_content'"):
        check_openai(body(HELLO, thought))


def test_an_error_is_a_failed_assertion() -> None:
    with pytest.raises(AssertionError, match="empty array"):
        check_openai(body() | {"messages": []})
