"""Servers without tool calling: a reply is one JSON object, a call or an answer."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import msgspec
import pytest

from remit.models.assemble import RawCall
from remit.models.openai_chat import OpenAIChat
from remit.models.openai_chat.reply import reply_schema
from remit.models.request import TextChunk, ToolSpec
from remit.values.content import Call, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tests.loopback import delta, loopback, stream
from tests.unit.models import strict
from tests.unit.models.asking import answer_to, asked, chunks_of, model, tool

pytestmark = pytest.mark.slow

ORDER = tool(number={"type": "string", "description": "Like A-1042."})
CALL = '{"tool": "find_order", "arguments": {"number": "A-1042"}}'
FOUND = RawCall("find_order", {"number": "A-1042"})


def body(*messages: Message, tools: tuple[ToolSpec, ...] = (ORDER,)) -> dict[str, Any]:
    found = OpenAIChat("m", tools="json").body(asked(*messages, tools=tools))
    strict.check(found)
    return found


REPLIES: dict[str, tuple[str, RawCall | Text | None]] = {
    "a call": (CALL, FOUND),
    "a call on many lines": (json.dumps(json.loads(CALL), indent=2), FOUND),
    "a call in a fence": (f"```json\n{CALL}\n```", FOUND),
    "a call in a bare fence, with blanks": (f"\n```\n{CALL}```\n", FOUND),
    "a call under another name": (CALL.replace('"tool"', '"name"'), FOUND),
    "a call without arguments": ('{"tool": "find_order"}', RawCall("find_order", {})),
    "a call with null": (
        '{"tool": "find_order", "arguments": null}',
        RawCall("find_order", {}),
    ),
    "a call of a tool that is not there": (
        '{"tool": "drop", "arguments": {}}',
        RawCall("drop", {}),
    ),
    "a call whose arguments are no object": (
        '{"tool": "find_order", "arguments": "A-1042"}',
        RawCall("find_order", {}, '"A-1042"'),
    ),
    "a call cut off": (
        '{"tool": "find_order", "arguments": {"numb',
        RawCall("find_order", {}, '{"tool": "find_order", "arguments": {"numb'),
    ),
    "a call that is broken": (
        '{"tool": "find_order", "arguments": {number: 1}}',
        RawCall("find_order", {}, '{"tool": "find_order", "arguments": {number: 1}}'),
    ),
    "an answer": ('{"answer": "Shipped on Monday.\\n🚀"}', Text("Shipped on Monday.\n🚀")),
    "an answer cut off": ('{"answer": "Shipped on Mon', Text("Shipped on Mon")),
    "an answer cut off in an escape": ('{"answer": "Shipped \\u00', Text("Shipped ")),
    "an answer cut off behind a stroke": ('{"answer": "a\\\\\\', Text("a\\")),
    "an empty answer": ('{"answer": ""}', None),
    "plain text": ("Shipped on Monday.", Text("Shipped on Monday.")),
    "text around a call": (f"I would send {CALL}.", Text(f"I would send {CALL}.")),
    "a call behind text": (f"Sure!\n{CALL}", Text(f"Sure!\n{CALL}")),
    "two objects": (f"{CALL}\n{CALL}", RawCall("find_order", {}, f"{CALL}\n{CALL}")),
    "an object of another kind": ('{"name": "Ada", "age": 36}', Text('{"name": "Ada", "age": 36}')),
    "a list": ("[1, 2]", Text("[1, 2]")),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("text", "part"), REPLIES.values(), ids=REPLIES.keys())
async def test_a_reply_is_a_call_or_an_answer(text: str, part: RawCall | Text | None) -> None:
    pieces = [delta(content=character) for character in text]

    answer = await answer_to(
        stream(*pieces, delta("stop")), tools=["find_order"], tools_mode="json"
    )

    assert answer.parts == ([] if part is None else [part])
    assert answer.stop == ("calls" if isinstance(part, RawCall) else "end")


async def test_an_answer_cut_off_by_the_output_limit_says_so() -> None:
    reply = stream(delta(content='{"answer": "Ship'), delta("length"))

    answer = await answer_to(reply, tools=["find_order"], tools_mode="json")

    assert (answer.parts, answer.stop) == ([Text("Ship")], "length")


async def test_without_tools_text_streams_as_it_comes() -> None:
    async with loopback(
        stream(delta(content='{"answer"'), delta(content=": 1}"), delta("stop"))
    ) as server:
        chunks = await chunks_of(model(server, tools="json"))

    assert chunks[:2] == [TextChunk('{"answer"'), TextChunk(": 1}")]
    assert "response_format" not in server.requests[0].body


def test_tools_are_described_in_the_instructions() -> None:
    pay = ToolSpec(
        "pay",
        "Pays.",
        {
            "type": "object",
            "properties": {
                "amount": {"type": "number", "description": "In euros"},
                "to": {"type": "object", "title": "To", "properties": {"name": {"type": "string"}}},
                "how": {"enum": ["now", "later"]},
                "note": {"type": "string"},
            },
            "required": ["amount", "to"],
        },
    )

    found = body(tools=(ORDER, pay, msgspec.structs.replace(tool("now"), schema={})))

    assert "tools" not in found
    [opening, _] = found["messages"]
    assert opening["content"].splitlines()[-3:] == [
        "Tool find_order: Finds an order. Arguments: number (string, like A-1042).",
        "Tool pay: Pays. Arguments: amount (number, in euros);"
        ' to ({"type":"object","properties":{"name":{"type":"string"}}});'
        ' how ({"enum":["now","later"]}, may be left out); note (string, may be left out).',
        "Tool now: Finds an order. No arguments.",
    ]
    assert opening["content"].startswith("Help.\n\n")


def test_the_schema_takes_calls_and_answers_and_nothing_else() -> None:
    schema = body()["response_format"]["json_schema"]["schema"]
    checker = jsonschema.Draft202012Validator(schema)

    good = [json.loads(CALL), {"answer": "Hi"}]
    bad = [
        {"tool": "drop", "arguments": {}},
        {"tool": "find_order", "arguments": {}},
        {"tool": "find_order"},
        {"answer": 1},
        {"answer": "Hi", "tool": "find_order"},
        {},
    ]
    assert [reply for reply in good + bad if checker.is_valid(reply)] == good


@pytest.mark.parametrize(
    ("choice", "fits"),
    [
        ("auto", [True, True, True]),
        ("required", [True, True, False]),
        ("find_order", [True, False, False]),
        ("none", [False, False, True]),
        ("nobody", [False, False, True]),
    ],
)
def test_the_schema_takes_what_a_request_leaves_open(choice: str, fits: list[bool]) -> None:
    request = asked(tools=(ORDER, tool("close")), tool_choice=choice)
    sent = OpenAIChat("m", tools="json").body(request)
    schema = jsonschema.Draft202012Validator(sent["response_format"]["json_schema"]["schema"])
    replies: list[dict[str, Any]] = [
        json.loads(CALL),
        {"tool": "close", "arguments": {}},
        {"answer": "Done."},
    ]

    assert [schema.is_valid(reply) for reply in replies] == fits


def test_definitions_of_two_tools_do_not_meet() -> None:
    def of(kind: str) -> dict[str, Any]:
        node = {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/Node"}, "v": {"type": kind}},
        }
        return {
            "type": "object",
            "properties": {"nodes": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
            "$defs": {"Node": node},
        }

    checker = jsonschema.Draft202012Validator(
        reply_schema([ToolSpec("a", "", of("string")), ToolSpec("b", "", of("integer"))])
    )

    def call_of(name: str, value: object) -> dict[str, Any]:
        return {"tool": name, "arguments": {"nodes": [{"next": {"v": value}, "v": value}]}}

    assert checker.is_valid(call_of("a", "x"))
    assert checker.is_valid(call_of("b", 1))
    assert not checker.is_valid(call_of("a", 1))
    assert not checker.is_valid(call_of("b", "x"))


def test_a_conversation_is_told_in_turns() -> None:
    one, two = (Call(id, "find_order", {"number": id}, f"k{id}") for id in ("A-1", "A-2"))
    found = body(
        UserMessage((Text("Where?"),)),
        AssistantMessage((Text("Let me look."), one, two)),
        ToolMessage("A-1", "find_order", "shipped"),
        ToolMessage("A-2", "find_order", "lost"),
        AssistantMessage((Text("One is shipped."),)),
        UserMessage((Text("Thanks"),)),
    )

    assert [(m["role"], m["content"]) for m in found["messages"][1:]] == [
        ("user", "Where?"),
        (
            "assistant",
            'Let me look.\n\n{"tool":"find_order","arguments":{"number":"A-1"}}'
            '\n\n{"tool":"find_order","arguments":{"number":"A-2"}}',
        ),
        ("user", "Result of find_order: shipped\n\nResult of find_order: lost"),
        ("assistant", '{"answer":"One is shipped."}'),
        ("user", "Thanks"),
    ]
