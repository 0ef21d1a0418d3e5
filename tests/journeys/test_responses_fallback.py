"""From OpenAI's Responses to another model, and not to what the same maker bills."""

from __future__ import annotations

from dataclasses import replace

import pytest

from remit import Agent, Budget, tool
from remit.models.openai_chat import OpenAIChat
from remit.models.retry import Retry
from remit.testing import Call, Say, StrictProvider, Think
from remit.values.errors import ProviderError
from tests.journeys.test_responses import asking, serving


async def test_a_spent_quota_is_not_tried_through_openais_other_interface() -> None:
    spent = ProviderError(status=429, code="insufficient_quota")
    async with StrictProvider([spent, spent, Say("Here.")]) as provider:
        chat = OpenAIChat("gpt-test", base_url=provider.openai_url, api_key="k")
        other = replace(chat, provider="other")
        agent = Agent(name="a", model=[asking(provider), chat], budget=Budget(turns=2))
        with pytest.raises(ProviderError, match="insufficient_quota"):
            await agent.run("Go")
        result = await agent.replace(model=[asking(provider), chat, other]).run("Go")

    assert result.turns[0].model == "other:gpt-test"
    assert [sent.path for sent in provider.requests] == [
        *("/v1/responses", "/v1/responses", "/v1/chat/completions"),
    ]


async def test_another_model_takes_over_without_the_reasoning() -> None:
    @tool
    async def now() -> str:
        """Tells the time."""
        return "noon"

    busy = ProviderError(status=503)
    script = [[Think("Hm."), Say("Let me look."), Call("now")], busy, Say("Noon.")]
    async with serving(script, "/v1/responses", "/v1/chat/completions") as provider:
        chat = OpenAIChat("gpt-test", base_url=provider.openai_url, api_key="k")
        agent = Agent(
            name="a",
            model=[asking(provider), chat],
            tools=[now],
            budget=Budget(turns=4),
            retry=Retry(attempts=1),
        )
        result = await agent.run("What time is it?")

    assert result.text == "Noon."
    assert [turn.model for turn in result.turns] == ["openai-responses:gpt-test", "openai:gpt-test"]
    assert "Hm." not in provider.requests[-1].text
