"""What is sent is what every server takes, whatever the history holds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.models.openai_chat import Dialect, OpenAIChat
from remit.models.request import ModelRequest
from remit.values.content import Call, Reasoning, Text
from remit.values.errors import ConfigError
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tests.loopback import delta, loopback, stream
from tests.unit.models import strict
from tests.unit.models.asking import asked, chunks_of, model, tool

MAKER = "openai:gpt-test"


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def said(*parts: Text | Reasoning | Call) -> AssistantMessage:
    return AssistantMessage(parts, MAKER)


def call(id: str, name: str = "find_order", **arguments: Any) -> Call:
    return Call(id, name, arguments, f"run/0/{id}")


def result(id: str, text: str = "shipped") -> ToolMessage:
    return ToolMessage(id, "find_order", text)


def body(request: ModelRequest, **options: Any) -> dict[str, Any]:
    return OpenAIChat("gpt-test", **options).body(request)


def sent(*messages: Message, **options: Any) -> list[dict[str, Any]]:
    """The messages as they are sent, without the instructions."""
    found = body(asked(*messages), **options)
    strict.check(found)
    assert found["messages"][0] == {"role": "system", "content": "Help."}
    return list(found["messages"][1:])


TURN: list[Message] = [user("Where?"), said(call("c1", number="A-1042")), result("c1")]


def test_a_conversation_is_sent_as_it_was() -> None:
    assert sent(*TURN, said(Text("On its way."))) == [
        {"role": "user", "content": "Where?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "find_order", "arguments": '{"number":"A-1042"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "shipped"},
        {"role": "assistant", "content": "On its way."},
    ]


def test_text_beside_calls_is_sent_with_them() -> None:
    message = sent(user("?"), said(Text("Let me look."), call("c1")), result("c1"))[1]

    assert message["content"] == "Let me look."
    assert len(message["tool_calls"]) == 1


def test_a_request_asks_to_be_streamed_with_its_usage_and_its_cap() -> None:
    found = body(asked(max_output=77))

    assert found["model"] == "gpt-test"
    assert found["stream"] is True
    assert found["stream_options"] == {"include_usage": True}
    assert found["max_completion_tokens"] == 77
    assert "max_tokens" not in found
    assert "tools" not in found


def test_a_tool_is_sent_as_a_function() -> None:
    found = body(asked(tools=[tool(number={"type": "string"})]))

    assert found["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "find_order",
                "description": "Finds an order.",
                "parameters": {
                    "type": "object",
                    "properties": {"number": {"type": "string"}},
                    "required": ["number"],
                },
            },
        }
    ]


def test_a_tool_without_parameters_has_an_object_of_none() -> None:
    bare = msgspec.structs.replace(tool("now"), schema={})

    [found] = body(asked(tools=[bare]))["tools"]

    assert found["function"]["parameters"] == {"type": "object", "properties": {}}


def test_a_dialect_changes_what_servers_differ_in() -> None:
    dialect = Dialect(cap="max_tokens", instructions="developer", usage=False)

    found = body(asked(max_output=5), dialect=dialect)

    assert found["max_tokens"] == 5
    assert "max_completion_tokens" not in found
    assert "stream_options" not in found
    assert found["messages"][0]["role"] == "developer"


def test_short_ids_are_nine_letters_and_digits_and_pair_all_the_same() -> None:
    messages = sent(*TURN, said(call("c2")), result("c2"), dialect=Dialect(short_ids=True))

    ids = [c["id"] for message in messages for c in message.get("tool_calls", ())]
    assert all(len(id) == 9 and id.isalnum() for id in ids)
    assert len(set(ids)) == 2


def test_options_are_further_fields() -> None:
    found = body(asked(), options={"temperature": 0, "reasoning_effort": "low"})

    assert found["temperature"] == 0
    assert found["reasoning_effort"] == "low"


@pytest.mark.parametrize(
    "wrong",
    [
        {"cap": "max_output"},
        {"instructions": "user"},
    ],
)
def test_a_dialect_that_nobody_speaks_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Dialect(**wrong)


def test_no_instructions_are_no_message() -> None:
    assert body(asked(instructions=" "))["messages"] == [{"role": "user", "content": "Hello"}]


HISTORIES: dict[str, tuple[list[Message], list[str]]] = {
    "a call without a result": (
        [user("?"), said(call("c1"), call("c2")), result("c2"), user("Well?")],
        ["user", "call", "not run", "shipped", "user"],
    ),
    "a result without a call": ([user("?"), result("c9"), said(Text("Hm"))], ["user", "Hm"]),
    "results in another order": (
        [user("?"), said(call("c1"), call("c2")), result("c2", "two"), result("c1", "one")],
        ["user", "call", "one", "two"],
    ),
    "a message between a call and its result": (
        [user("?"), said(call("c1")), user("Hurry"), result("c1")],
        ["user", "call", "shipped", "user"],
    ),
    "two results of one call": (
        [user("?"), said(call("c1")), result("c1", "one"), result("c1", "two")],
        ["user", "call", "one"],
    ),
    "two calls of one id": (
        [user("?"), said(call("c1"), call("c1")), result("c1", "one"), result("c1", "two")],
        ["user", "call", "one", "two"],
    ),
    "one id in two turns": (
        [*TURN, said(call("c1")), result("c1", "again")],
        ["user", "call", "shipped", "call", "again"],
    ),
    "calls without ids": (
        [user("?"), said(call(""), call("")), result("", "one"), result("", "two")],
        ["user", "call", "one", "two"],
    ),
    "an id that is too long": (
        [user("?"), said(call("x" * 90)), result("x" * 90)],
        ["user", "call", "shipped"],
    ),
    "an empty answer": ([user("?"), said(), user("Well?")], ["user"]),
    "an answer of reasoning alone": (
        [user("?"), said(Reasoning("Hm", None, MAKER)), user("Well?")],
        ["user"],
    ),
    "an answer of blanks": ([user("?"), said(Text(" \n")), user("Well?")], ["user"]),
    "an empty question": ([user(""), user("?"), said(Text("Hm")), user("  ")], ["user", "Hm"]),
    "an empty result": (
        [user("?"), said(call("c1")), result("c1", "")],
        ["user", "call", "(empty)"],
    ),
    "two answers in a row": (
        [user("?"), said(Text("One")), said(Text("Two"))],
        ["user", "One\n\nTwo"],
    ),
}


def outline(message: dict[str, Any]) -> str:
    """A message in a word."""
    if message["role"] == "user":
        return "user"
    if "tool_calls" in message:
        return "call"
    return "not run" if message["content"].startswith("Not run") else str(message["content"])


@pytest.mark.parametrize(("messages", "outlines"), HISTORIES.values(), ids=HISTORIES.keys())
def test_a_history_is_made_valid(messages: list[Message], outlines: list[str]) -> None:
    assert [outline(message) for message in sent(*messages)] == outlines


def test_questions_in_a_row_are_sent_as_one() -> None:
    assert sent(user("One"), user("Two")) == [{"role": "user", "content": "One\n\nTwo"}]


TEXTS = st.sampled_from(["", " ", "text", "\ud83d", "NUL \0"])
IDS = st.sampled_from(["", "a", "b", "c" * 60, "d e"])
CALLS = st.builds(lambda id, text: call(id, text=text), IDS, TEXTS)
PARTS = st.one_of(st.builds(Text, TEXTS), st.builds(Reasoning, TEXTS), CALLS)
MESSAGES = st.one_of(
    st.builds(user, TEXTS),
    st.lists(PARTS, max_size=4).map(lambda parts: said(*parts)),
    st.builds(result, IDS, TEXTS),
)


@given(messages=st.lists(MESSAGES, max_size=8), tools=st.sampled_from(["native", "json"]))
def test_any_history_at_all_is_made_valid(messages: Sequence[Message], tools: Any) -> None:
    request = ModelRequest(instructions="Help.", messages=tuple(messages), tools=(tool("q"),))

    strict.check(body(request, tools=tools))


def test_half_an_emoji_is_sent_as_a_replacement_everywhere() -> None:
    half = "hi \ud83d"
    odd = msgspec.structs.replace(tool("q"), description=half, schema={"title": half})
    request = asked(
        user(half),
        said(Text(half), Call("c1", "find_order", {half: half}, "k")),
        result("c1", half),
        tools=[odd],
        instructions=half,
    )

    found = body(request)

    strict.check(found)
    assert "\\ud83d" not in json.dumps(found)
    assert json.dumps(found).count("\\ufffd") == 8
    arguments = found["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert arguments == '{"hi \ufffd":"hi \ufffd"}'


def test_no_bare_nan_is_sent() -> None:
    numbers: dict[str, Any] = {"mean": float("nan"), "max": [float("inf")]}

    found = body(
        asked(user("?"), said(call("c1", **numbers)), result("c1")), options={"metadata": numbers}
    )

    strict.check(found)
    arguments = found["messages"][2]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(arguments) == {"mean": None, "max": [None]}


def test_reasoning_goes_back_to_its_own_maker_in_its_own_field() -> None:
    thought = Reasoning("Look it up.", "reasoning_content", MAKER)

    message = sent(user("?"), said(thought, call("c1")), result("c1"))[1]

    assert message["reasoning_content"] == "Look it up."


def test_reasoning_details_go_back_byte_for_byte() -> None:
    details = '[{"type": "reasoning.text", "text": "é", "signature": "c2ln"}]'
    thoughts = [Reasoning("é", "reasoning", MAKER), Reasoning("", details, MAKER)]

    message = sent(user("?"), said(*thoughts, call("c1")), result("c1"))[1]

    assert message["reasoning_details"] == json.loads(details)
    assert "reasoning" not in message


@pytest.mark.parametrize("maker", ["anthropic:claude", None])
def test_reasoning_is_not_sent_to_others(maker: str | None) -> None:
    thought = Reasoning("Look it up.", "reasoning_content", maker)

    messages = sent(user("?"), said(thought, call("c1")), result("c1"))

    assert "Look it up." not in json.dumps(messages)


def test_reasoning_before_an_answer_is_not_sent() -> None:
    thought = Reasoning("Look it up.", "reasoning_content", MAKER)

    assert sent(user("?"), said(thought, Text("There."))) == [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "There."},
    ]


CONVERSATION: list[Message] = [
    *TURN,
    said(Reasoning("Hm", "reasoning", MAKER), Text("And"), call("c2", b=1, a="é")),
    result("c2", "x"),
    said(Text("There.")),
    user("Thanks"),
    said(call("c3")),
    result("c3"),
]
WHOLE_TURNS = [1, 3, 5, 7, 9]


@pytest.mark.parametrize("tools", ["native", "json"])
def test_one_turn_more_only_adds_at_the_end(tools: Any) -> None:
    def prefix(count: int) -> str:
        request = asked(*CONVERSATION[:count], tools=[tool("q")])
        return json.dumps(body(request, tools=tools)["messages"])[:-1]

    texts = [prefix(count) for count in WHOLE_TURNS]

    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    assert len(set(texts)) == len(texts)


async def test_the_same_request_gives_the_same_bytes() -> None:
    request = asked(*CONVERSATION, tools=[tool("q", number={"type": "string"})])

    async with loopback(*[stream(delta(content="Hi"), delta("stop"))] * 2) as server:
        await chunks_of(model(server), request)
        await chunks_of(model(server), request)

    one, other = server.requests
    assert one.text == other.text
    assert one.body == body(request)
