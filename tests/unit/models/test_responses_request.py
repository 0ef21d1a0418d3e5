"""What is sent to Responses: valid, in order, and the same bytes for the same request."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseInputParam
from pydantic import TypeAdapter

from remit.agent.history import mend
from remit.models.openai_responses.schemas import closed
from remit.models.request import OutputSpec, ToolSpec
from remit.testing import check_responses
from remit.values.content import Call, Image, Pdf, Reasoning, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tests.unit.models.asking import asked, tool
from tests.unit.models.responses import body_of, thought

MAKER = "openai-responses:gpt-test"
SHAPE: TypeAdapter[Any] = TypeAdapter(ResponseInputParam)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
PDF = b"%PDF-1.7\n" + bytes(20)


def said(*parts: Any) -> UserMessage:
    return UserMessage(parts)


def answered(*parts: Any, maker: str = MAKER) -> AssistantMessage:
    return AssistantMessage(parts, maker)


def asks(id: str = "call_1", item: str | None = "fc_1", **arguments: Any) -> Call:
    return Call(id, "find_order", arguments, id, signature=item)


def result(id: str = "call_1", text: str = "sent") -> ToolMessage:
    return ToolMessage(id, "find_order", text)


def reasoned(id: str = "rs_1", maker: str = MAKER) -> Reasoning:
    return Reasoning("Hm.", json.dumps(thought(id, "Hm.")), maker)


def mark(id: str | None = "msg_1", maker: str = MAKER, **fields: str) -> Reasoning:
    kept = fields if id is None else {"id": id} | fields
    return Reasoning("", json.dumps(kept), maker, "message")


ASK = said(Text("Where is it?"))


def items(*messages: Message, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body_of(asked(ASK, *messages), **options)["input"]
    return found[1:]


def sorts(*messages: Message, **options: Any) -> list[str]:
    return [item["type"] for item in items(*messages, **options)]


def test_a_request_says_all_and_leaves_nothing_with_the_server() -> None:
    body = body_of(asked(tools=[tool()], max_output=99))

    assert body["input"] == [{"type": "message", "role": "user", "content": "Hello"}]
    assert (body["instructions"], body["max_output_tokens"]) == ("Help.", 99)
    assert (body["store"], body["stream"]) == (False, True)
    assert body["include"] == ["reasoning.encrypted_content"]
    assert list(body)[-1] == "input"
    check_responses(body)


def test_instructions_that_say_nothing_are_left_out() -> None:
    assert "instructions" not in body_of(asked(instructions=" "))


def test_a_model_that_does_not_reason_is_not_asked_for_it() -> None:
    body = body_of(asked(ASK, answered(reasoned(), mark(), Text("Here."))), reasons=False)

    assert "include" not in body
    assert [item["type"] for item in body["input"]] == ["message", "message"]


def test_effort_summary_and_further_fields_are_sent() -> None:
    body = body_of(
        asked(),
        effort="low",
        summary="auto",
        options={"service_tier": "flex", "text": {"verbosity": "low"}},
    )

    assert body["reasoning"] == {"effort": "low", "summary": "auto"}
    assert (body["service_tier"], body["text"]) == ("flex", {"verbosity": "low"})
    check_responses(body)


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("auto", None),
        ("none", "none"),
        ("required", "required"),
        ("find_order", {"type": "function", "name": "find_order"}),
    ],
)
def test_what_must_be_called_is_told(choice: str, sent: Any) -> None:
    body = body_of(asked(tools=[tool()], tool_choice=choice))

    assert body.get("tool_choice") == sent
    check_responses(body)


def test_images_and_pdfs_have_the_shape_that_the_vendor_documents() -> None:
    url = "https://files.example.com/a"
    parts = (Text("What?"), Image(PNG), Image(url=url), Pdf(PDF, name="a.pdf"), Pdf(url=url))
    [sent] = body_of(asked(said(*parts)))["input"]

    assert sent["content"] == [
        {"type": "input_text", "text": "What?"},
        {
            "type": "input_image",
            "image_url": f"data:image/png;base64,{base64.b64encode(PNG).decode()}",
            "detail": "auto",
        },
        {"type": "input_image", "image_url": url, "detail": "auto"},
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": f"data:application/pdf;base64,{base64.b64encode(PDF).decode()}",
        },
        {"type": "input_file", "file_url": url},
    ]
    # The official package's own types take it.
    SHAPE.validate_python([sent])


def test_calls_stand_in_their_place_and_outputs_behind_them_in_order() -> None:
    one, two = asks("a", n=1), asks("b", n=2)

    sent = items(answered(Text("Look."), one, two, Text("Wait.")), result("b"), result("a", " "))

    assert [item["type"] for item in sent] == [
        *("message", "function_call", "function_call", "message"),
        *("function_call_output", "function_call_output"),
    ]
    assert [item["call_id"] for item in sent if "call_id" in item] == ["a", "b", "a", "b"]
    assert [item["output"] for item in sent[-2:]] == ["(empty)", "sent"]


def test_what_an_answer_lacks_is_mended() -> None:
    twice = answered(asks("a"), asks("a", item="fc_2"), Text(" "))

    sent = items(twice, result("a"), result("nobody's"), said(Text(" ")))

    assert [item.get("call_id") for item in sent] == ["a", "a_2", "a", "a_2"]
    assert [item["output"] for item in sent[-2:]] == [
        "sent",
        "Not run: no result was recorded.",
    ]


def test_half_characters_and_nan_can_be_sent() -> None:
    sent = items(answered(asks(s="\ud83d", n=float("nan"))), result(text="half \ud83d"))

    assert json.loads(sent[0]["arguments"]) == {"s": "\ufffd", "n": None}
    assert sent[1]["output"] == "half \ufffd"


def test_reasoning_goes_back_word_for_word_before_what_it_led_to() -> None:
    sent = items(answered(reasoned(), mark(phase="commentary"), Text("Look."), asks()), result())

    assert sent == [
        thought("rs_1", "Hm."),
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_1",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Look.", "annotations": []}],
            "phase": "commentary",
        },
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "find_order",
            "arguments": "{}",
            "id": "fc_1",
        },
        {"type": "function_call_output", "call_id": "call_1", "output": "sent"},
    ]
    SHAPE.validate_python(sent)


def test_each_reasoning_of_an_answer_goes_back_in_its_place() -> None:
    parts = [reasoned("rs_1"), mark(), Text("Look."), reasoned("rs_2"), reasoned("rs_3"), asks()]

    sent = items(answered(*parts), result())

    assert [item.get("id") for item in sent] == ["rs_1", "msg_1", "rs_2", "rs_3", "fc_1", None]


LOST: dict[str, list[Any]] = {
    "nothing": [Text("Before."), reasoned()],
    "a text of another item": [reasoned(), Text("Changed.")],
    "a text whose item has no id": [reasoned(), mark(None), Text("Here.")],
    "a message that said nothing": [reasoned(), mark(), Text(" "), asks()],
    "a call without an id": [reasoned(), asks(item=None)],
    "what the server ran": [reasoned(), Reasoning("", "{}", MAKER, "web_search_call"), asks()],
    "reasoning that is lost": [reasoned(), reasoned("rs_2"), Text("Changed.")],
}


@pytest.mark.parametrize("parts", LOST.values(), ids=LOST.keys())
def test_reasoning_never_goes_back_without_what_it_led_to(parts: list[Any]) -> None:
    sent = items(answered(*parts), result())

    assert "reasoning" not in [item["type"] for item in sent]
    # What stands alone must not name what it came of.
    assert not [item for item in sent if "id" in item]


@pytest.mark.parametrize("maker", ["openai:gpt-test", "anthropic:claude-test"])
def test_another_makers_reasoning_is_left_out(maker: str) -> None:
    other = answered(reasoned(maker=maker), mark(maker=maker), Text("Here."), maker=maker)

    assert sorts(other) == ["message"]


def test_reasoning_that_cannot_be_read_is_left_out() -> None:
    for signature in (None, "", "reasoning_content", "[1]", "c2ln"):
        parts = [Reasoning("Hm.", signature, MAKER), asks(item="fc_1")]
        assert sorts(answered(*parts), result())[0] == "function_call"


def test_without_ids_reasoning_goes_back_under_none() -> None:
    sent = items(answered(reasoned(), mark(), Text("Hi."), asks()), result(), item_ids=False)

    assert [item["type"] for item in sent][:2] == ["reasoning", "message"]
    assert not [item for item in sent if "id" in item]


def test_the_paragraph_between_two_messages_is_taken_off_again() -> None:
    parts = [mark(phase="commentary"), Text("A."), mark("msg_2", phase="final"), Text("\n\nB.")]

    assert [(item["content"], item["phase"]) for item in items(answered(*parts))] == [
        ("A.", "commentary"),
        ("B.", "final"),
    ]


PARTS = st.lists(
    st.one_of(
        st.builds(Text, st.sampled_from(["Here.", " ", ""])),
        st.builds(reasoned, st.sampled_from(["rs_1", "rs_2"]), st.sampled_from([MAKER, "other"])),
        st.builds(mark, st.sampled_from(["msg_1", None]), st.sampled_from([MAKER, "other"])),
        st.builds(asks, st.sampled_from(["a", "b", "c!", ""]), st.sampled_from(["fc_1", None])),
    ),
    max_size=6,
)
MESSAGES = st.lists(
    st.one_of(
        st.builds(lambda text: said(Text(text)), st.sampled_from(["Hi", ""])),
        st.builds(lambda parts: answered(*parts), PARTS),
        st.builds(result, st.sampled_from(["a", "b", "c!"])),
    ),
    max_size=6,
)


@given(messages=MESSAGES, ids=st.booleans())
def test_any_history_is_sent_so_that_nothing_stands_alone(
    messages: list[Message], ids: bool
) -> None:
    given_, _ = mend([ASK, *messages], MAKER)
    sent = body_of(asked(*given_), item_ids=ids)["input"]

    calls = [item["call_id"] for item in sent if item["type"] == "function_call"]
    outputs = [item["call_id"] for item in sent if item["type"] == "function_call_output"]
    assert sorted(calls) == sorted(outputs)
    assert len(set(calls)) == len(calls)
    for item, behind in zip(sent, [*sent[1:], {"type": "nothing"}], strict=True):
        if item["type"] == "reasoning":
            assert behind["type"] in ("reasoning", "message", "function_call")
            assert ("id" in behind) is ids
        assert item.get("content") != ""


@given(messages=MESSAGES)
def test_one_turn_more_only_adds_to_what_is_sent(messages: list[Message]) -> None:
    before, _ = mend([ASK, *messages, said(Text("Again."))], MAKER)
    after = [*before, answered(reasoned("rs_9"), mark("msg_9"), Text("Yes.")), said(Text("Ok."))]

    first, second = (body_of(asked(*each))["input"] for each in (before, after))

    assert second[: len(first)] == first


INNER = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
SHUT = INNER | {"additionalProperties": False}


def test_a_tool_is_strict_where_its_schema_is() -> None:
    tools = [ToolSpec("shut", "S.", SHUT), ToolSpec("open", "O.", INNER)]

    body = body_of(asked(tools=tools))

    assert [(each["name"], each["strict"]) for each in body["tools"]] == [
        ("shut", True),
        ("open", False),
    ]
    assert [each["parameters"] for each in body["tools"]] == [SHUT, INNER]
    check_responses(body)


ANSWERS: dict[str, tuple[dict[str, Any], bool]] = {
    "an object": (INNER, True),
    "an object in an object": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A", "description": "An A."}, "b": INNER},
            "$defs": {"A": INNER},
        },
        True,
    ),
    "defaults, bounds and choices": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "default": 3, "minimum": 1},
                "b": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
                "c": {"type": "string", "const": "x"},
                "d": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
            },
        },
        True,
    ),
    "a list": ({"type": "array", "items": INNER}, False),
    "keys of any name": ({"type": "object", "additionalProperties": {"type": "integer"}}, False),
    "any value": ({"type": "object", "properties": {"a": {}}}, False),
    "a word that strict mode does not know": (
        {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}},
        False,
    ),
    "a pattern": (
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^[A-Z]-"}}},
        True,
    ),
    "a pattern that looks around": (
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(?!x)"}}},
        False,
    ),
    "more choices than there may be": (
        {"type": "object", "properties": {"a": {"type": "integer", "enum": [*range(1_001)]}}},
        False,
    ),
    "one of several": ({"oneOf": [INNER, INNER]}, False),
    "all that is allowed": (INNER | {"additionalProperties": True}, False),
}


@pytest.mark.parametrize(("schema", "formed"), ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("choice", ["auto", "none", "required", "final_answer"])
def test_an_answers_form_is_the_servers_business_where_it_can_be(
    schema: dict[str, Any], formed: bool, choice: str
) -> None:
    final = ToolSpec("final_answer", "Answers.", {"type": "object", "properties": {}})
    output = OutputSpec(tool="final_answer", schema=schema)

    body = body_of(asked(tools=[tool(), final], output=output, tool_choice=choice))

    names = [each["name"] for each in body["tools"]]
    assert names == (["find_order"] if formed else ["find_order", "final_answer"])
    assert ("text" in body) is formed
    check_responses(body)


@pytest.mark.parametrize(
    "options", [{"output": "tool"}, {"base_url": "http://127.0.0.1/v1"}], ids=["told", "a server"]
)
def test_an_answers_form_may_be_asked_for_by_a_tool(options: dict[str, Any]) -> None:
    body = body_of(
        asked(tools=[tool()], output=OutputSpec(tool="find_order", schema=INNER)), **options
    )

    assert "text" not in body
    assert [each["name"] for each in body["tools"]] == ["find_order"]


def test_what_is_nested_too_deeply_is_not_strict() -> None:
    schema: dict[str, Any] = SHUT
    for _ in range(10):
        schema = SHUT | {"properties": {"x": schema}}

    assert closed(SHUT, narrow=False) == SHUT
    assert closed(schema, narrow=False) is None
