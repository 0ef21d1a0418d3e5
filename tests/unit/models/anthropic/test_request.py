"""What is sent is what Anthropic takes, and a conversation that grows keeps its beginning."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from pydantic import TypeAdapter

from remit.models.request import ModelRequest, OutputSpec, ToolSpec
from remit.testing.provider import check_anthropic, sign
from remit.values.content import Image, Pdf, Reasoning, Text
from remit.values.messages import Message, ResultStatus
from tests.loopback import loopback
from tests.unit.models.anthropic.asking import begun, chunks_of, finished, model, streamed, text
from tests.unit.models.anthropic.talk import CALLED, MAKER, body, call, result, said, thought, user
from tests.unit.models.asking import asked, tool

SHAPE: TypeAdapter[Any] = TypeAdapter(MessageCreateParamsStreaming)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
PDF = b"%PDF-1.7\n" + bytes(20)
INLINE = {"media_type": "image/png", "data": base64.b64encode(PNG).decode()}


def sent(*messages: Message, **options: Any) -> list[dict[str, Any]]:
    """The turns as they are sent, without marks for the cache."""
    found = body(asked(*messages), cache=None, **options)
    check_anthropic(found)
    SHAPE.validate_python(found)  # the official package's own types take it
    return list(found["messages"])


def test_a_conversation_is_sent_as_it_was() -> None:
    assert sent(*CALLED, user("And?")) == [
        {"role": "user", "content": [{"type": "text", "text": "Where?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Look.", "signature": sign("Look.")},
                {"type": "text", "text": "Let me see."},
                {
                    "type": "tool_use",
                    "id": "c1",
                    "name": "find_order",
                    "input": {"number": "A-1"},
                },
                {"type": "tool_use", "id": "c2", "name": "find_order", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "shipped"},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": "No such order.",
                    "is_error": True,
                },
                {"type": "text", "text": "And?"},
            ],
        },
    ]


@pytest.mark.parametrize("status", ["error", "timeout", "denied", "refused", "not_run"])
def test_a_result_that_is_none_is_marked_as_an_error(status: ResultStatus) -> None:
    [found] = sent(user("?"), said(call("c1")), result("c1", "Oh", status))[2]["content"]

    assert found["is_error"] is True


def test_an_empty_result_is_told_as_one() -> None:
    [found] = sent(user("?"), said(call("c1")), result("c1", " "))[2]["content"]

    assert found["content"] == "(empty)"


def test_each_part_has_the_shape_that_anthropic_documents() -> None:
    [turn] = sent(
        user(
            "What is this?",
            Image(PNG),
            Image(url="https://files.example.com/a.png"),
            Pdf(PDF, name="bill.pdf"),
            Pdf(url="https://files.example.com/b.pdf"),
        )
    )
    pdf = {"media_type": "application/pdf", "data": base64.b64encode(PDF).decode()}

    assert turn["content"] == [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "source": {"type": "base64"} | INLINE},
        {"type": "image", "source": {"type": "url", "url": "https://files.example.com/a.png"}},
        {"type": "document", "source": {"type": "base64"} | pdf, "title": "bill.pdf"},
        {
            "type": "document",
            "source": {"type": "url", "url": "https://files.example.com/b.pdf"},
            "title": "document.pdf",
        },
    ]


def test_thinking_goes_back_byte_for_byte() -> None:
    odd = " né\u2028\x00\n "
    redacted = Reasoning("", "cmVk+/=", MAKER, form="redacted")

    blocks = sent(user("?"), said(thought(odd), redacted, call("c1")), result("c1"))[1]["content"]

    assert blocks[0] == {"type": "thinking", "thinking": odd, "signature": sign(odd)}
    assert blocks[1] == {"type": "redacted_thinking", "data": "cmVk+/="}


@pytest.mark.parametrize(
    "foreign", [thought("Hm.", "anthropic:other"), Reasoning("Hm.", None, MAKER)]
)
def test_thinking_of_others_or_without_a_signature_is_left_out(foreign: Reasoning) -> None:
    turns = sent(user("?"), said(foreign, call("c1")), result("c1"))

    assert [block["type"] for block in turns[1]["content"]] == ["tool_use"]


def test_messages_of_one_side_are_one_turn() -> None:
    turns = sent(user("One"), user("Two"), said(Text("Hi")), user("Three"))

    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert [block["text"] for block in turns[0]["content"]] == ["One", "Two"]


def test_a_model_that_paused_is_asked_to_go_on() -> None:
    turns = sent(user("?"), said(Text("I am still reading.")))

    assert turns[-1]["role"] == "user"
    assert turns[-1]["content"][0]["text"].strip()


def test_instructions_are_a_block_of_their_own_or_none() -> None:
    assert body(asked(), cache=None)["system"] == [{"type": "text", "text": "Help."}]
    assert "system" not in body(asked(instructions=" \n"))


def test_what_cannot_be_sent_is_made_so() -> None:
    found = body(
        asked(
            user("half \ud83d"),
            said(call("c1", mean=float("nan"), text="\udcaf")),
            result("c1", "\ud83d"),
            instructions="\udcaf",
            tools=[tool()],
        )
    )

    check_anthropic(found)
    assert json.dumps(found, ensure_ascii=False, allow_nan=False).encode()


# --- tools


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", None),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("find_order", {"type": "tool", "name": "find_order"}),
    ],
)
def test_the_choice_of_tools_is_told_in_anthropics_words(choice: str, expected: Any) -> None:
    found = body(asked(tools=[tool()], tool_choice=choice))

    check_anthropic(found)
    assert found.get("tool_choice") == expected


def test_a_choice_in_the_options_holds_where_the_run_makes_none() -> None:
    alone = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}

    assert body(asked(tools=[tool()]), options=alone)["tool_choice"] == alone["tool_choice"]
    forced = body(asked(tools=[tool()], tool_choice="none"), options=alone)
    assert forced["tool_choice"] == {"type": "none"}
    assert "tool_choice" not in body(asked(), options=alone)


def test_a_history_with_calls_declares_tools_that_cannot_be_called() -> None:
    found = body(asked(*CALLED))

    check_anthropic(found)
    assert [each["name"] for each in found["tools"]] == ["find_order"]
    assert found["tool_choice"] == {"type": "none"}


def test_a_tool_without_parameters_has_a_schema_all_the_same() -> None:
    found = body(asked(tools=[ToolSpec("now", "Tells the time.", {})]))

    check_anthropic(found)
    assert found["tools"][0]["input_schema"] == {"type": "object", "properties": {}}


# --- thinking


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        (None, None),
        ("off", {"type": "disabled"}),
        ("adaptive", {"type": "adaptive"}),
        (2_000, {"type": "enabled", "budget_tokens": 2_000}),
        (9_000, {"type": "enabled", "budget_tokens": 4_095}),
    ],
)
def test_thinking_is_what_was_wished_for_and_leaves_room(wish: Any, expected: Any) -> None:
    assert body(asked(), thinking=wish).get("thinking") == expected


def test_thinking_without_room_is_off() -> None:
    assert body(asked(max_output=1_024), thinking=2_000)["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize("wish", ["adaptive", 2_000])
@pytest.mark.parametrize("choice", ["required", "find_order"])
def test_thinking_is_off_where_a_tool_must_be_called(wish: Any, choice: str) -> None:
    found = body(asked(tools=[tool()], tool_choice=choice), thinking=wish)

    assert found["thinking"] == {"type": "disabled"}


def test_thinking_begins_with_a_turn_and_not_in_the_middle_of_one() -> None:
    without: list[Message] = [user("?"), said(call("c1")), result("c1")]
    later = [*without, said(Text("Shipped.")), user("And?")]

    def kind(messages: list[Message], wish: Any) -> Any:
        return body(asked(*messages), thinking=wish)["thinking"]["type"]

    assert kind(without, 2_000) == "disabled"
    assert kind([*without, user("And this.")], 2_000) == "disabled"
    assert kind(later, 2_000) == "enabled"
    assert kind(CALLED, 2_000) == "enabled"
    assert kind(without, "adaptive") == "adaptive"


def test_further_fields_are_sent_as_they_are() -> None:
    options = {"thinking": {"type": "adaptive", "display": "omitted"}, "metadata": {"user_id": "u"}}

    found = body(asked(), options=options)

    assert {name: found[name] for name in options} == options


# --- the form of an answer

ORDER = {
    "type": "object",
    "properties": {"number": {"type": "string"}, "items": {"type": "integer"}},
    "required": ["number"],
}
FINAL = ToolSpec("final_answer", "Gives your final answer.", ORDER)


def formed(schema: dict[str, Any] = ORDER, **fields: Any) -> ModelRequest:
    output = OutputSpec(tool="final_answer", schema=schema)
    return asked(tools=[tool(), FINAL], output=output, **fields)


@pytest.mark.parametrize("options", [{}, {"base_url": "http://127.0.0.1", "output": "schema"}])
def test_a_form_is_a_schema_and_no_tool(options: dict[str, Any]) -> None:
    found = body(formed(), options={"output_config": {"effort": "high"}}, **options)

    check_anthropic(found)
    format = {"type": "json_schema", "schema": ORDER | {"additionalProperties": False}}
    assert found["output_config"] == {"effort": "high", "format": format}
    assert [each["name"] for each in found["tools"]] == ["find_order"]


@pytest.mark.parametrize(
    ("request_", "options"),
    [
        (formed(), {"output": "tool"}),
        (formed(), {"base_url": "http://127.0.0.1"}),
        (formed({"type": "array", "items": {"type": "string"}}), {}),
        (formed(tool_choice="required"), {}),
        (formed(tool_choice="final_answer"), {}),
    ],
    ids=["wished for", "another server", "no object", "some tool", "this tool"],
)
def test_else_the_final_tool_takes_the_answer(
    request_: ModelRequest, options: dict[str, Any]
) -> None:
    found = body(request_, **options)

    assert "output_config" not in found
    assert [each["name"] for each in found["tools"]] == ["find_order", "final_answer"]


async def test_the_body_that_was_built_is_what_is_sent() -> None:
    request = asked(*CALLED, tools=[tool()])
    reply = streamed(begun(), *text(0, "Hi"), *finished("end_turn"))

    async with loopback(reply) as server:
        asking = model(server)
        await chunks_of(asking, request)

    assert server.requests[0].body == asking.body(request)
