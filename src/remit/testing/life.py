"""One life of a process: an App on a store that it shares with the lives before and after it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from remit.agent.agent import Agent
from remit.app.app import App
from remit.store.protocol import Store
from remit.testing.crash import Crash
from remit.testing.gates import Gates, MortalStore, gated
from remit.values.events import Event


class Life:
    """An App in a task of its own, so that its death ends nothing else. `changed` is told of
    whatever happens to it."""

    def __init__(
        self,
        agents: Iterable[Agent[Any, Any]],
        store: Store,
        options: dict[str, Any],
        changed: Callable[[], None],
    ) -> None:
        self.gates = Gates(changed)
        self.store = MortalStore(store, changed)
        self.app = App([gated(agent, self.gates) for agent in agents], store=self.store, **options)
        self.events: list[Event] = []
        """What its run told since this life reads it."""
        self._changed = changed
        self.over = asyncio.Event()
        """Set when nothing of it goes on."""
        self._leave = asyncio.Event()
        self._opened = asyncio.Event()
        self._error: BaseException | None = None

    async def live(self) -> None:
        """Open the App, and leave it when it is told to or dies. Raises nothing."""
        try:
            async with self.app:
                self._opened.set()
                self._changed()
                await self._leave.wait()
        except BaseException as error:
            if not is_crash(error):
                self._error = error
        finally:
            self.over.set()
            self._opened.set()
            self._changed()

    async def opened(self) -> None:
        """Wait until it is open. Raises what kept it from that."""
        await self._opened.wait()
        self.raise_error()

    def raise_error(self) -> None:
        """Raise what ended this life, if that was no crash."""
        if self._error is not None:
            raise self._error

    def leave(self) -> None:
        """End it in good order."""
        self._leave.set()

    def die(self) -> None:
        """End it as a killed process ends: nothing of it reaches the store any more."""
        self.store.dead = True
        self.gates.die()
        self._leave.set()

    async def follow(self, run: str) -> None:
        """Read the run's events for as long as this life lasts."""
        try:
            async for event in self.app.events(run):
                self.events.append(event)
                self._changed()
        except BaseException as error:
            # Who reads on is told that the App was left.
            if not is_crash(error) and not self._leave.is_set():
                raise


def is_crash(error: BaseException) -> bool:
    """Whether `error` is how a process on a dead store ends."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_crash(inner) for inner in error.exceptions)
    return isinstance(error, Crash | asyncio.CancelledError)
