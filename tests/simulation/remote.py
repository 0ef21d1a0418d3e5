"""One store outside of all machines, and each machine's way to it, which may fail."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine, Iterable
from functools import partial
from random import Random
from typing import Any

from remit.store.bells import Bell
from remit.testing.crash import Crash
from remit.values.errors import StoreError
from tests.simulation.history import History
from tests.simulation.loop import MACHINE, Machine, SimLoop

WRITES = frozenset({"create", "claim", "append", "release", "deliver", "cancel", "sweep"})
_LONGEST_ANSWER = 30.0


class Weather:
    """How bad the way to the store is: a share of the calls fails, or takes long."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.failing = random.choice([0.0, 0.02, 0.1, 0.25])
        self.slow = random.choice([0.0, 0.05, 0.3])
        self.lost_bells = random.choice([0.0, 0.3, 1.0])

    def calm(self) -> None:
        self.failing = self.slow = self.lost_bells = 0.0

    def delay(self) -> float:
        if self.random.random() < self.slow:
            return self.random.choice([0.01, 0.2, 2.0, 9.0, 29.0]) * self.random.random()
        return 0.0

    def failure(self) -> str | None:
        """`before` and `after` it took effect, or `late`: it takes effect when the caller has
        been told that it failed."""
        if self.random.random() < self.failing:
            return self.random.choice(["before", "after", "after", "late"])
        return None


class Server:
    """Carries out what machines ask, each whole and at one moment, and notes what came of it.

    With `suspends` the store's calls may take several steps, as only a broken store's do.
    """

    def __init__(self, loop: SimLoop, store: Any, history: History, weather: Weather) -> None:
        self._loop, self._history = loop, history
        self.store, self.weather = store, weather
        self.suspends = getattr(store, "suspends", False)
        self.remotes: list[Remote] = []
        self.outside = contextvars.copy_context()
        self.outside.run(MACHINE.set, None)

    def ask(self, machine: Machine, name: str, args: Any, options: Any) -> asyncio.Future[Any]:
        answer, failure = self._loop.create_future(), self.weather.failure()
        take = partial(self._take, machine, name, args, options, answer, failure)
        # A lease that ended here and there at the same moment would leave no order to what follows.
        delay = self.weather.delay() + (0.001 if name == "beat" else 0.0)
        if failure == "late":
            self._later(delay, _fail, answer, name)
            delay += self.weather.delay() + 0.01
        self._later(delay, take)
        return answer

    def look(self, name: str, *args: Any) -> Any:
        """What the store itself answers, at once."""
        return _at_once(getattr(self.store, name)(*args))

    def _take(
        self,
        machine: Machine,
        name: str,
        args: Any,
        options: Any,
        answer: asyncio.Future[Any],
        failure: str | None,
    ) -> None:
        if failure == "before":
            _fail(answer, name)
            return
        work = getattr(self.store, name)(*args, **options)
        if self.suspends:
            task = self._loop.create_task(work, context=self.outside)
            task.add_done_callback(
                lambda done: self._done(machine, name, args, answer, failure, done.result())
            )
        else:
            self._done(machine, name, args, answer, failure, _at_once(work))

    def _done(
        self,
        machine: Machine,
        name: str,
        args: Any,
        answer: asyncio.Future[Any],
        failure: str | None,
        outcome: Any,
    ) -> None:
        self._history.write(machine.name, name, args, outcome)
        if name in WRITES:
            for run in _touched(name, args, outcome):
                row = self.look("get", run)
                if row is not None:
                    self._history.row(name, row)
            if outcome and name != "claim":
                self._ring()
        if failure is None:
            self._later(self.weather.delay(), _give, answer, outcome)
        else:
            self._later(self.weather.delay(), _fail, answer, name)

    def _ring(self) -> None:
        random = self.weather.random
        for remote in self.remotes:
            for bell in remote.bells:
                if random.random() >= self.weather.lost_bells:
                    self._later(self.weather.delay(), bell.ring)

    def _later(self, delay: float, call: Any, *args: Any) -> None:
        if delay:
            self._loop.call_later(min(delay, _LONGEST_ANSWER), call, *args, context=self.outside)
        else:
            self._loop.call_soon(call, *args, context=self.outside)


class Remote:
    """A machine's handle on the store: every method of it, over the way there and back."""

    def __init__(self, server: Server, machine: Machine) -> None:
        self._server, self._machine = server, machine
        self.bells: list[Bell] = []
        self.cut_off_until = 0.0
        self.cut = False
        server.remotes.append(self)

    async def open(self) -> None:
        """It is open."""

    async def close(self) -> None:
        """It stays open for others."""

    def wakeups(self) -> Bell:
        if self.cut:
            raise Crash
        if self._server.weather.failure():
            raise StoreError(reason="nobody listens just now")
        self.bells = [Bell()]
        return self.bells[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return partial(self._call, name)

    async def _call(self, name: str, *args: Any, **options: Any) -> Any:
        if self.cut:
            raise Crash
        if asyncio.get_running_loop().time() < self.cut_off_until:
            await asyncio.sleep(self._server.weather.random.choice([0.01, 1.0, 10.0]))
            raise StoreError(reason=f"{name} reaches nobody")
        return await self._server.ask(self._machine, name, args, options)


def _at_once(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("a store in memory does not wait")


def _give(answer: asyncio.Future[Any], outcome: Any) -> None:
    if not answer.done():
        answer.set_result(outcome)


def _fail(answer: asyncio.Future[Any], name: str) -> None:
    if not answer.done():
        answer.set_exception(StoreError(reason=f"{name} broke off"))


def _touched(name: str, args: Any, outcome: Any) -> Iterable[str]:
    """The runs whose row a write may have changed."""
    if name == "append":
        return [item.run for item in args[0]]
    if name == "sweep":
        return list(outcome)
    if name == "claim":
        return [claim.run for claim in outcome]
    if name == "create":
        return [args[0].id] if type(outcome).__name__ == "Created" else []
    return [args[1]] if name == "release" else [args[0]]
