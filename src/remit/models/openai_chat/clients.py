"""OpenAI's client, and a request through it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from remit.models.wire.clients import Clients, checked_key, sdk
from remit.models.wire.exchange import Errors, Exchange, exchange, key_of
from remit.values.errors import ConfigError

_CONNECT_SECONDS = 10.0
_NO_KEY = "none"


def clients(
    own: Any | None,
    base_url: str | None,
    api_key: str | None,
    seconds: float,
    asker: str = "OpenAIChat",
) -> Clients:
    """The clients of one model of the class `asker`; `seconds` may pass without a piece of an
    answer."""
    return Clients(own, partial(_make, own, base_url, api_key, seconds, asker))


def asking(
    client: Any, body: Mapping[str, Any], seconds: float
) -> AbstractAsyncContextManager[Exchange]:
    """Send `body` to Chat Completions. Raises what `exchange` raises."""
    import openai

    # What goes as extra_body goes out as it is; the SDK would walk through every message first,
    # a tenth of a second for a few hundred of them.
    request = client.chat.completions.with_streaming_response.create(
        model=body["model"], messages=[], stream=True, extra_body=body
    )
    return exchange(request, errors(openai), key_of(client), seconds)


def errors(openai: Any) -> Errors:
    """The errors of the package."""
    return Errors(
        timeout=openai.APITimeoutError,
        status=openai.APIStatusError,
        connection=openai.APIConnectionError,
        any=openai.OpenAIError,
    )


def _make(
    own: Any | None, base_url: str | None, api_key: str | None, seconds: float, asker: str
) -> Any:
    openai = sdk("openai", "openai", "OpenAI and of compatible servers")
    if own is not None:
        return own.with_options(max_retries=0)
    limits = openai.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
    return openai.AsyncOpenAI(
        api_key=_key(base_url, api_key, asker),
        base_url=base_url,
        max_retries=0,
        timeout=limits,
        # A redirect would take the conversation along to wherever it leads.
        http_client=openai.DefaultAsyncHttpxClient(timeout=limits, follow_redirects=False),
    )


def _key(base_url: str | None, api_key: str | None, asker: str) -> str:
    key = checked_key(api_key, "OPENAI_API_KEY", "OpenAI")
    if not key and not (base_url or os.environ.get("OPENAI_BASE_URL")):
        raise ConfigError(
            f"no key for OpenAI: set OPENAI_API_KEY, or give {asker}(…) api_key= or client="
        )
    return key or _NO_KEY
