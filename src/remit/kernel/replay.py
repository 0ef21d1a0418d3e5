"""Driving a program over a recorded journal, with no world: does it still come to the same?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from remit.kernel.difference import Changed, Difference, told
from remit.kernel.exits import ends_process
from remit.kernel.facts import (
    Answered,
    AnyFact,
    Ask,
    Finished,
    Paused,
    Received,
    Started,
    Stepped,
)
from remit.kernel.interrupt import PauseWanted
from remit.kernel.lease import Lease, RecordEnds
from remit.kernel.part import Hear, unheard
from remit.kernel.program import GIVEN_UP, Outcome, Program, driven_apart, told_error
from remit.kernel.run import ActiveRun, Lineage, Surroundings, Tenure, no_lineage
from remit.values import codec
from remit.values.errors import LetGo

Facts = Sequence[tuple[int, AnyFact]]


async def replay(
    program: Program, facts: Facts, *, run: str = "replay", lineage: Lineage = no_lineage
) -> Difference | None:
    """The first place where `program` and the recorded `facts` of a run part; None if they do
    not, as far as the record goes.

    Nothing is made, asked or written: what a step gave is revealed when the program asks for it,
    and what people and time brought when it waits. How a run was ended from outside, by a cancel
    or the death of its processes, is no difference.
    """
    return await _Replay(program, facts, run, lineage).first_difference()


class _Again(LetGo):
    """The process of the run died here: the program is driven anew from what it had recorded."""


class _NoJournal:
    """A journal that nobody writes to."""

    seq = 0

    async def record(self, *facts: AnyFact, hear: Hear = unheard, by: str | None = None) -> int:
        raise RecordEnds


class _RecordedTime:
    """The time as it was when the newest revealed fact was recorded; sleeps take none."""

    def __init__(self, at: int) -> None:
        self.at = at / 1000
        self._slept = 0.0

    def wall(self) -> float:
        return self.at + self._slept

    def steady(self) -> float:
        return self._slept

    async def sleep(self, seconds: float) -> None:
        self._slept += seconds


class _Replay:
    """One program, one record, and how far it is revealed."""

    def __init__(self, program: Program, facts: Facts, run: str, lineage: Lineage) -> None:
        self._program = program
        self._facts = list(facts)
        self._next = 1
        self._asked: set[str] = set()
        self._is_unfolded = False
        self.known = 1
        self._time = _RecordedTime(_at(facts[0][1]))
        around = Surroundings(
            clock=self._time,
            lease=Lease(self._time),
            lineage=lineage,
            news=self._take_news,
            past=self,
        )
        self._run = ActiveRun(run, self._facts[:1], _NoJournal(), around, Tenure())
        self._run.stopping = RecordEnds

    async def first_difference(self) -> Difference | None:
        while True:
            before = self._next
            try:
                found = await self._drive()
            except Changed as changed:
                return self._earliest(changed.difference)
            except _Again:
                # What is revealed by now is known to the next life, which need not ask for it.
                known = [fact for _, fact in self._facts[: self._next]]
                self._asked |= {fact.name for fact in known if isinstance(fact, Stepped)}
                continue
            if isinstance(found, Difference):
                return self._earliest(found)
            if found or self._next == before:
                return self._earliest(None)

    def recall(self, name: str) -> None:
        """Reveal the step `name`, with all that is recorded before it in the same life of the
        run. A start without an end tells that a process died: the next life knows of it."""
        self._asked.add(name)
        if self._is_unfolded or self._run.recorded(name) is not None:
            return
        life = self._life()
        for index in life:
            fact = self._facts[index][1]
            if isinstance(fact, Stepped) and fact.name == name:
                while self._next <= index:
                    self._reveal()
                return
        if life.stop == len(self._facts):
            return
        if self._start(name, life.stop):
            raise _Again
        seq, pause = self._facts[life.stop]
        raise Changed(self._run.id, Difference(seq, _told(pause), told(name)))

    def holds(self, name: str) -> bool:
        """Whether the step `name` is recorded in this life of the run or before it."""
        if self._run.recorded(name) is not None:
            return True
        facts = [self._facts[index][1] for index in self._life()]
        return any(isinstance(fact, Stepped) and fact.name == name for fact in facts)

    def unfold(self) -> None:
        """Reveal everything; who asks for it compares the whole record itself."""
        self._is_unfolded = True
        while self._next < len(self._facts):
            self._reveal()

    async def look_inside(self, path: str, program: Any, facts: Facts) -> None:
        """Raise a Changed where `program` and its own facts part."""
        found = await replay(program, facts, run=self._run.id)
        if found is not None:
            recorded, driven = f"in {path}, {found.recorded}", f"in {path}, {found.driven}"
            raise Changed(self._run.id, Difference(found.seq, recorded, driven))

    def _life(self) -> range:
        """The facts from here to the next pause."""
        for index in range(self._next, len(self._facts)):
            if isinstance(self._facts[index][1], Paused):
                return range(self._next, index)
        return range(self._next, len(self._facts))

    def _start(self, name: str, end: int) -> bool:
        """Let the run know that the step `name` began before the fact `end`, if it did so since
        it was known to; whether that is so."""
        known = self._run.started.get(name, 0)
        for seq, fact in self._facts[:end]:
            if isinstance(fact, Started) and fact.name == name and seq > known:
                self._run.hear(seq, fact)
                return True
        return False

    def _reveal(self) -> None:
        seq, fact = self._facts[self._next]
        self._next += 1
        self._time.at = max(self._time.at, _at(fact) / 1000)
        # What began was known to nobody else while it went on.
        if self._is_unfolded or not isinstance(fact, Started):
            self._run.hear(seq, fact)

    async def _take_news(self) -> None:
        while isinstance(self._peek(), Answered | Received):
            self._reveal()

    def _peek(self) -> AnyFact | None:
        return self._facts[self._next][1] if self._next < len(self._facts) else None

    def _is_aside(self, fact: AnyFact | None) -> bool:
        """Whether the record may end with it: news, and what was under way."""
        if isinstance(fact, Started):
            return fact.name in self._asked
        return isinstance(fact, Answered | Received)

    async def _drive(self) -> Difference | bool:
        """Drive once: a difference, or whether the record is at its end."""
        self.known = self._facts[self._next - 1][0]
        outcome = await driven_apart(self._program, self._run)
        match outcome:
            case PauseWanted():
                return await self._paused(outcome)
            case RecordEnds():
                missing = [name for name in self._asked if self._run.recorded(name) is None]
                return self._compare_end(min(missing, default=outcome.name))
            case Outcome():
                return await self._ended(outcome, None)
            case _ if isinstance(outcome, LetGo) or ends_process(outcome):
                raise outcome
            case _:
                return await self._ended(None, told_error(outcome))

    async def _paused(self, wanted: PauseWanted) -> Difference | bool:
        last = self._facts[-1]
        if self._is_unfolded:
            if isinstance(last[1], Paused):
                return _compare(last[0], last[1], wanted)
            return self._compare_end(f"a wait for {_waits(wanted)}")
        while isinstance(fact := self._peek(), Started) and fact.name in self._asked:
            self._reveal()
        if isinstance(fact, Paused):
            if (found := _compare(self._facts[self._next][0], fact, wanted)) is not True:
                return found
            self._reveal()
        elif not isinstance(fact, Answered | Received):
            return self._compare_end(f"a wait for {_waits(wanted)}")
        await self._take_news()
        return self._peek() is None and not isinstance(self._facts[-1][1], Answered | Received)

    async def _ended(self, outcome: Outcome | None, error: str | None) -> Difference | bool:
        if not self._is_unfolded and isinstance(self._peek(), Answered | Received):
            await self._take_news()
            return False
        driven = f"an error: {error}" if outcome is None else _told_end(outcome)
        return self._compare_end(driven, outcome, error)

    def _compare_end(
        self, driven: str, outcome: Outcome | None = None, error: str | None = None
    ) -> Difference | bool:
        """Whether the record ends where the program does; what was ended from outside does."""
        if not self._is_unfolded:
            while self._is_aside(fact := self._peek()):
                self._reveal()
            if fact is not None and not isinstance(fact, Finished):
                return Difference(self._facts[self._next][0], _told(fact), driven)
        seq, last = self._facts[-1]
        if not isinstance(last, Finished) or _from_outside(last, outcome, error):
            return True
        if outcome is not None and _same(outcome, last):
            return True
        if error is not None and last.error == error:
            return True
        return Difference(seq, _told(last), driven)

    def _earliest(self, found: Difference | None) -> Difference | None:
        """`found`, or a step before it that is recorded and that the program never asked for."""
        if self._is_unfolded:
            return found
        for seq, fact in self._facts[: self._next]:
            if isinstance(fact, Stepped) and fact.name not in self._asked:
                if found is None or seq < found.seq:
                    return Difference(seq, fact.name, found.driven if found else "its end")
                break
        return found


def _from_outside(end: Finished, outcome: Outcome | None, error: str | None) -> bool:
    """Whether the run was ended by something that is not in its program."""
    if end.status == "cancelled" or (end.error or "").startswith(GIVEN_UP):
        return True
    # It wants to go on: an error or the end of its time came between.
    return outcome is None and error is None and (end.error is not None or end.finish == "seconds")


def _compare(seq: int, fact: Paused, wanted: PauseWanted) -> Difference | bool:
    same = (
        _asked(fact.asks) == _asked(wanted.asks)
        and (fact.due is None) == (wanted.due is None)
        and fact.listens == wanted.listens
    )
    return same or Difference(seq, _told(fact), f"a wait for {_waits(wanted)}")


def _asked(asks: Sequence[Ask]) -> dict[str, Any]:
    return {ask.key: _plain(ask.question) for ask in asks}


def _same(outcome: Outcome, end: Finished) -> bool:
    return (outcome.status, outcome.finish, _plain(outcome.output)) == (
        end.status,
        end.finish,
        _plain(end.output),
    )


def _plain(value: Any) -> Any:
    return codec.decode(codec.encode(value), object)


def _at(fact: AnyFact) -> int:
    return getattr(fact, "at", 0)


def _waits(wanted: PauseWanted | Paused) -> str:
    waits = [ask.key for ask in wanted.asks]
    waits += ["a time"] if wanted.due is not None else []
    waits += ["a message"] if wanted.listens else []
    return ", ".join(waits) or "nothing"


def _told_end(end: Outcome | Finished) -> str:
    text = f"the end: {end.status}"
    if end.finish is not None:
        text += f", {end.finish}"
    if end.error is not None:
        text += f", {end.error:.300}"
    if end.output is not None:
        text += f", {codec.encode(_plain(end.output)).decode(errors='replace'):.300}"
    return text


def _told(fact: AnyFact) -> str:
    match fact:
        case Stepped(name=name, digest=digest):
            return told(name, digest)
        case Started(name=name):
            return f"the start of {name}"
        case Paused():
            return f"a wait for {_waits(fact)}"
        case Finished():
            return _told_end(fact)
        case _:
            return type(fact).__name__.lower()
