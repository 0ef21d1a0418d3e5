"""Recorded answers of Gemini's, replayed through the SDK: messages, calls, usage and requests.

The recordings lie beside the checkout, where they are not part of it; without them this skips.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from remit.models.assemble import Assembly, RawCall
from remit.models.google import GoogleGemini
from remit.models.request import ModelRequest, ToolSpec
from remit.testing import RefusedError, check_gemini
from remit.values.content import Call, Reasoning, Text
from remit.values.errors import ProviderError
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from remit.values.usage import Usage
from tests.loopback import Reply, loopback
from tests.unit.models.gemini.asking import assembled, events, model
from tests.unit.models.test_openai_recordings import reply_of

pytestmark = pytest.mark.slow

WIRE = Path(__file__).parents[5] / "shared" / "wire"
NAME = "google:gemini-test"
METHODS = (":generateContent", ":streamGenerateContent?alt=sse")


@dataclass(frozen=True)
class Told:
    """What an answer came to. `used` is input, cache reads, output, of which reasoning."""

    used: tuple[int, int, int, int]
    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    stop: str = "end"


def topics(count: int) -> tuple[tuple[str, dict[str, Any]], ...]:
    return (("generate_topic", {}),) * count


JOKES = [
    "What kind of car does a sheep drive? A Lamborghini!",
    "Why don't you see penguins in Great Britain? Because they're afraid of Wales!",
    "What happened when the wheel was invented? It caused a revolution!",
]
EXPECTED: dict[str, list[Told | str]] = {
    "google__test_cache__test_google_model_cached_content": [
        Told((3520, 3512, 44, 42), "Paris."),
        Told((3520, 3512, 53, 51), "Paris."),
    ],
    "test_google__test_google_instructions_only_with_tool_calls": [
        Told((83, 0, 220, 190), "", topics(3), "calls"),
        Told((348, 0, 50, 40), "", topics(1), "calls"),
        Told((415, 0, 115, 105), "", topics(1), "calls"),
        Told((546, 0, 116, 106), "", topics(1), "calls"),
        Told((679, 0, 300, 235), "", (("final_result", {"response": JOKES}),), "calls"),
    ],
    "test_google__test_google_model_max_tokens_thinking_model_empty_response": [
        Told((15, 0, 2, 2), stop="length"),
    ],
    "test_google__test_google_streaming_tool_call_thought_signature": [
        Told((29, 0, 212, 202), "", (("get_country", {}),), "calls"),
        Told((257, 0, 8, 0), "The capital of Mexico is Mexico City."),
    ],
    "test_model_name_suggestions__test_model_name_suggestion[google]": [
        "models/gemini-3.6-flahs is not found for API version v1beta",
    ],
}


@pytest.fixture(scope="module")
def wire() -> Path:
    if not WIRE.is_dir():
        pytest.skip("absent: recordings of real servers beside the checkout")
    return WIRE


def exchanges(path: Path) -> list[dict[str, Any]]:
    recorded = yaml.safe_load(path.read_text())["interactions"]
    return [each for each in recorded if each["request"]["uri"].endswith(METHODS)]


def replies(recorded: list[dict[str, Any]], *, streamed: bool) -> Iterator[Reply]:
    """The recorded answers. One that came as one object may have been a stream of one event."""
    for each in recorded:
        response = each["response"]
        if streamed and "parsed_body" in response and response["status"]["code"] == 200:
            yield Reply([events(response["parsed_body"])])
        else:
            yield reply_of(response)


def parameters(function: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = function["parameters_json_schema"]
    return found


def asked(request: dict[str, Any]) -> ModelRequest:
    """The request that a recorded one was, in remit's words."""
    body = request["parsed_body"]
    functions = [f for tool in body.get("tools", ()) for f in tool["functionDeclarations"]]
    instructions = body.get("systemInstruction", {"parts": [{"text": ""}]})["parts"][0]["text"]
    return ModelRequest(
        instructions=instructions,
        messages=tuple(messages(body["contents"])),
        tools=tuple(ToolSpec(f["name"], f["description"], parameters(f)) for f in functions),
        max_output=body["generationConfig"].get("maxOutputTokens", 4096),
        tool_choice="required" if "toolConfig" in body else "auto",
    )


def messages(contents: list[dict[str, Any]]) -> Iterator[Message]:
    for content in contents:
        parts = content["parts"]
        if content["role"] == "model":
            yield AssistantMessage(tuple(called(part) for part in parts), NAME)
        elif "functionResponse" in parts[0]:
            for part in parts:
                found = part["functionResponse"]
                yield ToolMessage(found["id"], found["name"], found["response"]["return_value"])
        else:
            # An empty text is refused today; whoever recorded this had nothing else to say.
            yield UserMessage((Text(parts[0]["text"] or "Begin."),))


def called(part: dict[str, Any]) -> Call:
    call = part["functionCall"]
    signature = part.get("thoughtSignature")
    return Call(call["id"], call["name"], call["args"], "k", signature=signature)


