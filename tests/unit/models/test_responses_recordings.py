"""Recorded answers of real servers that speak Responses, replayed through the SDK.

The recordings lie beside the checkout, where they are not part of it; without them this skips.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml

from remit.models.assemble import Assembly, RawCall
from remit.models.openai_responses import OpenAIResponses
from remit.models.request import ModelRequest, ToolSpec
from remit.values.content import Call, Reasoning, Text
from remit.values.errors import ProviderError
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tests.loopback import loopback
from tests.unit.models.asking import KEY
from tests.unit.models.responses import assembled
from tests.unit.models.test_openai_recordings import (
    Failed,
    Told,
    check_failure,
    check_usage,
    reply_of,
)

pytestmark = pytest.mark.slow

WIRE = Path(__file__).parents[4] / "shared" / "wire"
PATH = "/responses"


ANY: Any = mock.ANY


def call(name: str, /, **arguments: Any) -> RawCall:
    """A call as it is told; its signature is the item's id."""
    return RawCall(name, arguments, None, ANY)


EXPECTED: dict[str, list[Told | Failed]] = {
    "test_bedrock_mantle__test_reused_tool_call_ids[stream]": [
        Told((88, 0, 0, 14, 0), "", (call("first_tool"),)),
        Told((115, 0, 0, 30, 14), "", (call("second_tool"),)),
        Told((158, 0, 43, 32, 10), "First tool result: `first result`"),
    ],
    "test_deepseek_responses__test_deepseek_responses[function_tool_stream]": [
        Told(
            (366, 256, 0, 59, 14),
            "",
            (call("get_temperature", city="Tokyo"),),
            "The user asks about",
        ),
        Told((440, 384, 0, 14, 0), "The current temperature in Tokyo is **21.0°C**."),
    ],
    "test_openai_prompt_cache__test_openai_responses_prompt_cache_e2e": [
        Told((4020, 0, 4012, 5, 0), "OK"),
        Told((4020, 4012, 0, 5, 0), "OK"),
    ],
    "test_openai_responses__test_background_mode_streaming_continuation_vcr": [
        Told((15, 0, 0, 9, 0), "2 + 2 equals 4."),
    ],
    "test_openai_responses__test_openai_responses_compact_messages_direct": [
        Told((19, 0, 0, 10, 0), "Hello! How can I assist you today?"),
        Told((40, 0, 0, 24, 0), "I'm just a program"),
    ],
    "test_openai_responses__test_openai_responses_model_http_error": [
        Failed(400, "decimal_below_min_value", "Invalid 'temperature': decimal below"),
    ],
    "test_openai_responses__test_openai_responses_model_retry": [
        Told(
            (0, 0, 0, 0, 0),
            "",
            (call("get_location", loc_name="Londos"), call("get_location", loc_name="London")),
            estimated=True,
        ),
        Told((335, 0, 0, 44, 0), 'It seems "Londos" might be incorrect'),
    ],
    "test_openai_responses__test_openai_responses_model_simple_response_with_tool_call": [
        Told((40, 0, 0, 18, 0), "", (call("get_capital", country="PotatoLand"),)),
        Told((67, 0, 0, 11, 0), "The capital of PotatoLand is Potato City."),
    ],
    "test_openai_responses__test_openai_responses_model_web_search_tool_stream": [
        Told((9463, 8320, 0, 582, 512), "San Francisco weather today"),
        Told((9703, 8576, 0, 638, 576), "Mexico City weather today"),
    ],
    "test_openai_responses__test_openai_responses_reasoning_effort": [
        Told((88, 0, 0, 547, 128), "Ingredients for the dough:"),
    ],
    "test_openai_responses__test_openai_responses_stream": [
        Told((255, 0, 0, 16, 0), "", (call("get_capital", country="France"),)),
        Told((278, 0, 0, 9, 0), "The capital of France is Paris."),
    ],
    "test_openai_responses__test_openai_responses_streaming_usage": [
        Told((53, 0, 0, 469, 448), "", (call("final_result", result=6666),)),
    ],
    "test_openai_responses__test_openai_responses_thinking_with_modified_history": [
        Told((13, 0, 0, 248, 64), "A single, final answer", reasoning="**Considering"),
        Failed(400, "invalid_request_error", "Item 'rs_68c42de022c881948db7ed1cc2529f2e0202c9ad"),
        Told((142, 0, 0, 355, 128), "Plenty.", reasoning="**Expanding on"),
    ],
    "test_openai_responses__test_openai_responses_thinking_with_tool_calls": [
        Told(
            (124, 0, 0, 1926, 1792),
            "",
            (RawCall("update_plan", ANY, None, ANY),),
            "**Creating a structured poem**",
        ),
        Told((2087, 2048, 0, 124, 0), "Softly old fountains"),
    ],
    "test_tool_search__test_openai_client_tool_search_streaming": [
        Told((234, 0, 0, 36, 0)),
        Told(
            (429, 0, 0, 26, 0),
            "",
            (call("get_exchange_rate", from_currency="USD", to_currency="EUR"),),
        ),
        Told((477, 0, 0, 13, 0), "1 USD = 0.92 EUR."),
    ],
}


