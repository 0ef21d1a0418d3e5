"""A program that is driven inside another's run: the same run, seen through a path.

Its names begin with the path in the journal. `asked` and `end` under the path stand for the first
and the last fact of a run of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from remit.kernel.course import Wants
from remit.kernel.facts import (
    Answered,
    AnyFact,
    Ask,
    Asked,
    Dated,
    Paused,
    Started,
    Stepped,
)
from remit.kernel.interrupt import PauseWanted, Unfit
from remit.kernel.journal import Learn, Transact
from remit.kernel.part import Hear, unheard
from remit.kernel.program import Outcome, Program, finished, told_error
from remit.kernel.run import ActiveRun, Past, Surroundings, unseen
from remit.kernel.scope import CUT, Made, Scope, given
from remit.kernel.work import Make
from remit.values import codec
from remit.values.errors import ConfigError, StoreError

ASKED, END = "asked", "end"


class _Inner:
    """A journal that writes into that of the run around it."""

    def __init__(self, run: ActiveRun, path: str) -> None:
        self._run, self._path = run, path
        self._program = _program(run, path)
        self.seq = 0

    async def record(self, *facts: AnyFact, hear: Hear = unheard, by: str | None = None) -> int:
        for fact in facts:
            await self._record(fact, hear, by or self._program)
        return self.seq

    async def _record(self, fact: AnyFact, hear: Hear, by: str | None) -> None:
        assert isinstance(fact, Stepped | Started)
        outer = replace(fact, name=self._path + fact.name)
        self.seq = await self._run.record(outer, lambda seq, _: hear(seq, fact), by)


def _program(run: ActiveRun, path: str) -> str | None:
    """The name of the program that works under `path`."""
    asked = run.recorded(path + ASKED)
    return None if asked is None else codec.convert(asked.value, Task).program.partition("@")[0]


class _InnerPast:
    """The past of a program inside, for a replay of the run around it.

    Programs that are driven side by side share one journal. A replay may already have shown the
    run around more of it than this program has come to; the program is told of a step only when it
    comes to it.
    """

    def __init__(self, run: ActiveRun, past: Past, path: str) -> None:
        self._run, self._past, self._path = run, past, path
        self._inner: ActiveRun | None = None
        self._next = 0

    @property
    def known(self) -> int:
        return self._past.known

    def begin(self) -> list[tuple[int, AnyFact]]:
        """The program's own facts, as they were when the drive under replay began."""
        facts = [
            (seq, fact)
            for seq, fact in self._run.facts
            if not isinstance(fact, Stepped) or seq <= self.known or fact.name == self._path + ASKED
        ]
        for _, fact in facts:
            if isinstance(fact, Stepped) and fact.name.startswith(self._path):
                self._past.recall(fact.name)
        return own_facts(facts, self._path)

    def follow(self, inner: ActiveRun) -> None:
        """Let `inner` know of each step when it is recalled."""
        self._inner = inner

    def recall(self, name: str) -> None:
        self._past.recall(self._path + name)
        end = self._run.recorded_at(self._path + name)
        while end is not None and self._next < len(self._run.facts):
            seq, fact = self._run.facts[self._next]
            if seq > end:
                return
            self._next += 1
            if seq > self.known and isinstance(fact, Stepped) and self._inner is not None:
                own = inside(self._run.asked, self._path, fact)
                if own is not None and not isinstance(own, Asked):
                    self._inner.hear(seq, own)

    def holds(self, name: str) -> bool:
        return self._past.holds(self._path + name)

    def unfold(self) -> None:
        self._past.unfold()

    async def look_inside(
        self, path: str, program: Any, facts: Sequence[tuple[int, AnyFact]]
    ) -> None:
        await self._past.look_inside(self._path + path, program, facts)


def nested(run: ActiveRun, path: str, show: Callable[[Any], None] | None = None) -> ActiveRun:
    """What is recorded of `run` under `path`, as a run of its own for a program that goes on in
    it. It hears the answers that come to its questions.

    With `show` readers and replays of the run around are told of it as well: `show` takes its
    passing events, and a replay drives it step by step."""
    past = None if run.past is None or show is None else _InnerPast(run, run.past, path)
    known = own_facts(run.facts, path) if past is None else past.begin()
    inner = ActiveRun(
        run.id,
        known,
        _Inner(run, path),
        Surroundings(
            clock=run.clock,
            lease=run.lease,
            news=run.take_news,
            transact=_transacting(run, path),
            halt=run.halt,
            path=run.path + path,
            wall=run.wall,
            past=past,
            show=show or unseen,
            settle=None if show is None else run.settle,
        ),
        run.tenure,
    )
    inner.resumed_at, inner.lost_at = run.resumed_at, run.lost_at
    if past is not None:
        past.follow(inner)

    def hear(seq: int, fact: AnyFact) -> None:
        if isinstance(fact, Answered) and (own := inside(run.asked, path, fact)) is not None:
            inner.hear(seq, own)

    run.followers[path] = hear
    return inner


