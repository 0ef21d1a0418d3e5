"""What the scopes of one drive share: who of them waits, and what ends them all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from remit.kernel.difference import Changed, Difference, told_item
from remit.kernel.facts import Ask, Received
from remit.kernel.interrupt import PauseWanted
from remit.kernel.lease import Leaving, RecordEnds
from remit.kernel.run import ActiveRun
from remit.kernel.script import Item, Script
from remit.values.errors import ConfigError, LetGo, StoreError

T = TypeVar("T")
IN_PLACE_MS = 1000
"""A wait that is shorter is no pause: giving the run back would take about as long."""


class Stranded(LetGo):
    """The run's own store failed."""


class Severed(LetGo):
    """The code around the wait `name` cut it short, which no record can tell."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.error = ConfigError(
            f"{name!r} was cut short by a timeout or a cancel around it: bound a step with its own"
            " timeout=, and put none around what waits"
        )


class Place(Protocol):
    """A scope, as far as its waits need it."""

    path: str

    def left(self) -> Item | None:
        """The next record that the code has not come to yet."""
        ...


@dataclass(frozen=True, slots=True)
class Wants:
    """What a scope waits for: answers, a time (milliseconds since 1970), any message, or, in a
    replay, nothing any more, since the record ends there."""

    name: str
    asks: tuple[Ask, ...] = ()
    due: int | None = None
    listens: bool = False
    record_ends: bool = False


class Course:
    """One drive of a run. Its scopes run side by side; when all of them wait, the run pauses
    with everything that they wait for."""

    def __init__(self, run: ActiveRun) -> None:
        if run.past is not None:
            run.past.unfold()
        self.run = run
        self.script = Script(run.facts)
        self.scopes: list[Place] = []
        self.ended: LetGo | None = None
        """What every scope raises from here on."""
        self.patches: dict[str, bool] = {}
        self._waits: dict[asyncio.Future[None], Wants] = {}
        self._busy = 1
        self._taken = self.script.taken()
        run.on_news = self._look

    def check(self) -> None:
        """Raise what has ended the drive, if something has."""
        if self.ended is not None:
            raise self.ended

    def end(self, why: LetGo) -> LetGo:
        """Let every scope go for `why`, or for what came before it; gives that back."""
        if self.ended is None:
            self.ended = why
            for woken in list(self._waits):
                self._wake(woken)
        return self.ended

    def ending(self) -> LetGo | None:
        """Why the drive is over or about to end, so that a cancel is no doing of its code."""
        if self.ended is not None:
            return self.ended
        try:
            self.run.check()
        except LetGo as why:
            return why
        return Leaving() if self.run.halt.is_ending() else None

    def differ(self, item: Item, driven: str) -> LetGo:
        """The code came to `driven` where `item` is recorded."""
        difference = Difference(item.seq, told_item(item), driven)
        return self.end(Changed(self.run.id, difference))

    def is_behind(self) -> bool:
        """Whether anything is recorded that the code has not come to yet."""
        return any(scope.left() is not None for scope in self.scopes)

    def message(self) -> Received | None:
        """The first message that nobody took; it is the caller's."""
        for message in self.run.received:
            if message.id not in self._taken:
                self._taken.add(message.id)
                return message
        return None

    def begin(self, scopes: int) -> None:
        """So many scopes run where one did."""
        self._busy += scopes - 1

    def leave(self, *, last: bool) -> None:
        """A scope has ended; after the `last` one, the scope that waited for it goes on."""
        if not last:
            self._busy -= 1
            self._settle()

    async def check_frontier(self, name: str) -> None:
        """Raise why no step `name` may be made, if that is so. Where a replay comes to the end
        of the record, the other scopes go on to theirs first."""
        try:
            self.run.check()
        except RecordEnds:
            await self.wait(Wants(name, record_ends=True), lambda: None)
        except LetGo as why:
            raise self.end(why) from None

    async def wait(self, wants: Wants, ready: Callable[[], T | None]) -> T:
        """What `ready` gives, once it gives something. Raises PauseWanted where nothing but
        waiting is left in the whole run."""
        while (found := ready()) is None:
            self.check()
            await self._rest(wants)
            self.check()
            if wants.asks or wants.listens:
                await self._take_news()
        return found

    async def _take_news(self) -> None:
        try:
            await self.run.take_news()
        except StoreError as error:
            # As it is, the code of the program might take it for one of its own.
            raise self.end(Stranded()) from error

    async def _rest(self, wants: Wants) -> None:
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waits[woken] = wants
        self._busy -= 1
        try:
            self._settle()
            if wants.due is None:
                await woken
                return
            async with asyncio.TaskGroup() as group:
                alarm = group.create_task(self._ring(woken, wants.due))
                try:
                    await woken
                finally:
                    alarm.cancel()
        finally:
            self._wake(woken)

    async def _ring(self, woken: asyncio.Future[None], due: int) -> None:
        rest = (due - self.run.now()) / 1000
        await self.run.clock.sleep(max(rest, 0.001))
        self._wake(woken)

    def _wake(self, woken: asyncio.Future[None]) -> None:
        # It counts as busy from here on: until it runs, nothing may take it for waiting.
        if self._waits.pop(woken, None) is not None:
            self._busy += 1
            if not woken.done():
                woken.set_result(None)

    def _look(self) -> None:
        for woken, wants in list(self._waits.items()):
            if wants.asks or wants.listens:
                self._wake(woken)

    def _settle(self) -> None:
        """Pause, if all that is left is waiting."""
        if self._busy or self.ended is not None or not self._waits:
            return
        waits = sorted(self._waits.values(), key=lambda wants: _order(wants.name))
        due = min((wants.due for wants in waits if wants.due is not None), default=None)
        if due is not None and due - self.run.now() < IN_PLACE_MS:
            return
        for scope in self.scopes:
            if (item := scope.left()) is not None:
                self.differ(item, f"a wait in {', '.join(wants.name for wants in waits)}")
                return
        if any(wants.record_ends for wants in waits):
            self.end(RecordEnds(next(wants.name for wants in waits if wants.record_ends)))
            return
        asks = tuple([ask for wants in waits for ask in wants.asks])
        listens = any(wants.listens for wants in waits)
        self.end(PauseWanted(asks, due=due, listens=listens))


def _order(name: str) -> list[tuple[int, str]]:
    """Where a name stands among others: in the order of the code, and not of arrival."""
    parts = name.replace(":", "/").split("/")
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
