"""Recorded answers of real servers that speak Responses, replayed through the SDK.

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
from remit.models.openai_responses import OpenAIResponses
from remit.models.openai_responses.marks import read
from remit.models.request import ModelRequest, ToolSpec
from remit.testing import check_responses
from remit.values.content import Call, Part, Reasoning, Text
from remit.values.errors import ProviderError
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tests.loopback import Loopback, loopback
from tests.unit.models.asking import KEY, asked
from tests.unit.models.responses import assembled
from tests.unit.models.test_openai_recordings import Failed, Told, call, check_failure, reply_of

WIRE = Path(__file__).parents[4] / "shared" / "wire"
PATH = "/responses"
PLAN = "update_plan"


@dataclass(frozen=True)
class Other:
    """An exchange of which our client could have sent nothing like it."""

    why: str


COMPACTED = Other("another endpoint")
EXPECTED: dict[str, list[Told | Failed | Other]] = {
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
        Told((142, 0, 0, 497 - 142, 128), "Plenty.", reasoning="**"),
    ],
    "test_openai_responses__test_openai_responses_thinking_with_tool_calls": [],
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
