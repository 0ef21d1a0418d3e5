"""No server sends a conversation on to another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from remit.models.anthropic import AnthropicMessages
from remit.models.google import GoogleGemini
from remit.models.openai_chat import OpenAIChat
from remit.models.openai_responses import OpenAIResponses
from remit.values.errors import ProviderError
from tests.loopback import Reply, loopback
from tests.unit.models.asking import asked

MODELS: list[Callable[..., Any]] = [OpenAIChat, OpenAIResponses, AnthropicMessages, GoogleGemini]
TARGETS = {
    "http://127.0.0.1:{}/steal?key=secret": "127.0.0.1",
    "/elsewhere": "another path of its own",
    "http://[": "no address",
}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("made", MODELS)
async def test_a_redirect_takes_no_conversation_along(made: Any, status: int) -> None:
    async with loopback() as other:
        error = await refused(made, f"http://127.0.0.1:{other.port}/steal?key=secret", status)

        assert not other.requests
    assert error.status == status
    assert "127.0.0.1" in error.message
    assert "secret" not in str(error)


@pytest.mark.parametrize(("target", "told"), TARGETS.items())
@pytest.mark.parametrize("made", MODELS)
async def test_where_a_redirect_leads_is_told_by_its_host(
    made: Any, target: str, told: str
) -> None:
    error = await refused(made, target.format(1), 307)

    assert told in error.message
    assert "secret" not in str(error)


async def refused(made: Any, target: str, status: int) -> ProviderError:
    async with loopback(Reply([], status, {"location": target})) as server:
        model = made("a-model", base_url=f"http://127.0.0.1:{server.port}", api_key="a-key-of-mine")
        with pytest.raises(ProviderError) as caught:
            await anext(model.stream(asked()))
        assert len(server.requests) == 1
    return caught.value