def _transacting(run: ActiveRun, path: str) -> Transact | None:
    """The transactions of the run around, for steps under `path`."""
    around = run.transacting
    if around is None:
        return None

    async def transact(make: Make, stop: Callable[[], None], learn: Learn) -> None:
        def outer(fact: Stepped) -> Stepped:
            return replace(fact, name=path + fact.name)

        async def later(made: Awaitable[Stepped]) -> Stepped:
            return outer(await made)

        def work(tx: Any) -> Stepped | Awaitable[Stepped]:
            made = make(tx)
            return outer(made) if isinstance(made, Stepped) else later(made)

        def hear(seq: int, fact: Stepped) -> None:
            run.hear(seq, fact)
            learn(seq, replace(fact, name=fact.name.removeprefix(path)))

        await around(work, stop, hear)

    return transact


def own_facts(facts: Sequence[tuple[int, AnyFact]], path: str) -> list[tuple[int, AnyFact]]:
    """What is recorded under `path` of a run whose whole record is `facts`, as its own run."""
    asked = facts[0][1]
    assert isinstance(asked, Asked)
    return [(seq, own) for seq, fact in facts if (own := inside(asked, path, fact)) is not None]


def inside(asked: Asked, path: str, fact: AnyFact) -> AnyFact | None:
    """`fact` as it is under `path`, None for what is of no concern there."""
    match fact:
        case Stepped(name=name) if name.startswith(path):
            return _step(asked, name.removeprefix(path), fact)
        case Started(name=name) if name.startswith(path):
            return replace(fact, name=name.removeprefix(path))
        case Answered(key=key) if key.startswith(path):
            return replace(fact, key=key.removeprefix(path))
        case Paused():
            asks = [ask for ask in fact.asks if ask.key.startswith(path)]
            own = tuple([Ask(ask.key.removeprefix(path), ask.question) for ask in asks])
            return Paused(asks=own, at=fact.at) if own else None
        case _:
            return None


def _step(asked: Asked, name: str, fact: Stepped) -> AnyFact:
    if name == ASKED:
        return Asked(
            input=codec.convert(fact.value, Task).input,
            user=asked.user,
            tenant=asked.tenant,
            by=asked.by,
            at=fact.at,
        )
    if name == END:
        failed = fact.error is not None
        outcome = Outcome(status="failed", error=fact.error) if failed else None
        return finished(outcome or codec.convert(fact.value, Outcome), fact.at)
    return replace(fact, name=name)


@dataclass(frozen=True, slots=True)
class Engagement:
    """An agent, as far as it matters here, with its task: the program that is driven inside, what
    it is asked, and how its own run is read in the end."""

    program: Program
    input: Any
    result: Callable[[ActiveRun], Any]


class Task(Dated, frozen=True):
    """What a program was asked inside a run. `program` is its `name@version`."""

    program: str
    input: Any

    @property
    def format(self) -> int:
        return 2


class Inside(msgspec.Struct, frozen=True):
    """How a program ended inside a run: its last step, its own run, and what it raised if it did
    so here."""

    end: Stepped
    run: ActiveRun
    raised: Exception | None = None


async def drive_inside(
    scope: Scope,
    engage: Callable[[str | None], Engagement],
    digest: Callable[[Engagement], str | None],
) -> tuple[Inside, Engagement]:
    """Drive what `engage` gives to its end inside a scope. Its last step has an error where it
    raised one. `engage` is told which program was recorded, since a run keeps its versions."""
    path = scope.enter("agent")
    run, name = scope.course.run, path.removesuffix("/")
    with scope.doing(name):
        engagement = _engaged(scope, engage, run.recorded(path + ASKED))
        task = Task(engagement.program.key, engagement.input)
        await scope.made(path + ASKED, digest(engagement), given(Made(task)))
        inner, raised = nested(run, path), None
        end = run.recorded(path + END)
        if run.past is not None:
            await run.past.look_inside(name, engagement.program, inner.facts)
        if end is None:
            await scope.course.check_frontier(name)
            scope.check_frontier(name)
            made, raised = await _end(scope, name, engagement.program, inner)
            end = await scope.made(path + END, None, given(made))
            if end.error is None:
                inner.hear(run.recorded_at(path + END) or 0, _step(run.asked, END, end))
        return Inside(end, inner, raised), engagement


def _engaged(
    scope: Scope, engage: Callable[[str | None], Engagement], asked: Stepped | None
) -> Engagement:
    if asked is None:
        return engage(None)
    program = codec.convert(asked.value, Task).program
    try:
        return engage(program)
    except ConfigError as error:
        raise scope.course.end(Unfit(f"{program} is to go on in it: {error}")) from error


async def _end(
    scope: Scope, name: str, program: Program, inner: ActiveRun
) -> tuple[Made, Exception | None]:
    while True:
        try:
            return Made(await program.drive(inner)), None
        except PauseWanted as wanted:
            wants = wanted
        except StoreError:
            raise
        except asyncio.CancelledError:
            if not scope.is_cut():
                raise
            return Made(error=CUT), None
        except Exception as error:
            return Made(error=told_error(error)), error
        await _wait(scope, name, wants, inner)


async def _wait(scope: Scope, name: str, wanted: PauseWanted, inner: ActiveRun) -> None:
    asks = tuple([Ask(f"{name}/{ask.key}", ask.question) for ask in wanted.asks])

    def ready() -> bool | None:
        due = wanted.due is not None and inner.now() >= wanted.due
        return due or any(inner.answer(ask.key) for ask in wanted.asks) or None

    await scope.course.wait(Wants(name, asks=asks, due=wanted.due), ready)
