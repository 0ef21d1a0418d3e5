"""The SDK's client: loaded when it is first needed, one for each event loop, closed with it."""

from __future__ import annotations

import asyncio
import importlib
import os
import weakref
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

from remit.values.errors import ConfigError

_CONNECT_SECONDS = 10.0
_LET_GO_SECONDS = 1.0
_NEVER_SECONDS = 1e8
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
                    await self._hold(loop, held.client)
        return held.client

    async def _hold(self, loop: asyncio.AbstractEventLoop, client: Any) -> None:
        """Have `client` closed with its loop, or soon after this object is gone.

        The loop holds on to the generator by a timer that never comes: one that is dropped in
        a loop's last moments would be closed by a task that nobody waits for.
        """
        end = _closing(client)
        await anext(end)
        anchor = loop.call_later(_NEVER_SECONDS, id, end)
        weakref.finalize(self, _let_go, loop, anchor).atexit = False

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


async def _closing(client: Any) -> AsyncGenerator[None, None]:
    """Close `client` when its loop ends its generators, as loops do before they close."""
    try:
        yield
    finally:
        await client.close()


def _let_go(loop: asyncio.AbstractEventLoop, anchor: asyncio.TimerHandle) -> None:
    with suppress(RuntimeError):  # the loop is closed, and the client with it
        loop.call_soon_threadsafe(loop.call_later, _LET_GO_SECONDS, anchor.cancel)
