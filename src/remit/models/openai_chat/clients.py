"""The SDK's client: loaded when it is first needed, one for each event loop, closed with it."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import AsyncGenerator
from typing import Any

from remit.values.errors import ConfigError

_CONNECT_SECONDS = 10.0
_NO_KEY = "none"


class Clients:
    """Gives out clients that never retry by themselves."""

    def __init__(
        self, own: Any | None, base_url: str | None, api_key: str | None, seconds: float
    ) -> None:
        self._own = own
        self._base_url = base_url
        self._api_key = api_key
        self._seconds = seconds
        self._held: dict[asyncio.AbstractEventLoop, _Held] = {}

    async def open(self) -> Any:
        """The client for the loop that runs. Raises ConfigError without the SDK or a key."""
        loop = asyncio.get_running_loop()
        held = self._held.get(loop)
        if held is None:
            self._held = {old: it for old, it in self._held.items() if not old.is_closed()}
            held = self._held[loop] = _Held()
        async with held.lock:
            if held.client is None:
                # Loading the SDK takes half a second, in which other runs go on.
                held.client = await asyncio.to_thread(self._make)
                if self._own is None:
                    held.end = held.until_the_end()
                    await anext(held.end)
        return held.client

    def _make(self) -> Any:
        try:
            sdk = importlib.import_module("openai")
        except ImportError:
            raise ConfigError(
                "the models of OpenAI and of compatible servers need the openai package:"
                " pip install 'remit[openai]'"
            ) from None
        if self._own is not None:
            return self._own.with_options(max_retries=0)
        return sdk.AsyncOpenAI(
            api_key=self._key(),
            base_url=self._base_url,
            max_retries=0,
            timeout=sdk.Timeout(self._seconds, connect=min(self._seconds, _CONNECT_SECONDS)),
        )

    def _key(self) -> str:
        key = (self._api_key or os.environ.get("OPENAI_API_KEY") or "").strip()
        if not key and not (self._base_url or os.environ.get("OPENAI_BASE_URL")):
            raise ConfigError(
                "no key for OpenAI: set OPENAI_API_KEY, or give OpenAIChat(…) api_key= or client="
            )
        if not (key.isascii() and key.isprintable()):
            raise ConfigError("the key for OpenAI holds characters that no key has: copy it anew")
        return key or _NO_KEY


class _Held:
    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.client: Any = None
        self.end: AsyncGenerator[None, None] | None = None

    async def until_the_end(self) -> AsyncGenerator[None, None]:
        """Close the client when its loop ends its generators, as loops do before they close.

        It holds on to itself: dropped with the model in a loop's last moments, it would be
        closed by a task that nobody waits for.
        """
        try:
            yield
        finally:
            await self.client.close()
