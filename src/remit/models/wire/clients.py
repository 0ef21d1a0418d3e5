"""The SDK's client: loaded when it is first needed, one for each event loop, closed with it."""

from __future__ import annotations

import asyncio
import importlib
import os
import weakref
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import Any

from remit.values.errors import ConfigError

_LET_GO_SECONDS = 1.0
_NEVER_SECONDS = 1e8


class Clients:
    """Gives out clients that never retry by themselves. `own` is one of the caller's, else `make`
    makes one, in a thread, since loading an SDK takes long."""

    def __init__(self, own: Any | None, make: Callable[[], Any]) -> None:
        self._own = own
        self._make = make
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


def sdk(package: str, extra: str, of: str) -> Any:
    """The package `package`. Raises ConfigError where it is missing: the models `of` a maker need
    it, and the extra `extra` brings it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ConfigError(
            f"the models of {of} need the {package} package: pip install '.[{extra}]' in a clone"
            " of remit"
        ) from None


def checked_key(given: str | None, variable: str, of: str) -> str:
    """The key `given`, else that of the environment; empty where there is none. Raises ConfigError
    for one that can be none."""
    key = (given or os.environ.get(variable) or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"the key for {of} holds characters that no key has: copy it anew")
    return key


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
