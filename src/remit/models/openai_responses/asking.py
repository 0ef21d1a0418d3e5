"""A request to Responses through OpenAI's client."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from remit.models.openai_chat.clients import errors
from remit.models.wire.exchange import Exchange, exchange, key_of


def asking(
    client: Any, body: Mapping[str, Any], seconds: float
) -> AbstractAsyncContextManager[Exchange]:
    """Send `body`. Raises what `exchange` raises."""
    import openai

    # What goes as extra_body goes out as it is; the SDK would walk through every item first.
    request = client.responses.with_streaming_response.create(
        model=body["model"], input=[], stream=True, extra_body=body
    )
    return exchange(request, errors(openai), key_of(client), seconds)