def exchanges(path: Path) -> list[dict[str, Any]]:
    """The Responses exchanges of a recording."""
    recorded = yaml.safe_load(path.read_text())["interactions"]
    return [each for each in recorded if each["request"]["uri"].endswith(PATH)]


@pytest.fixture(scope="module")
def wire() -> Path:
    if not WIRE.is_dir():
        pytest.skip("absent: recordings of real servers beside the checkout")
    return WIRE


def input_of(exchange: dict[str, Any]) -> list[dict[str, Any]]:
    """The recorded input, without what says nothing."""
    given = exchange["request"]["parsed_body"]["input"]
    return [item for item in given if item.get("content") != ""]


def tools_of(exchange: dict[str, Any]) -> tuple[ToolSpec, ...]:
    given = exchange["request"]["parsed_body"].get("tools") or []
    found = [tool for tool in given if tool["type"] == "function"]
    return tuple(ToolSpec(t["name"], t["description"] or "", t["parameters"]) for t in found)


def request_of(exchange: dict[str, Any], messages: list[Message]) -> ModelRequest:
    given = exchange["request"]["parsed_body"]
    return ModelRequest(
        instructions=given.get("instructions") or "",
        messages=tuple(messages),
        tools=tools_of(exchange),
    )


def heard(item: dict[str, Any]) -> UserMessage:
    said = item["content"]
    texts = [said] if isinstance(said, str) else [part["text"] for part in said]
    return UserMessage(tuple(Text(text) for text in texts))


def kept(answer: Assembly, turn: int, maker: str) -> AssistantMessage:
    """The answer as an agent keeps it."""
    parts: list[Any] = []
    for part in answer.parts:
        if isinstance(part, RawCall):
            id = f"call_{turn}_{len(parts)}"
            parts.append(Call(id, part.name, part.arguments, id, signature=part.signature))
        elif isinstance(part, Reasoning):
            parts.append(Reasoning(part.text, part.signature, maker, part.form))
        else:
            parts.append(part)
    return AssistantMessage(tuple(parts), maker)


def results(answer: AssistantMessage, after: dict[str, Any]) -> list[Message]:
    """The results that were recorded for the answer's calls, and what was said behind them."""
    given = input_of(after)
    outputs = [item["output"] for item in given if item.get("type") == "function_call_output"]
    told = outputs[len(outputs) - len(answer.calls) :]
    found: list[Message] = [
        ToolMessage(call.id, call.name, text) for call, text in zip(answer.calls, told, strict=True)
    ]
    return found if given[-1].get("role") != "user" else [*found, heard(given[-1])]


async def replayed(wire: Path, name: str) -> tuple[list[Assembly | ProviderError], list[Any]]:
    """What each recorded answer becomes, and what our client asks for it, in a conversation that
    goes on from answer to answer."""
    recorded = exchanges(wire / f"{name}.yaml")
    found: list[Assembly | ProviderError] = []
    async with loopback(*(reply_of(each["response"]) for each in recorded)) as server:
        model = OpenAIResponses("m", base_url=server.base_url, api_key=KEY)
        messages: list[Message] = [heard(input_of(recorded[0])[0])]
        for turn, each in enumerate(recorded):
            try:
                found.append(await assembled(model, request_of(each, messages)))
            except ProviderError as error:
                found.append(error)
                continue
            if turn + 1 < len(recorded):
                answer = kept(found[-1], turn, model.name)  # type: ignore[arg-type]
                messages += [answer, *results(answer, recorded[turn + 1])]
    return found, [sent.body for sent in server.requests]


@pytest.mark.parametrize("name", EXPECTED)
async def test_a_recorded_answer_is_told_to_the_token(wire: Path, name: str) -> None:
    found, _ = await replayed(wire, name)

    assert len(found) == len(EXPECTED[name])
    for answer, expected in zip(found, EXPECTED[name], strict=True):
        if isinstance(expected, Failed):
            check_failure(answer, expected)
        else:
            assert isinstance(answer, Assembly), answer
            check_answer(answer, expected)


def check_answer(answer: Assembly, expected: Told) -> None:
    calls = tuple(part for part in answer.parts if isinstance(part, RawCall))
    text = "".join(part.text for part in answer.parts if isinstance(part, Text))
    thought = "".join(part.text for part in answer.parts if isinstance(part, Reasoning))
    assert calls == expected.calls
    assert all(call.signature for call in calls)
    assert text.startswith(expected.text)
    assert bool(text) == bool(expected.text)
    assert thought.startswith(expected.reasoning or "")
    assert bool(thought) == (expected.reasoning is not None)
    assert answer.stop == ("calls" if calls else "end")
    check_usage(answer.usage, expected)


