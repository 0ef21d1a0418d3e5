"""The live timeline: what is recorded of all runs, as it comes, whichever process recorded it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from remit.app import App
from remit.cli.demo.messages import CustomerMessage
from remit.cli.demo.screen import Moment, Screen
from remit.values.content import Call
from remit.values.events import DoneEvent, Event, PendingEvent, ToolCallEvent, ToolResultEvent
from remit.values.messages import ToolMessage
from remit.values.results import ENDED, Pending, Run

PATIENCE = 30.0
"""Seconds without any news after which the demo says that it is stuck."""


class Stuck(Exception):
    """Nothing came for so long that nothing will."""


class Timeline:
    """Follows every run to its end, shows what comes, and knows how each stands."""

    def __init__(
        self,
        app: App,
        screen: Screen,
        runs: Mapping[str, CustomerMessage],
        patience: float = PATIENCE,
    ) -> None:
        self.runs = runs
        self.began = time.monotonic()
        self.worker = "-"
        """The letter of the worker that is alive."""
        self.calls: dict[str, tuple[str, Call]] = {}
        """Every call that was asked for, with its run, by its idempotency key."""
        self.results: dict[str, ToolMessage] = {}
        """Results by idempotency key."""
        self.waiting: dict[str, tuple[Pending, ...]] = {}
        """What each paused run waits for."""
        self.ended: set[str] = set()
        self._app = app
        self._screen = screen
        self._patience = patience
        self._news = asyncio.Event()

    @property
    def resting(self) -> bool:
        """Whether no run can go on by itself."""
        return len(self.ended | set(self.waiting)) == len(self.runs)

    @property
    def over(self) -> bool:
        """Whether every run has ended."""
        return len(self.ended) == len(self.runs)

    def follow_all(self, tasks: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        """A follower for each run."""
        return [tasks.create_task(self._follow(run)) for run in self.runs]

    def ring(self) -> None:
        """Something changed that somebody may wait for."""
        self._news.set()

    def decided(self, run: str) -> None:
        """The run waits no longer."""
        self.waiting.pop(run, None)

    async def until(self, *conditions: Callable[[], bool]) -> None:
        """Wait until one of `conditions` holds. Raises Stuck where nothing comes any more."""
        while not _any(conditions):
            self._news.clear()
            try:
                async with asyncio.timeout(self._patience):
                    await self._news.wait()
            except TimeoutError:
                left = [one.id for run, one in self.runs.items() if run not in self.ended]
                raise Stuck(
                    f"nothing was recorded for {self._patience:.0f} seconds;"
                    f" not ended: {', '.join(left)}"
                ) from None

    async def catch_up(self) -> None:
        """Wait until all that is recorded so far has been shown."""
        for id_ in self.runs:
            run = await self._app.get(id_)
            keys = {call.id: call.key for turn in run.turns for call in turn.calls}
            done = {keys[one.call_id] for one in run.messages if isinstance(one, ToolMessage)}
            await self.until(partial(self._has_shown, run, set(keys.values()), done))

    def _has_shown(self, run: Run, calls: set[str], results: set[str]) -> bool:
        told = calls <= set(self.calls) and results <= set(self.results)
        return told and (run.id in self.ended or run.status not in ENDED)

    async def _follow(self, run: str) -> None:
        async for event in self._app.events(run):
            self._learn(run, event)
            at = time.monotonic() - self.began
            self._screen.event(Moment(at, self.worker, self.runs[run].id, run, event))
            self._screen.standing(len(self.runs), len(self.ended), len(self.waiting), self.worker)
            self.ring()

    def _learn(self, run: str, event: Event) -> None:
        match event:
            case ToolCallEvent(call=call):
                self.calls[call.key] = (run, call)
            case ToolResultEvent(call=call, result=result):
                self.results[call.key] = result
            case PendingEvent(pending=pending):
                self.waiting[run] = tuple([one for one in pending if one.kind == "call"])
            case DoneEvent():
                self.decided(run)
                self.ended.add(run)
            case _:
                return


def _any(conditions: Iterable[Callable[[], bool]]) -> bool:
    return any(condition() for condition in conditions)
