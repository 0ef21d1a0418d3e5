"""Recorded answers of Anthropic's servers, replayed through the SDK: messages, calls and usage.

The recordings lie beside the checkout, where they are not part of it; without them this skips.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml

from remit.models.anthropic import AnthropicMessages
from remit.models.assemble import Assembly, RawCall
from remit.models.request import ModelRequest, ToolSpec
from remit.values.content import Call, Reasoning, Text
from remit.values.errors import ProviderError
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tests.loopback import Reply, loopback
from tests.unit.models.anthropic.asking import assembled, model
from tests.unit.models.asking import usage_of

pytestmark = pytest.mark.slow

WIRE = Path(__file__).parents[5] / "shared" / "wire"
MESSAGES = "/v1/messages?beta=true"
FRAMING = {"transfer-encoding", "connection", "content-length", "content-encoding"}
CHOICES = {"any": "required", "none": "none"}


@dataclass(frozen=True)
class Told:
    """What an answer came to. `used` is input, cache reads, cache writes, output, reasoning."""

    used: tuple[int, int, int, int, int]
    text: str = ""
    calls: tuple[RawCall, ...] = ()
    thoughts: tuple[tuple[str, str, str], ...] = ()
    """How each block of reasoning and its signature begin, and its form."""


@dataclass(frozen=True)
class Failed:
    status: int
    code: str
    words: str
    request_id: str


def asked_for(name: str, /, **arguments: Any) -> RawCall:
    return RawCall(name, arguments)


def about(name: str) -> RawCall:
    return asked_for("retrieve_entity_info", name=name)


LONDON = {"city": "London"}
SYDNEY = {"city": "Sydney", "country": "Australia", "population": 5_312_000}
RATE = {"from_currency": "USD", "to_currency": "EUR"}
PYTHON = "# What is Python?"
EXPECTED: dict[str, list[Told | Failed]] = {
    "anthropic__test_output__test_mixed_tools_basemodel_output": [
        Told(
            (781, 0, 0, 74, 0),
            calls=(RawCall("get_population", LONDON), RawCall("get_area", LONDON)),
        ),
        Told(
            (947, 0, 0, 75, 0),
            calls=(
                asked_for(
                    "final_result", city="London", country="United Kingdom", population=8_900_000
                ),
            ),
        ),
    ],
    "anthropic__test_output__test_strict_none_tool_basemodel_output": [
        Told(
            (731, 0, 0, 110, 0),
            calls=(asked_for("get_timezone", city="Sydney"), RawCall("final_result", SYDNEY)),
        ),
    ],
    "test_anthropic__test_anthropic_cache_count_tokens": [Told((1114, 1111, 0, 414, 0), PYTHON)],
    "test_anthropic__test_anthropic_cache_real_api": [
        Told((1114, 1111, 0, 406, 0), PYTHON),
        Told((1532, 1111, 418, 33, 0), "Python is a beginner-friendly"),
    ],
    "test_anthropic__test_anthropic_code_execution_tool_stream": [
        Told(
            (4714, 0, 0, 304, 0),
            "I'll calculate that expression for you right away!Following the standard",
            thoughts=(("Let me calculate this", "EusBClsI", ""),),
        ),
    ],
    "test_anthropic__test_anthropic_explicit_effort_xhigh_unsupported_model_errors": [
        Failed(
            400,
            "invalid_request_error",
            "This model does not support effort level 'xhigh'",
            "req_011Ca7jT9AHpgXgdv8igm4z9",
        ),
    ],
    "test_anthropic__test_anthropic_model_retrying_after_empty_response": [
        Told((26, 0, 0, 18, 0), "# Hi there! 👋"),
    ],
    "test_anthropic__test_anthropic_model_thinking_part_redacted_stream": [
        Told(
            (92, 0, 0, 189, 0),
            "I notice that you've sent what appears to be some kind of test string",
            thoughts=(("", "EqkECkYI", "redacted"), ("", "EtgBCkYI", "redacted")),
        ),
    ],
    "test_anthropic__test_anthropic_model_thinking_part_stream": [
        Told(
            (43, 0, 0, 282, 0),
            "Here are the basic steps for safely crossing the street:",
            thoughts=(("This is a straightforward question about", "EvMCCkYI", ""),),
        ),
    ],
    "test_anthropic__test_anthropic_opus_5_features": [
        Told(
            (13, 0, 0, 44, 33),
            "2 + 2 = 4",
            thoughts=(("This is a straightforward arithmetic", "CAISzQIK", ""),),
        ),
    ],
    "test_anthropic__test_anthropic_tool_with_thinking": [
        Told(
            (398, 0, 0, 155, 0),
            "I'll help you find the largest city in your country.",
            (asked_for("get_user_country"),),
            (("The user is asking about the largest city", "EqEECkYI", ""),),
        ),
        Told((566, 0, 0, 126, 0), "Based on the information that you're from Mexico"),
    ],
    "test_anthropic__test_anthropic_web_search_tool_stream": [
        Told((31772, 0, 0, 644, 0), "Let me search for more specific breaking news stories"),
    ],
    "test_anthropic__test_multiple_parallel_tool_calls": [
        Told(
            (423, 0, 0, 202, 0),
            "I'll help you find out who is the youngest",
            tuple(map(about, ("Alice", "Bob", "Charlie", "Daisy"))),
        ),
        Told((771, 0, 0, 77, 0), "Based on the retrieved information"),
    ],
    "test_anthropic__test_request_stream_fallback_for_high_max_tokens": [
        Told((20, 0, 0, 5, 0), "2")
    ],
    "test_anthropic_mid_conversation_system__test_inline_system_prompt_cache_prefix_is_reused": [
        Told((1592, 0, 1590, 4, 0), "OK"),
        Told((1592, 1590, 0, 4, 0), "OK"),
    ],
    "test_model_name_suggestions__test_model_name_suggestion[anthropic]": [
        Failed(404, "not_found_error", "model: claude-sonet-4-5", "req_011CdufXo8Y2LVfY2veyuQWG"),
    ],
    "test_tool_search__test_anthropic_native_tool_search_streaming": [
        Told(
            (1591, 0, 0, 175, 0),
            "Let me search for a tool that can provide current exchange rate information.I found",
            (RawCall("get_exchange_rate", RATE),),
        ),
        Told((1007, 0, 0, 59, 0), "The current exchange rate is **1 USD = 0.92 EUR**."),
    ],
}
NOT_OURS = {
    "test_anthropic__test_anthropic_code_execution_tool_stream",
    "test_anthropic__test_anthropic_web_search_tool_stream",
    "test_anthropic_mid_conversation_system__test_inline_system_prompt_cache_prefix_is_reused",
    "test_tool_search__test_anthropic_native_tool_search_streaming",
}
"""Recordings of what remit never asks for: tools of Anthropic's own, instructions in the middle."""


