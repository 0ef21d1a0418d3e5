"""A request that a wrong base_url sent elsewhere is told with where it went, and asked once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from remit.errors import ProviderError
from remit.models.anthropic import AnthropicMessages
from remit.models.failure import classify
from remit.models.google import GoogleGemini
from remit.models.openai_chat import OpenAIChat
from remit.models.openai_responses import OpenAIResponses
from tests.loopback import Reply, loopback, plain
from tests.unit.models.asking import KEY, chunks_of

ADAPTERS: list[tuple[Callable[..., Any], str]] = [
    (OpenAIChat, "/chat/completions"),
    (OpenAIResponses, "/responses"),
    (AnthropicMessages, "/v1/messages"),
    (GoogleGemini, "/v1/models/m:streamGenerateContent"),
]
PAGE = b"<html><body>" + b"<p>Nothing is here.</p>" * 100 + b"</body></html>"
HTML = {"content-type": "text/html"}
GONE = {
    "a page": Reply([PAGE], 404, HTML),
    "text": Reply([b"404 page not found"], 404, {"content-type": "text/plain"}),
    "nothing": Reply([], 404, {}),
    "a framework's word": plain({"detail": "Not Found"}, 404),
    "no such method": Reply([PAGE], 405, HTML),
}


async def refused(adapter: Callable[..., Any], reply: Reply) -> tuple[ProviderError, str]:
    """What the adapter says of the reply, and the host that was asked."""
    async with loopback(reply) as server:
        url = f"http://127.0.0.1:{server.port}/sub/{KEY}"
        model = adapter("m", base_url=url, api_key=KEY)
        with pytest.raises(ProviderError) as caught:
            await chunks_of(model)
    return caught.value, f"127.0.0.1:{server.port}/sub/[hidden]"


@pytest.mark.parametrize(("adapter", "path"), ADAPTERS)
@pytest.mark.parametrize("reply", GONE.values(), ids=GONE)
async def test_a_place_where_nothing_is_tells_where_that_was(
    adapter: Callable[..., Any], path: str, reply: Reply
) -> None:
    error, host = await refused(adapter, reply)

    assert f"check base_url: {host}{path} was asked" in error.message
    assert error.status == reply.status
    assert "?" not in error.message
    assert KEY not in str(error)


@pytest.mark.parametrize(("adapter", "path"), ADAPTERS)
async def test_a_report_of_a_models_server_is_left_as_it_is(
    adapter: Callable[..., Any], path: str
) -> None:
    error, _ = await refused(adapter, plain({"error": {"message": "No such model"}}, 404))

    assert error.message == "No such model"


@pytest.mark.parametrize(("adapter", "path"), ADAPTERS)
@pytest.mark.parametrize("reply", [Reply([PAGE], headers=HTML), plain({"hello": "world"})])
async def test_what_is_of_no_model_tells_where_it_came_from_and_is_not_asked_again(
    adapter: Callable[..., Any], path: str, reply: Reply
) -> None:
    error, host = await refused(adapter, reply)
    failure = classify(error, begun=False)

    assert f"check base_url: {host}{path} was asked" in error.message
    assert (failure.why, failure.charge, failure.repeats) == ("astray", "perhaps", False)
    assert KEY not in str(error)


@pytest.mark.parametrize(("adapter", "path"), ADAPTERS)
async def test_a_stream_that_ends_before_it_says_anything_may_be_asked_again(
    adapter: Callable[..., Any], path: str
) -> None:
    error, _ = await refused(adapter, Reply([b": one moment\n\n"]))

    assert classify(error, begun=False).why == "unanswered"