async def replayed(model: GoogleGemini, request: dict[str, Any]) -> Assembly | ProviderError:
    try:
        return await assembled(model, asked(request))
    except ProviderError as error:
        return error


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("name", EXPECTED)
async def test_a_recorded_answer_is_told_to_the_token(
    wire: Path, name: str, streamed: bool
) -> None:
    recorded = exchanges(wire / f"{name}.yaml")
    async with loopback(*replies(recorded, streamed=streamed)) as server:
        found = [await replayed(model(server), each["request"]) for each in recorded]

    assert len(found) == len(EXPECTED[name])
    for answer, expected in zip(found, EXPECTED[name], strict=True):
        if isinstance(expected, str):
            assert isinstance(answer, ProviderError)
            assert (answer.status, answer.code) == (404, "NOT_FOUND")
            assert answer.message.startswith(expected)
        else:
            check(answer, expected)


def check(answer: Assembly | ProviderError, expected: Told) -> None:
    assert isinstance(answer, Assembly), answer
    calls = [part for part in answer.parts if isinstance(part, RawCall)]
    text = "".join(part.text for part in answer.parts if isinstance(part, Text))
    assert tuple((call.name, call.arguments) for call in calls) == expected.calls
    assert (text, answer.stop) == (expected.text, expected.stop)
    asked, cached, made, thought = expected.used
    assert answer.usage == Usage(
        input_tokens=asked,
        cache_read_tokens=cached,
        output_tokens=made,
        reasoning_tokens=thought,
    )


@pytest.mark.parametrize("name", EXPECTED)
async def test_no_recorded_signature_is_lost(wire: Path, name: str) -> None:
    """Against a reading of the recording that knows nothing of the adapter."""
    recorded = exchanges(wire / f"{name}.yaml")
    async with loopback(*replies(recorded, streamed=True)) as server:
        found = [await replayed(model(server), each["request"]) for each in recorded]

    for answer, each in zip(found, recorded, strict=True):
        if isinstance(answer, Assembly):
            kept = [
                part.signature
                for part in answer.parts
                if isinstance(part, RawCall | Reasoning) and part.signature
            ]
            assert kept == signatures(each["response"])


def signatures(response: dict[str, Any]) -> list[str]:
    if "body" in response:
        lines = response["body"]["string"].split("\r\n")
        chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
    else:
        chunks = [response["parsed_body"]]
    parts = [
        part
        for chunk in chunks
        for candidate in chunk["candidates"]
        for part in candidate["content"].get("parts", ())
    ]
    return [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]


@pytest.mark.parametrize("name", EXPECTED)
async def test_a_recorded_request_is_what_we_send(wire: Path, name: str) -> None:
    recorded = exchanges(wire / f"{name}.yaml")
    async with loopback(*replies(recorded, streamed=True)) as server:
        for each in recorded:
            await replayed(model(server), each["request"])

    for sent, each in zip(server.requests, recorded, strict=True):
        theirs = each["request"]["parsed_body"]
        assert shape(sent.body) == shape(theirs)
        assert sent.path.endswith(":streamGenerateContent?alt=sse")


def shape(body: dict[str, Any]) -> dict[str, Any]:
    """What two clients of one mind say alike: the words are Gemini's, their cases differ."""
    contents = [
        {"role": content["role"], "parts": [part_shape(part) for part in content["parts"]]}
        for content in body["contents"]
    ]
    tools = [f for tool in body.get("tools", ()) for f in tool["functionDeclarations"]]
    config = body.get("toolConfig", {}).get("functionCallingConfig", {})
    return {
        "contents": contents,
        "tools": [(f["name"], properties(f)) for f in tools],
        "mode": config.get("mode"),
        "instructions": body.get("systemInstruction", {}).get("parts"),
    }


def properties(function: dict[str, Any]) -> list[str]:
    schema = function.get("parametersJsonSchema") or function["parameters_json_schema"]
    return sorted(schema["properties"])


def part_shape(part: dict[str, Any]) -> Any:
    if "functionResponse" in part:
        found = part["functionResponse"]
        return (found["id"], found["name"], list(found["response"].values()))
    if "text" in part:
        return part["text"] or "Begin."
    return part


async def test_a_recorded_conversation_passes_the_rules_but_for_its_maker(wire: Path) -> None:
    """The signatures are Gemini's, not those of the maker in our tests; all else is taken."""
    name = "test_google__test_google_instructions_only_with_tool_calls"
    for each in exchanges(wire / f"{name}.yaml"):
        body = GoogleGemini("gemini-test").body(asked(each["request"]))
        signed = "thoughtSignature" in json.dumps(body)
        if not signed:
            check_gemini(body)
            continue
        with pytest.raises(RefusedError, match=r"signature is not valid|Base64 decoding failed"):
            check_gemini(body)


def test_every_recording_of_this_format_is_replayed(wire: Path) -> None:
    found = {path.stem for path in wire.glob("*.yaml") if exchanges(path)}

    assert found == set(EXPECTED)
