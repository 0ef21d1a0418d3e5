"""What OpenAI's Responses refuse, rule by rule, with its own words."""

from __future__ import annotations

from typing import Any

import pytest

from remit.testing import RefusedError, check_responses
from remit.testing.provider.responses_wire import encrypted
from remit.testing.provider.signing import MAKER

HELLO = {"type": "message", "role": "user", "content": "Hello"}
FC, MSG = "fc_1_for_rs_1", "msg_1_for_rs_1"


def body(*items: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "gpt-test", "input": list(items) or [HELLO], "store": False, **fields}


def asks(id: str | None = "a", name: str = "add", arguments: Any = "{}", **more: Any) -> Any:
    item = {"type": "function_call", "name": name, "arguments": arguments, **more}
    return item if id is None else item | {"call_id": id}


def output(id: str = "a", text: Any = "3") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": text}


def thought(follower: str = FC, id: str = "rs_1", words: str = "Hm.", **more: Any) -> Any:
    kept = encrypted(id, words, follower, MAKER)
    summary = [{"type": "summary_text", "text": words}]
    return {"type": "reasoning", "id": id, "summary": summary, "encrypted_content": kept} | more


def answer(content: Any = "Hi", **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": content} | more


def function(schema: Any, name: str = "add", **fields: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": schema, **fields}


def form(schema: Any, **fields: Any) -> dict[str, Any]:
    kept = {"type": "json_schema", "name": "answer", "schema": schema, "strict": True} | fields
    return {"format": kept}


SHUT = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
OPEN = {"type": "object", "properties": {"a": {"type": "string"}}}

TAKEN = [
    body(),
    body(input="Hello"),
    body({"role": "user", "content": "Hello"}, answer(), HELLO, stream=True),
    body({"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}),
    body(HELLO, asks("a"), asks("b"), output("b"), output("a"), HELLO),
    body(HELLO, asks("a"), answer(), output("a")),
    body(HELLO, thought(), asks(id="a", **{"status": "completed"}) | {"id": FC}, output()),
    body(HELLO, thought(MSG), answer(id=MSG), HELLO),
    body(HELLO, asks() | {"id": "fc_9"}, output()),
    body(tools=[function(SHUT)], tool_choice={"type": "function", "name": "add"}),
    body(tools=[function(OPEN, strict=False)], tool_choice="required"),
    body(tools=[{"type": "web_search"}]),
    body(text=form(SHUT), reasoning={"effort": "low"}, max_output_tokens=16),
    body(text={"format": {"type": "text"}}),
]


@pytest.mark.parametrize("taken", TAKEN)
def test_what_openai_takes_passes(taken: dict[str, Any]) -> None:
    check_responses(taken)


REFUSED: list[tuple[dict[str, Any], str, str | None]] = [
    (body(temperature=float("nan")), "could not parse the JSON body", None),
    (body(asks(arguments="half \ud83d")), "could not parse the JSON body", None),
    (body(messages=[]), "Unknown parameter: 'messages'.", "messages"),
    ({"input": "Hi"}, "you must provide a model parameter", None),
    ({"model": "m"}, "Missing required parameter: 'input'.", "input"),
    (body() | {"input": []}, "not an empty one", "input"),
    (body() | {"input": 7}, "expected text or an array", "input"),
    (body("Hi"), "expected an object", "input[0]"),
    (body({"type": "web_search_call"}), "Invalid value: 'web_search_call'", "input[0].type"),
    (body({"type": "item_reference", "id": "rs_1"}), "Invalid value", "input[0].type"),
    (body(HELLO | {"name": "x"}), "Unknown parameter: 'input[0].name'.", "input[0].name"),
    (body(thought(status="completed")), "Unknown parameter: 'input[0].status'", "input[0].status"),
    (body(HELLO | {"status": None}), "but got null instead", "input[0].status"),
    (body(answer(id="item_1")), "begins with 'msg'", "input[0].id"),
    (body(asks() | {"id": "call_1"}, output()), "begins with 'fc'", "input[0].id"),
    (body({"role": "robot", "content": "Hi"}), "Invalid value: 'robot'.", "input[0].role"),
    (body({"role": "user"}), "Missing required", "input[0].content"),
    (body({"role": "user", "content": " "}), "empty string", "input[0].content"),
    (body({"role": "user", "content": []}), "empty string", "input[0].content"),
    (
        body({"role": "user", "content": [{"type": "input_text", "text": ""}]}),
        "empty string",
        "input[0].content[0].text",
    ),
    (
        body(answer([{"type": "input_text", "text": "Hi"}])),
        "Supported values are: 'output_text', 'refusal'.",
        "input[0].content[0].type",
    ),
    (body(HELLO, asks(None)), "Missing required parameter", "input[1].call_id"),
    (body(HELLO, asks("")), "empty string", "input[1].call_id"),
    (body(HELLO, asks("x" * 65)), "maximum length 64", "input[1].call_id"),
    (body(HELLO, asks(name="a b"), output()), "does not match pattern", "input[1].name"),
    (body(HELLO, asks(name="a" * 65), output()), "maximum length 64", "input[1].name"),
    (body(HELLO, asks(arguments=""), output()), "a JSON object as text", "input[1].arguments"),
    (body(HELLO, asks(arguments="[1]"), output()), "a JSON object", "input[1].arguments"),
    (body(HELLO, asks(arguments='{"a":NaN}'), output()), "a JSON obj", "input[1].arguments"),
    (body(HELLO, asks(arguments={}), output()), "a JSON object", "input[1].arguments"),
    (body(HELLO, asks(), output(text=" ")), "empty string", "input[2].output"),
    (body(HELLO, asks("a"), asks("a"), output()), "Duplicate 'function_call'", "input"),
    (body(HELLO, asks(), output(), output()), "Duplicate 'function_call_output'", "input"),
    (body(answer(id="msg_1"), HELLO, answer(id="msg_1")), "Duplicate item found", "input"),
    (body(HELLO, asks("a"), asks("b"), output("a")), "No tool output found for fun", "input"),
    (body(HELLO, output(), asks()), "No tool output found for function call a.", "input"),
    (body(HELLO, output("z")), "No tool call found for function call output with", "input"),
    (body(max_output_tokens=15), "Expected a value >= 16, but got 15", "max_output_tokens"),
    (body(max_output_tokens=True), "Expected a value >= 16", "max_output_tokens"),
    (body(tools=[]), "Invalid 'tools': empty array.", "tools"),
    (body(tools=[function(SHUT, name="a b")]), "does not match pattern", "tools[0].name"),
    (body(tools=[function(OPEN)]), "'additionalProperties' is required", "tools[0].parameters"),
    (body(tools=[function({"type": "array"})]), "must be a JSON Schema", "tools[0].parameters"),
    (body(tool_choice="auto"), "only allowed when 'tools' are", "tool_choice"),
    (
        body(tools=[function(SHUT)], tool_choice={"type": "function", "name": "b"}),
        "not found in 'tools'",
        "tool_choice",
    ),
    (body(text=form(OPEN)), "Invalid schema for response_format 'answer'", "text.format.schema"),
    (body(text=form(SHUT, name="")), "does not match pattern", "text.format.schema"),
    (body(HELLO, thought(), HELLO), "without its required following item", "input"),
    (body(HELLO, thought()), "without its required following item", "input"),
    (body(HELLO, thought(), asks(), output()), "without its required following item", "input"),
    (
        body(HELLO, asks() | {"id": FC}, output()),
        "without its required 'reasoning' item: 'rs_1'",
        "input",
    ),
    (
        body(HELLO, thought(encrypted_content="gAAA"), asks() | {"id": FC}, output()),
        "could not be verified",
        None,
    ),
    (
        body(HELLO, thought(summary=[]), asks() | {"id": FC}, output()),
        "could not be verified",
        None,
    ),
    (
        body(HELLO, {"type": "reasoning", "id": "rs_1", "summary": []}),
        "Items are not persisted when `store` is set to false",
        "input",
    ),
]


@pytest.mark.parametrize(("refused", "words", "param"), REFUSED)
def test_what_openai_refuses_is_refused_in_its_words(
    refused: dict[str, Any], words: str, param: str | None
) -> None:
    with pytest.raises(RefusedError) as caught:
        check_responses(refused)

    assert words in str(caught.value)
    assert caught.value.refusal.param == param
