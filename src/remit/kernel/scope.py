"""A scope: the steps that one task makes, one after the other, each found in the record or made."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from remit.kernel.course import Course, Severed, Wants
from remit.kernel.difference import told
from remit.kernel.facts import Answered, AnyFact, Ask, Received, Stepped
from remit.kernel.script import Item
from remit.values import codec
from remit.values.errors import ConfigError, LetGo
from remit.values.results import Question

CUT = "it was cut short by a timeout or a cancel around it: bound it with timeout= instead"
"""Why a step failed that the code around it cut."""


class Made(msgspec.Struct, frozen=True):
    """What making a step came to: a value of plain data, or what it failed with."""

    value: Any = None
    error: str | None = None


class Scope:
    """The n-th step of a scope must be the n-th that is recorded of it.

    Every method raises ConfigError where another task calls it, inside a step, or after the
    scope's end; what has ended the drive; and, where the code parts from the record, a Changed.
    """

    def __init__(self, course: Course, path: str = "", above: Scope | None = None) -> None:
        self.course = course
        self.path = path
        self._above = above
        self._items = course.script.items(path)
        self._at = 0
        self._counts: dict[str, int] = {}
        self._owner = asyncio.current_task()
        self._under_way: str | None = None
        self._over = False
        # What a dead process had under way can only be the first step that is made here.
        self._is_first: bool = above is None or above._is_first
        course.scopes.append(self)

    def left(self) -> Item | None:
        """The next record that the code has not come to yet."""
        return self._items[self._at] if self._at < len(self._items) else None

    def close(self, driven: str = "its end") -> None:
        """The scope's code has come to its end."""
        self.course.check()
        self._over = True
        if (item := self.left()) is not None:
            raise self.course.differ(item, driven)

    async def step(
        self,
        base: str,
        digest: str | None,
        make: Callable[[], Awaitable[Made]],
        longest: float = 0.0,
    ) -> Stepped:
        """The next step, recorded or made. `longest` is how many seconds what another process
        left running may go on after its lease."""
        self._check(base)
        number = self._counts[base] = self._counts.get(base, 0) + 1
        name = f"{self.path}{base}" if number == 1 else f"{self.path}{base}#{number}"
        item = self._match(name, digest)
        return _stepped(item) if item else await self._make(name, digest, make, longest)

    async def fixed(self, kind: str, make: Callable[[], Any]) -> Any:
        """What `make` gave when the code first came here."""
        name = self._numbered(kind)
        item = self._match(name)
        fact = _stepped(item) if item else await self._make(name, None, given(Made(make())))
        return fact.value

    async def ask(
        self, text: str, schema: Callable[[], dict[str, Any] | None]
    ) -> tuple[Question, Answered]:
        """Somebody's answer to a question, and the question as it was asked."""
        name = self._numbered("ask")
        item = self._match(name)
        if item is not None and isinstance(item.what, Ask):
            question = codec.convert(item.what.question, Question)
            if question.question != text:
                raise self.course.differ(item, f"{name} asking {text!r:.200}")
        else:
            question = Question(id=name, question=text, schema=schema())
        wants = Wants(name, asks=(Ask(name, question),))
        with self.doing(name):
            answered = await self.course.wait(wants, partial(self.course.run.answer, name))
        return question, answered

    async def sleep(self, until: Callable[[], int]) -> None:
        """Wait for the time `until`, in milliseconds since 1970, as it was when first asked."""
        end = await self.fixed("sleep", until)
        # What is recorded after it tells that it is over, whatever the clock says.
        if self.left() is not None or self._later() is not None:
            return
        run, name = self.course.run, f"{self.path}sleep:{self._counts['sleep'] - 1}"
        with self.doing(name):
            await self.course.wait(Wants(name, due=end), lambda: run.now() >= end or None)

    async def receive(self, check: Callable[[Any], str | None]) -> tuple[Stepped, Received]:
        """The next message, and the step that took it; its error is what `check` said then."""
        name = self._numbered("receive")
        item = self._match(name)
        if item is not None:
            fact = _stepped(item)
            return fact, self.course.run.message(fact.value)
        with self.doing(name):
            message = await self.course.wait(Wants(name, listens=True), self.course.message)
        made = Made(message.id, check(message.value))
        return await self._make(name, None, given(made)), message

    async def patched(self, name: str) -> bool:
        """Whether the run has come first to this place with code that asks so. The same answer
        wherever the run asks for the same name."""
        last = f"patched:{name}"
        self._check(last)
        whole, item = f"{self.path}{last}", self.left()
        if item is not None and item.name == whole:
            self._at += 1
        known = self.course.patches
        if name not in known:
            is_recorded = self.course.script.has(last)
            # In a replay the record has passed every place that code can come to.
            is_past = self.course.is_behind() or self.course.run.past is not None
            known[name] = is_recorded or not is_past
            if known[name] and not is_recorded:
                await self._make(whole, None, given(Made(True)))
        return known[name]

    def enter(self, kind: str) -> str:
        """The path of the next scope inside, of a `kind`."""
        name = self._numbered(kind)
        item = self.left()
        if item is not None and item.name == name:
            self._at += 1
        return f"{name}/"

    def inside(self, path: str) -> Scope:
        """A scope inside this one; it belongs to the task that begins it."""
        return Scope(self.course, path, self)

    def begin(self) -> None:
        """This task is the one that the scope belongs to."""
        self._owner = asyncio.current_task()

    async def made(
        self, name: str, digest: str | None, make: Callable[[], Awaitable[Made]]
    ) -> Stepped:
        """The step of the whole name `name`, which has no place in the order of this scope."""
        run = self.course.run
        found = run.recorded(name)
        if found is None:
            self.check_frontier(told(name, digest))
            return await self._make(name, digest, make)
        if found.digest != digest:
            item = Item(name, run.recorded_at(name) or 0, found)
            raise self.course.differ(item, told(name, digest))
        return found

    def check_frontier(self, driven: str) -> None:
        """Raise a Changed where more is recorded than the code has come to: nothing may be made
        then."""
        if (later := self.left() or self._later()) is not None:
            raise self.course.differ(later, driven)

    def _check(self, what: str) -> None:
        self.course.check()
        if self._over:
            raise ConfigError(f"{what!r} is asked for after its function returned: await it inside")
        if self._under_way is not None:
            raise ConfigError(
                f"{what!r} is asked for while {self._under_way!r} is under way: a step makes no"
                " steps of its own, and for steps side by side use run.gather"
            )
        if asyncio.current_task() is not self._owner:
            raise ConfigError(
                f"{what!r} is asked for by another task: use run.gather, whose branches each get"
                " a run of their own"
            )

    def _numbered(self, kind: str) -> str:
        self._check(kind)
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        return f"{self.path}{kind}:{number}"

    def _match(self, name: str, digest: str | None = None) -> Item | None:
        """The next record, which must be this one; None at the record's end."""
        item = self.left()
        if item is None:
            self.check_frontier(told(name, digest))
            return None
        recorded = item.what.digest if isinstance(item.what, Stepped) else None
        if item.name != name or recorded != digest:
            raise self.course.differ(item, told(name, digest))
        self._at += 1
        return item

    def _later(self) -> Item | None:
        """What is recorded after this scope, and so tells that it had come to its end."""
        above = self._above
        return (above.left() or above._later()) if above is not None else None

    async def _make(
        self,
        name: str,
        digest: str | None,
        make: Callable[[], Awaitable[Made]],
        longest: float | None = None,
    ) -> Stepped:
        run = self.course.run
        with self.doing(name):
            await self.course.check_frontier(name)
            try:
                made, took = await self._outcome(make, longest)
                fact = Stepped(
                    name=name,
                    value=made.value,
                    error=made.error,
                    digest=digest,
                    took=took,
                    at=run.now(),
                )
                await self._record(fact)
            except LetGo as why:
                raise self.course.end(why) from None
        self.course.check()
        return fact

    async def _outcome(
        self, make: Callable[[], Awaitable[Made]], longest: float | None
    ) -> tuple[Made, int]:
        """What `make` came to, and how many milliseconds it took. What the code around cut short
        has failed, live as on replay."""
        run = self.course.run
        began = run.clock.steady()
        try:
            if self._is_first and longest is not None:
                await run.outwait(max(longest, run.tenure.grace))
            self._is_first = False
            began = run.clock.steady()
            made = await make()
        except asyncio.CancelledError:
            if not self.is_cut():
                raise
            made = Made(error=CUT)
        return made, round((run.clock.steady() - began) * 1000)

    async def _record(self, fact: Stepped) -> None:
        """Record it. Where the code around cuts that short, it is recorded nevertheless, and so
        must be waited for: the code may not go on as if it were not there."""
        loop, run = asyncio.get_running_loop(), self.course.run
        stored: asyncio.Future[None] | None = None

        def hear(seq: int, fact: AnyFact) -> None:
            if stored is not None and not stored.done():
                stored.set_result(None)

        try:
            await run.record(fact, hear)
            return
        except asyncio.CancelledError:
            if not self.is_cut():
                raise
        while run.recorded(fact.name) is None:
            stored = loop.create_future()
            try:
                await stored
            except asyncio.CancelledError:
                if not self.is_cut():
                    raise

    def is_cut(self) -> bool:
        """Whether a cancel that came here is the doing of the code in this scope, such as a timeout
        around a step: neither the end of the drive, nor that of a scope around."""
        above = self._above
        while above is not None:
            if above._owner is not None and above._owner.cancelling():
                return False
            above = above._above
        return self.course.ending() is None

    @contextmanager
    def doing(self, name: str) -> Iterator[None]:
        """While it lasts, no step may begin here. Code that cuts it short ends the drive."""
        before, self._under_way = self._under_way, name
        try:
            yield
        except asyncio.CancelledError:
            why = self.course.end(self.course.ending() or Severed(name))
            if isinstance(why, Severed):
                raise why from None
            raise
        finally:
            self._under_way = before


def _stepped(item: Item) -> Stepped:
    assert isinstance(item.what, Stepped)
    return item.what


def given(made: Made) -> Callable[[], Awaitable[Made]]:
    """What makes a step that is made already."""

    async def give() -> Made:
        return made

    return give
