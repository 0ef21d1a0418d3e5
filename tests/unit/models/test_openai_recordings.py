"""Recorded answers of real servers, replayed through the SDK: messages, calls and usage.

The recordings lie beside the checkout, where they are not part of it; without them this skips.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from remit.models.assemble import Assembly, RawCall
from remit.models.openai_chat import OpenAIChat
from remit.models.request import ToolSpec
from remit.values.content import Reasoning, Text
from remit.values.errors import ProviderError
from remit.values.messages import UserMessage
from remit.values.usage import Usage
from tests.loopback import Reply, loopback
from tests.unit.models.asking import KEY, asked, assembled

pytestmark = pytest.mark.slow

WIRE = Path(__file__).parents[4] / "shared" / "wire"
CHAT = "/chat/completions"
FRAMING = {"transfer-encoding", "connection", "content-length", "content-encoding"}


@dataclass(frozen=True)
class Told:
    """What an answer came to. `used` is input, cache reads, cache writes, output, reasoning."""

    used: tuple[int, int, int, int, int]
    text: str = ""
    calls: tuple[RawCall, ...] = ()
    reasoning: str | None = None
    """How the reasoning begins."""
    estimated: bool = False


@dataclass(frozen=True)
class Failed:
    status: int
    code: str | None
    words: str


def call(name: str, /, **arguments: Any) -> RawCall:
    return RawCall(name, arguments)


RATE = Failed(429, None, "Provider returned error: google/gemini-2.0-flash-exp:free is temporarily")
RESULT = call(
    "final_result",
    answers=[
        {"label": "Capital", "answer": "The capital of Mexico is Mexico City."},
        {"label": "Weather", "answer": "The weather in Mexico City is currently sunny."},
        {"label": "Product Name", "answer": "The product name is Pydantic AI."},
    ],
)
EXPECTED: dict[str, list[Told | Failed]] = {
    "openrouter__test_cache__test_openrouter_cache_streaming_e2e": [
        Told((254, 0, 0, 5, 0), "Hello!"),
    ],
    "test_deepseek__test_deepseek_deferred_capability_with_thinking": [
        Told(
            (563, 512, 0, 116, 60),
            "Let me load the dice rolling capability!",
            (call("load_capability", id="DICE_ROLL"),),
            "The user wants to play",
        ),
        Told(
            (875, 0, 0, 79, 26),
            "Let me get your name and roll the die!",
            (call("get_player_name"), call("roll_dice")),
            "Great, now I have",
        ),
        Told(
            (976, 896, 0, 61, 25),
            "🎉 **Congratulations, Anne!** You're a winner! 🎉",
            reasoning="The player's name is Anne",
        ),
    ],
    "test_deepseek__test_deepseek_model_thinking_part": [
        Told(
            (12, 0, 0, 789, 415), "Crossing the street safely", reasoning="Okay, the user is asking"
        ),
    ],
    "test_groq__test_tool_use_failed_error": [
        Told((0, 0, 0, 0, 0), "", (call("get_something_by_name", foo="bar"),), estimated=True),
        Told((301, 0, 0, 52, 22), "", (call("get_something_by_name", name="test"),), "We need to"),
        Told((336, 256, 0, 96, 59), "The first call failed", reasoning="We need to respond"),
    ],
    "test_groq__test_tool_use_failed_error_streaming": [
        Told(
            (0, 0, 0, 0, 0),
            "",
            (call("get_something_by_name", invalid_param="value"),),
            "We need to call",
            estimated=True,
        ),
        Told(
            (304, 0, 0, 49, 23), "", (call("get_something_by_name", name="example"),), "We need to"
        ),
        Told(
            (339, 0, 0, 58, 38),
            "The tool returned the expected result for the valid call.",
            reasoning="The user wants to test",
        ),
    ],
    "test_mistral__test_mistral_history_uses_prompt_cache": [
        Told((253, 0, 0, 5, 0), "cache probe one."),
        Told((268, 224, 0, 5, 0), "cache probe two."),
    ],
    "test_model_name_suggestions__test_model_name_suggestion[openai-chat]": [
        Failed(404, "model_not_found", "The model `gpt-5.2-proo` does not exist"),
    ],
    "test_openai__test_max_completion_tokens[o3-mini]": [
        Told((7, 0, 0, 87, 64), "Hello there! How can I help you today?"),
    ],
    "test_openai__test_openai_o1_mini_system_role[system]": [
        Failed(400, "unsupported_value", "Unsupported value: 'messages[0].role'"),
    ],
    "test_openai__test_run_stream_sync_streams_real_model": [
        Told((53, 0, 0, 15, 0), "", (call("get_capital", country="UK"),)),
        Told((78, 0, 0, 9, 0), "The capital of the UK is London."),
    ],
    "test_openai_prompt_cache__test_openai_chat_prompt_cache_e2e": [
        Told((4020, 0, 4012, 4, 0), "OK"),
        Told((4020, 4012, 0, 4, 0), "OK"),
    ],
    "test_openrouter__test_openrouter_errors_raised": [RATE] * 3,
    "test_openrouter__test_openrouter_stream_error": [Failed(400, None, "Token limit reached")],
    "test_openrouter__test_openrouter_streaming_reasoning": [
        Told((43, 0, 0, 36, 13), "2 + 2 = 4", reasoning="This is a simple arithmetic question."),
    ],
    "test_temporal__test_complex_agent_run": [
        Told((364, 0, 0, 40, 0), "", (call("get_country"), call("get_product_name"))),
        Told((423, 0, 0, 15, 0), "", (call("get_weather", city="Mexico City"),)),
        Told((448, 0, 0, 62, 0), "", (RESULT,)),
    ],
    "test_temporal__test_temporal_agent_run_stream": [
        Told((14, 0, 0, 8, 0), "The capital of Mexico is Mexico City."),
    ],
    "test_temporal__test_temporal_agent_with_hitl_tool": [
        Told(
            (71, 0, 0, 46, 0),
            "",
            (call("delete_file", path=".env"), call("create_file", path="test.txt")),
        ),
        Told((133, 0, 0, 19, 0), "The file `.env` has been deleted and"),
    ],
    "test_tool_choice_matrix__test_tool_choice_matrix[required-openai]": [
        Told((130, 0, 0, 87, 64), "", (call("get_weather", city="Paris"),)),
    ],
    "test_zai__test_zai_thinking_stream": [
        Told((13, 0, 0, 564, 561), "4", reasoning="\n1.  **Analyze the User's Request:**"),
    ],
}


def exchanges(path: Path) -> list[dict[str, Any]]:
    """The Chat Completions exchanges of a recording."""
    recorded = yaml.safe_load(path.read_text())["interactions"]
    return [each for each in recorded if each["request"]["uri"].endswith(CHAT)]


@pytest.fixture(scope="module")
def wire() -> Path:
    if not WIRE.is_dir():
        pytest.skip("absent: recordings of real servers beside the checkout")
    return WIRE


def reply_of(response: dict[str, Any]) -> Reply:
    headers = {
        name: values[0]
        for name, values in response["headers"].items()
        if name.lower() not in FRAMING
    }
    body = response.get("body") or {"string": json.dumps(response["parsed_body"])}
    return Reply([body["string"].encode()], response["status"]["code"], headers)


def tools_of(request: dict[str, Any]) -> list[ToolSpec]:
    functions = [tool["function"] for tool in request["parsed_body"].get("tools") or []]
    return [ToolSpec(f["name"], f.get("description", ""), f["parameters"]) for f in functions]


async def replayed(model: OpenAIChat, request: dict[str, Any]) -> Assembly | ProviderError:
    question = UserMessage((Text("Hello"),))
    try:
        return await assembled(model, asked(question, tools=tools_of(request)))
    except ProviderError as error:
        return error


@pytest.mark.parametrize("name", EXPECTED)
async def test_a_recorded_answer_is_told_to_the_token(wire: Path, name: str) -> None:
    recorded = exchanges(wire / f"{name}.yaml")
    async with loopback(*(reply_of(each["response"]) for each in recorded)) as server:
        model = OpenAIChat("m", base_url=server.base_url, api_key=KEY)
        found = [await replayed(model, each["request"]) for each in recorded]

    assert len(found) == len(EXPECTED[name])
    for answer, expected in zip(found, EXPECTED[name], strict=True):
        if isinstance(expected, Failed):
            check_failure(answer, expected)
        else:
            check_answer(answer, expected)


def check_failure(answer: Assembly | ProviderError, expected: Failed) -> None:
    assert isinstance(answer, ProviderError)
    assert (answer.status, answer.code) == (expected.status, expected.code)
    assert answer.message.startswith(expected.words)


def check_answer(answer: Assembly | ProviderError, expected: Told) -> None:
    assert isinstance(answer, Assembly), answer
    calls = tuple(part for part in answer.parts if isinstance(part, RawCall))
    text = "".join(part.text for part in answer.parts if isinstance(part, Text))
    thought = "".join(part.text for part in answer.parts if isinstance(part, Reasoning))
    assert calls == expected.calls
    assert text.startswith(expected.text)
    assert bool(text) == bool(expected.text)
    assert thought.startswith(expected.reasoning or "")
    assert bool(thought) == (expected.reasoning is not None)
    assert answer.stop == ("calls" if calls else "end")
    check_usage(answer.usage, expected)


def check_usage(usage: Usage | None, expected: Told) -> None:
    assert usage is not None
    assert usage.estimated is expected.estimated
    if not expected.estimated:
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
    async with loopback(*(reply_of(each["response"]) for each in recorded)) as server:
        model = OpenAIChat("m", base_url=server.base_url, api_key=KEY)
        found = [await replayed(model, each["request"]) for each in recorded]

    for answer, each in zip(found, recorded, strict=True):
        if isinstance(answer, Assembly):
            texts = "".join(part.text for part in answer.parts if isinstance(part, Text))
            thoughts = "".join(part.text for part in answer.parts if isinstance(part, Reasoning))
            assert texts == joined(each["response"], "content")
            assert thoughts == joined(each["response"], "reasoning_content", "reasoning")


def joined(response: dict[str, Any], *fields: str) -> str:
    """All that a response holds in one of these fields of its deltas or its message."""
    if "body" not in response:
        chunks = [response["parsed_body"]]
    else:
        lines = response["body"]["string"].split("\n")
        data = [line.removeprefix("data: ") for line in lines if line.startswith("data: {")]
        chunks = [json.loads(text) for text in data]
    choices = [choice for chunk in chunks for choice in chunk.get("choices", [])]
    messages = [choice.get("delta") or choice.get("message") or {} for choice in choices]
    return "".join(message.get(field) or "" for message in messages for field in fields)


def test_every_recording_of_this_format_is_replayed(wire: Path) -> None:
    found = {path.stem for path in wire.glob("*.yaml") if exchanges(path)}

    assert found == set(EXPECTED)
