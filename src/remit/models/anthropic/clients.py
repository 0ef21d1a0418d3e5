"""Anthropic's client, and a request through it."""

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
_CREDENTIALS = ("api_key", "auth_token", "credentials")


def clients(own: Any | None, base_url: str | None, api_key: str | None, seconds: float) -> Clients:
    """The clients of one model; `seconds` may pass without a piece of an answer."""
    return Clients(own, partial(_make, own, base_url, api_key, seconds))


def asking(
    client: Any, body: Mapping[str, Any], seconds: float
) -> AbstractAsyncContextManager[Exchange]:
    """Send `body` to Messages. Raises what `exchange` raises."""
    import anthropic

    # What goes as extra_body may have fields that the SDK does not know yet.
    request = client.messages.with_streaming_response.create(
        model=body["model"],
        max_tokens=body["max_tokens"],
        messages=[],
        stream=True,
        extra_body=body,
    )
    return exchange(request, errors(anthropic), _secret(client), seconds)


def errors(anthropic: Any) -> Errors:
    """The errors of the package."""
    return Errors(
        timeout=anthropic.APITimeoutError,
        status=anthropic.APIStatusError,
        connection=anthropic.APIConnectionError,
        any=anthropic.AnthropicError,
    )


def _make(own: Any | None, base_url: str | None, api_key: str | None, seconds: float) -> Any:
    anthropic = sdk("anthropic", "anthropic", "Anthropic")
    if own is not None:
        _check_own(own, anthropic)
        return own.with_options(max_retries=0)
    key, token = _key(base_url, api_key)
    limits = anthropic.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
    return anthropic.AsyncAnthropic(
        api_key=key,
        auth_token=token,
        # The SDK adds the version's path itself.
        base_url=base_url and base_url.rstrip("/").removesuffix("/v1"),
        max_retries=0,
        timeout=limits,
        # A redirect would take the conversation along to wherever it leads.
        http_client=anthropic.DefaultAsyncHttpxClient(timeout=limits, follow_redirects=False),
    )


def _check_own(own: Any, anthropic: Any) -> None:
    """Raise ConfigError for a client of the caller's own that cannot be used."""
    if isinstance(own, anthropic.AsyncAnthropicBedrock):
        raise ConfigError(
            "AsyncAnthropicBedrock streams in a format of its own: give"
            " AnthropicMessages(client=) an anthropic.AsyncAnthropicBedrockMantle"
        )
    headers = {name.lower() for name in own.default_headers}
    keyed = any(getattr(own, name, None) is not None for name in _CREDENTIALS)
    if type(own) is anthropic.AsyncAnthropic and not (
        keyed or headers & {"authorization", "x-api-key"}
    ):
        raise ConfigError("the client given to AnthropicMessages has no key: make it with api_key=")


def _key(base_url: str | None, api_key: str | None) -> tuple[str | None, str | None]:
    """A key, or a token that stands for one. Raises ConfigError where there is neither."""
    key = checked_key(api_key, "ANTHROPIC_API_KEY", "Anthropic")
    if key:
        return key, None
    token = checked_key(None, "ANTHROPIC_AUTH_TOKEN", "Anthropic")
    if token:
        return None, token
    if not (base_url or os.environ.get("ANTHROPIC_BASE_URL")):
        raise ConfigError(
            "no key for Anthropic: set ANTHROPIC_API_KEY, or give AnthropicMessages(…) api_key="
            " or client="
        )
    return _NO_KEY, None


def _secret(client: Any) -> str | None:
    """The key or token that `client` sends, to keep it out of messages."""
    token = getattr(client, "auth_token", None)
    return key_of(client) or (token if isinstance(token, str) else None)