@pytest.mark.parametrize("name", EXPECTED)
async def test_no_recorded_character_is_lost(wire: Path, name: str) -> None:
    """Against a reading of the recording that knows nothing of the adapter."""
    found, _ = await replayed(wire, name)

    for answer, each in zip(found, exchanges(wire / f"{name}.yaml"), strict=True):
        if isinstance(answer, Assembly):
            output = output_of(each["response"])
            calls = [part for part in answer.parts if isinstance(part, RawCall)]
            texts = "".join(part.text for part in answer.parts if isinstance(part, Text))
            assert texts == "".join(texts_in(output, "message", "content"))
            assert [call.arguments for call in calls] == [
                json.loads(item["arguments"]) for item in output if item["type"] == "function_call"
            ]
            thoughts = [part.text for part in answer.parts if isinstance(part, Reasoning)]
            summaries = [*texts_in(output, "reasoning", "summary")]
            summaries += texts_in(output, "reasoning", "content")
            assert "".join(thoughts) == "\n\n".join(summaries)


def output_of(response: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of an answer, as its last event or its one object holds them."""
    if "body" not in response:
        found: list[dict[str, Any]] = response["parsed_body"]["output"]
        return found
    lines = response["body"]["string"].split("\n")
    events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    return [each["item"] for each in events if each["type"] == "response.output_item.done"]


def texts_in(output: list[dict[str, Any]], type: str, field: str) -> list[str]:
    items = [item for item in output if item["type"] == type]
    return [part["text"] for item in items for part in item.get(field) or []]


GOES_ON = (
    "test_bedrock_mantle__test_reused_tool_call_ids[stream]",
    "test_deepseek_responses__test_deepseek_responses[function_tool_stream]",
    "test_openai_responses__test_openai_responses_compact_messages_direct",
    "test_openai_responses__test_openai_responses_model_retry",
    "test_openai_responses__test_openai_responses_model_simple_response_with_tool_call",
    "test_openai_responses__test_openai_responses_stream",
    "test_openai_responses__test_openai_responses_thinking_with_tool_calls",
)
"""Recordings whose conversations are the ones that our client would have had."""


@pytest.mark.parametrize("name", GOES_ON)
async def test_what_was_recorded_as_asked_is_what_our_client_asks(wire: Path, name: str) -> None:
    _, sent = await replayed(wire, name)

    for body, each in zip(sent, exchanges(wire / f"{name}.yaml"), strict=True):
        given = each["request"]["parsed_body"]
        assert plain(body["input"]) == plain(input_of(each))
        assert body.get("instructions", "") == given.get("instructions", "")
        assert body["store"] is False
        for ours, theirs in zip(body.get("tools", []), given.get("tools") or [], strict=True):
            assert ours["parameters"] == {"required": []} | theirs["parameters"]
            assert ours["strict"] is True or not theirs["strict"]


def plain(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Items as they can be compared: calls told by their order, and what only some clients send
    left out."""
    ids: dict[str, int] = {}
    found = []
    for item in items:
        kept = {name: value for name, value in item.items() if value is not None}
        kept.setdefault("type", "message")
        if "call_id" in kept:
            kept["call_id"] = ids.setdefault(kept["call_id"], len(ids))
        if "arguments" in kept:
            kept["arguments"] = json.loads(kept["arguments"])
        if kept["type"] != "reasoning":
            kept.pop("id", None)
        kept.pop("status", None)
        found.append(kept)
    return found


async def test_reasoning_is_asked_back_byte_for_byte_with_what_it_led_to(wire: Path) -> None:
    name = "test_openai_responses__test_openai_responses_thinking_with_tool_calls"
    _, sent = await replayed(wire, name)

    [first, *_] = exchanges(wire / f"{name}.yaml")
    [thought, called] = first["response"]["parsed_body"]["output"]
    [_, back, again, _] = sent[1]["input"]
    assert back == thought
    assert again["id"] == called["id"]


async def test_reasoning_of_a_search_that_the_server_made_is_not_asked_back(wire: Path) -> None:
    name = "test_openai_responses__test_openai_responses_model_web_search_tool_stream"
    _, sent = await replayed(wire, name)

    theirs = exchanges(wire / f"{name}.yaml")[1]["request"]["parsed_body"]["input"]
    ids = {item["type"]: item["id"] for item in theirs if "id" in item}
    [_, thought, answer, _] = sent[1]["input"]
    assert (thought["id"], answer["id"]) == (ids["reasoning"], ids["message"])


def test_every_recording_of_this_format_is_replayed(wire: Path) -> None:
    found = {path.stem for path in wire.glob("*.yaml") if exchanges(path)}

    assert found == set(EXPECTED)
