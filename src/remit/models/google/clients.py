"""Google's client, and a request through it.

The SDK's own methods are not used for the request: they read each piece of an answer into classes
of theirs, by which signatures come back in another alphabet, and what a later interface sends is
lost. What they are built on sends the same request, with the SDK's address, keys and headers, and
gives the response unread. It is private to the SDK, and named in `Client.send` alone.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from remit.models.google.bare import events_alone
from remit.models.wire.clients import Clients, checked_key, sdk
from remit.models.wire.exchange import Errors, Exchange, exchange, key_of
from remit.values.errors import ConfigError

_CONNECT_SECONDS = 10.0
_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_BASE_URL = "GOOGLE_GEMINI_BASE_URL"
_NO_KEY = "none"


def clients(own: Any | None, base_url: str | None, api_key: str | None, seconds: float) -> Clients:
    """The clients of one model; `seconds` may pass without a piece of an answer."""
    return Clients(own, partial(_make, own, base_url, api_key, seconds))


def asking(
    client: Client, model: str, body: Mapping[str, Any], seconds: float
) -> AbstractAsyncContextManager[Exchange]:
    """Send `body` to `model`. Raises what `exchange` raises."""
    return exchange(_Request(client, model, body), _ERRORS, key_of(client), seconds)


class Client:
    """A `google.genai.Client`, as far as it is needed. `http` is closed with it."""

    def __init__(self, genai: Any, own: Any, http: Any | None = None) -> None:
        self._types = genai.types
        self._own = own
        self._http = http

    @property
    def api_key(self) -> str | None:
        """The key that is sent; None where there is another way in."""
        return getattr(self._own._api_client, "api_key", None)

    async def send(self, model: str, body: Mapping[str, Any]) -> Any:
        """The SDK's response to `body`, nothing of it read. Never tried twice."""
        sender, types = self._own._api_client, self._types
        once = types.HttpOptions(retry_options=types.HttpRetryOptions(attempts=1))
        path = f"{_path(model, vertex=bool(sender.vertexai))}:streamGenerateContent?alt=sse"
        request = sender._build_request("post", path, dict(body), once)
        return await sender._async_request(request, once, stream=True)

    async def close(self) -> None:
        """Close its connections."""
        await self._own.aio.aclose()
        self._own.close()
        if self._http is not None:
            await self._http.aclose()


class _RefusedError(Exception):
    """A status of 400 or more."""

    def __init__(self, error: Any) -> None:
        super().__init__()
        self.status_code: int = error.code
        self.body: Any = error.details
        self.response: Any = error.response


class _UnreachableError(Exception):
    """Nothing came of the request."""


class _UnsendableError(Exception):
    """The client cannot send it."""


_ERRORS = Errors(
    timeout=TimeoutError,
    status=_RefusedError,
    connection=_UnreachableError,
    any=_UnsendableError,
)


class _Request:
    """A request that is sent when it is entered."""

    def __init__(self, client: Client, model: str, body: Mapping[str, Any]) -> None:
        self._client, self._model, self._body = client, model, body

    async def __aenter__(self) -> _Response:
        try:
            found = await self._client.send(self._model, self._body)
        except Exception as error:
            raise _sorted(error) from error
        return _Response(found.response_stream)

    async def __aexit__(self, *_: object) -> None:
        """Nothing: the response is closed by whoever was given it."""


class _Response:
    """A response of any of the HTTP clients that the SDK goes through: httpx2, httpx, aiohttp."""

    def __init__(self, response: Any) -> None:
        self._response = response
        self.headers: Mapping[str, str] = response.headers
        self.url = response.url

    async def iter_bytes(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        found = self._response
        received = (
            found.aiter_bytes() if hasattr(found, "aiter_bytes") else found.content.iter_any()
        )
        async for piece in events_alone(received):
            yield piece

    async def close(self) -> None:
        """Give the connection back, or drop what is still to come on it."""
        if hasattr(self._response, "aclose"):
            await self._response.aclose()
        else:
            self._response.close()


def _sorted(error: Exception) -> Exception:
    """What `error` of the SDK's, of its HTTP client or of its sign-in means here."""
    kind, words = type(error), str(error)
    if kind.__module__.startswith("google.genai") and hasattr(error, "code"):
        return _RefusedError(error)
    if "Timeout" in kind.__name__:
        return TimeoutError(words)
    unsendable = isinstance(error, ValueError | TypeError | AttributeError)
    if unsendable and not isinstance(error, UnicodeError):
        return _UnsendableError(words)
    signed_in = kind.__module__.startswith("google.auth") and kind.__name__ != "TransportError"
    return _UnsendableError(words) if signed_in else _UnreachableError(words)


def _path(model: str, *, vertex: bool) -> str:
    if model.startswith(("models/", "tunedModels/", "projects/", "publishers/")):
        return model
    if not vertex:
        return f"models/{model}"
    publisher, _, name = model.rpartition("/")
    return f"publishers/{publisher or 'google'}/models/{name}"


def _make(own: Any | None, base_url: str | None, api_key: str | None, seconds: float) -> Client:
    genai = sdk("google.genai", "google", "Google")
    if own is not None:
        return Client(genai, own)
    import httpx2

    key = _key(base_url, api_key)
    # The SDK would set one time for all, connecting too, and tell it to the server as the most
    # that the whole answer may take.
    limits = httpx2.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)).as_dict()

    async def hurry(request: Any) -> None:
        request.extensions["timeout"] = limits

    # A redirect would take key and conversation along to wherever it leads.
    http = httpx2.AsyncClient(follow_redirects=False, event_hooks={"request": [hurry]})
    options = {"base_url": base_url, "httpx_async_client": http}
    made = genai.Client(vertexai=False, api_key=key, http_options=options)
    return Client(genai, made, http)


def _key(base_url: str | None, api_key: str | None) -> str:
    keys = [checked_key(api_key, variable, "Gemini") for variable in _KEYS]
    key = next(filter(None, keys), "")
    if not key and not (base_url or os.environ.get(_BASE_URL)):
        raise ConfigError(
            f"no key for Gemini: set {' or '.join(_KEYS)}, or give GoogleGemini(…) api_key= or"
            " client="
        )
    return key or _NO_KEY