def exchanges(path: Path) -> list[dict[str, Any]]:
    """The Messages exchanges of a recording."""
    recorded = yaml.safe_load(path.read_text())["interactions"]
    return [each for each in recorded if each["request"]["uri"].endswith(MESSAGES)]


@pytest.fixture(scope="module")
def wire() -> Path:
    if not WIRE.is_dir():
        pytest.skip("absent: recordings of real servers beside the checkout")
    return WIRE


def reply_of(response: dict[str, Any], newline: bytes = b"\n") -> Reply:
    headers = {
        name: values[0]
        for name, values in response["headers"].items()
        if name.lower() not in FRAMING
    }
    body = response.get("body") or {"string": json.dumps(response["parsed_body"])}
    sent = body["string"].encode().replace(b"\n", newline)
    return Reply([sent], response["status"]["code"], headers)


async def replayed(
    recorded: list[dict[str, Any]], newline: bytes = b"\n"
) -> list[Assembly | ProviderError]:
    found: list[Assembly | ProviderError] = []
    replies = [reply_of(each["response"], newline) for each in recorded]
    async with loopback(*replies) as server:
        asking = model(server)
        for _ in recorded:
            try:
                found.append(await assembled(asking))
            except ProviderError as error:
                found.append(error)
    return found


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("name", EXPECTED)
async def test_a_recorded_answer_is_told_to_the_token(
    wire: Path, name: str, newline: bytes
) -> None:
    recorded = exchanges(wire / f"{name}.yaml")

    found = await replayed(recorded, newline)

    for answer, expected in zip(found, EXPECTED[name], strict=True):
        if isinstance(expected, Failed):
            check_failure(answer, expected)
        else:
            check_answer(answer, expected)


def check_failure(answer: Assembly | ProviderError, expected: Failed) -> None:
    assert isinstance(answer, ProviderError)
    assert (answer.status, answer.code) == (expected.status, expected.code)
    assert answer.message.startswith(expected.words)
    assert answer.request_id == expected.request_id
    assert not answer.may_cost


def check_answer(answer: Assembly | ProviderError, expected: Told) -> None:
    assert isinstance(answer, Assembly), answer
    calls = tuple(part for part in answer.parts if isinstance(part, RawCall))
    text = "".join(part.text for part in answer.parts if isinstance(part, Text))
    thoughts = [part for part in answer.parts if isinstance(part, Reasoning)]
    assert calls == expected.calls
    assert text.startswith(expected.text)
    assert bool(text) == bool(expected.text)
    for thought, (begins, signature, form) in zip(thoughts, expected.thoughts, strict=True):
        assert thought.text.startswith(begins)
        assert (thought.signature or "").startswith(signature)
        assert thought.form == form
    assert answer.stop == ("calls" if calls else "end")
    usage = usage_of(answer)
    assert not usage.estimated
    assert expected.used == (
        usage.input_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
    )


@pytest.mark.parametrize("name", EXPECTED)
async def test_no_recorded_character_is_lost(wire: Path, name: str) -> None:
    """Against a reading of the recording that knows nothing of the adapter."""
    recorded = exchanges(wire / f"{name}.yaml")

    for answer, each in zip(await replayed(recorded), recorded, strict=True):
        if isinstance(answer, Assembly):
            thoughts = [part for part in answer.parts if isinstance(part, Reasoning)]
            texts = "".join(part.text for part in answer.parts if isinstance(part, Text))
            assert texts == joined(each["response"], "text")
            assert "".join(part.text for part in thoughts) == joined(each["response"], "thinking")
            assert "".join(part.signature or "" for part in thoughts) == joined(
                each["response"], "signature", "data"
            )


def joined(response: dict[str, Any], *fields: str) -> str:
    """All that a response holds in these fields of its blocks and their deltas."""
    if "body" not in response:
        pieces = response["parsed_body"]["content"]
    else:
        lines = response["body"]["string"].split("\n")
        events = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
        pieces = [event.get("content_block") or event.get("delta") or {} for event in events]
    return "".join(piece.get(field) or "" for piece in pieces for field in fields)


@pytest.mark.parametrize("name", sorted(EXPECTED.keys() - NOT_OURS))
def test_a_recorded_request_is_built_again(wire: Path, name: str) -> None:
    for each in exchanges(wire / f"{name}.yaml"):
        recorded = each["request"]["parsed_body"]
        options = {key: recorded[key] for key in ("output_config", "thinking") if key in recorded}
        asking = AnthropicMessages(recorded["model"], options=options)

        built = asking.body(request_of(recorded, asking.name))

        assert plain(built) == plain(recorded)


def request_of(body: dict[str, Any], maker: str) -> ModelRequest:
    """What remit would have asked to send this."""
    tools = [
        ToolSpec(t["name"], t["description"], t["input_schema"]) for t in body.get("tools", ())
    ]
    kind = body.get("tool_choice", {}).get("type", "auto")
    return ModelRequest(
        instructions=body.get("system", ""),
        messages=tuple(
            message for turn in body["messages"] for message in messages_of(turn, maker)
        ),
        tools=tuple(tools),
        max_output=body["max_tokens"],
        tool_choice=CHOICES.get(kind, "auto"),
    )


def messages_of(turn: dict[str, Any], maker: str) -> list[Message]:
    blocks = turn["content"]
    if turn["role"] == "assistant":
        return [AssistantMessage(tuple(part_of(block, maker) for block in blocks), maker)]
    if blocks[0]["type"] == "tool_result":
        return [ToolMessage(block["tool_use_id"], "any", block["content"]) for block in blocks]
    return [UserMessage(tuple(Text(block["text"]) for block in blocks))]


def part_of(block: dict[str, Any], maker: str) -> Text | Reasoning | Call:
    match block["type"]:
        case "thinking":
            return Reasoning(block["thinking"], block["signature"], maker=maker)
        case "tool_use":
            return Call(block["id"], block["name"], block["input"], key="k")
        case _:
            return Text(block["text"])


def plain(body: dict[str, Any]) -> dict[str, Any]:
    """A body in one form of the several that mean the same: without marks for the cache, which
    others set by one field for all, and without what is so anyhow."""
    body = without(body, "cache_control", "is_error", "strict")
    turns = groupby(body["messages"], key=lambda turn: str(turn["role"]))
    body["messages"] = [(role, [b for t in turn for b in t["content"]]) for role, turn in turns]
    system = body.get("system", "")
    body["system"] = system if isinstance(system, str) else system[0]["text"]
    body["stream"] = True
    if body.get("tool_choice") == {"type": "auto"}:
        del body["tool_choice"]
    for tool in body.get("tools", ()):
        tool["input_schema"].setdefault("properties", {})
    return body


def without(value: Any, *names: str) -> Any:
    if isinstance(value, dict):
        return {key: without(item, *names) for key, item in value.items() if key not in names}
    return [without(item, *names) for item in value] if isinstance(value, list) else value


def test_every_recording_of_this_format_is_replayed(wire: Path) -> None:
    found = {path.stem for path in wire.glob("*.yaml") if exchanges(path)}

    assert found == set(EXPECTED)
