"""A run that this process drives: its recorded steps, and the making of new ones."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, TypeVar

from remit.kernel.facts import Answered, AnyFact, Ask, Asked, Received, Started, Stepped
from remit.kernel.interrupt import PauseWanted
from remit.kernel.journal import Journal, Transact
from remit.kernel.lease import Lease
from remit.values import codec
from remit.values.clock import Clock
from remit.values.errors import ConfigError, LetGo

T = TypeVar("T")
Lineage = Callable[[], Awaitable[Sequence[Sequence[AnyFact]]]]


async def no_lineage() -> Sequence[Sequence[AnyFact]]:
    """The lineage of a run that builds on none."""
    return ()


def unseen(event: Any) -> None:
    """Nobody watches."""


def _never() -> bool:
    """Nothing is known of an end."""
    return False


def _silent() -> None:
    """Nobody waits for news."""


class Past(Protocol):
    """What a replay has of a run, instead of a world to make steps in."""

    @property
    def known(self) -> int:
        """The last sequence number that was revealed when this drive began."""
        ...

    def recall(self, name: str) -> None:
        """Reveal the step `name` to the run, with all that is recorded before it."""
        ...

    def holds(self, name: str) -> bool:
        """Whether the step `name` is recorded up to the end of this life of the run."""
        ...

    def unfold(self) -> None:
        """Reveal everything."""
        ...

    async def look_inside(
        self, path: str, program: Any, facts: Sequence[tuple[int, AnyFact]]
    ) -> None:
        """Drive a program over the facts of its own that the run holds under `path`."""
        ...


class Halt:
    """Why no step may begin, and what is left behind: one for a run and all scopes in it."""

    __slots__ = ("is_ending", "left_behind", "why")

    def __init__(self) -> None:
        self.why: type[LetGo] | None = None
        self.left_behind = False
        self.is_ending: Callable[[], bool] = _never
        """Whether everything here is being cancelled, which is told to no run by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a run needs of the process around it. `show` takes passing events; `settle` waits
    until what was told has been heard, where somebody is waited for; `lineage` reads the runs
    that this one builds on; `news` records the answers and messages that came meanwhile;
    `transact` is the journal's, where the store has transactions to share. `halt` is that of the
    run around this one, where it is driven inside another, at `path`. In a replay `past` is what
    it knows. `wall` is the store's wall time, in seconds, where there is a store."""

    clock: Clock
    lease: Lease
    show: Callable[[Any], None] = unseen
    settle: Callable[[], Awaitable[None]] | None = None
    lineage: Lineage = no_lineage
    news: Callable[[], Awaitable[None]] | None = None
    halt: Halt | None = None
    path: str = ""
    transact: Transact | None = None
    past: Past | None = None
    wall: Callable[[], float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenure:
    """How this process came to hold the run: its token, the deaths before it, how many seconds
    ago another holder's lease ended, and the grace that such a holder's work is given."""

    token: int = 0
    deaths: int = 0
    since_lost: float | None = None
    grace: float = 0.0


class ActiveRun:
    """What a program is given to live in.

    `facts` is everything recorded so far, with sequence numbers, and grows with each record.
    `resumed_at` is the last sequence number when this process took the run. `path` is what the
    names of its steps begin with in the journal.
    """

    def __init__(
        self,
        id: str,
        facts: Iterable[tuple[int, AnyFact]],
        journal: Journal,
        around: Surroundings,
        tenure: Tenure,
    ) -> None:
        self.id = id
        self.path = around.path
        self.past = around.past
        self.facts: list[tuple[int, AnyFact]] = []
        self.tenure = tenure
        self.attempt = max(tenure.token, 1)
        """Rises with each hold on the run, by whatever process."""
        self.lease = around.lease
        self.clock = around.clock
        self.wall = around.wall or around.clock.wall
        """Seconds since 1970, by the clock that says when the run is due."""
        self.show = around.show
        self.settle = around.settle
        self.lineage = around.lineage
        self.received: list[Received] = []
        """The messages that somebody sent, in the order in which they were recorded."""
        self.started: dict[str, int] = {}
        """Where each step began that nobody may make twice: the fact's sequence number."""
        self.halt = around.halt or Halt()
        self.on_news: Callable[[], None] = _silent
        """Called when answers or messages have come that nobody has looked at."""
        self.followers: dict[str, Callable[[int, AnyFact], None]] = {}
        """Told of every further fact; by the names of those who follow."""
        self._news = around.news
        self.hears = around.news is not None
        """Whether answers and messages can come while it is driven."""
        self._looking = asyncio.Lock()
        self.transacting = around.transact
        self._journal = journal
        self._steps: dict[str, tuple[int, Stepped]] = {}
        self._answers: dict[str, Answered] = {}
        self._received: dict[str, Received] = {}
        self._asked: Asked | None = None
        since = tenure.since_lost
        self.lost_at = None if since is None else self.clock.steady() - since
        for seq, fact in facts:
            self.hear(seq, fact)
        self.resumed_at = len(self.facts)

    @property
    def stopping(self) -> type[LetGo] | None:
        """Why no new step may begin here, if that is so."""
        return self.halt.why

    @stopping.setter
    def stopping(self, why: type[LetGo] | None) -> None:
        self.halt.why = why

    @property
    def left_behind(self) -> bool:
        """Whether work that this run started may go on after it is let go."""
        return self.halt.left_behind

    @left_behind.setter
    def left_behind(self, left: bool) -> None:
        self.halt.left_behind = left

    @property
    def asked(self) -> Asked:
        """The fact that the run begins with."""
        if self._asked is None:
            raise LookupError(f"run {self.id} has no first fact")
        return self._asked

    def answer(self, key: str) -> Answered | None:
        """What somebody answered to the question `key`."""
        return self._answers.get(key)

    def has_received(self, id: str) -> bool:
        """Whether the message `id` is recorded."""
        return id in self._received

    def message(self, id: str) -> Received:
        """The message `id`, which is recorded."""
        return self._received[id]

    def recorded_at(self, name: str) -> int | None:
        """The sequence number of the step `name`."""
        found = self._steps.get(name)
        return found[0] if found else None

    def recorded(self, name: str) -> Stepped | None:
        """What is recorded of the step `name`."""
        found = self._steps.get(name)
        return found[1] if found else None

    def is_of_this_hold(self, name: str, successor: str) -> bool:
        """Whether the step `name`, which is recorded, was made since this process took the run.
        If it was not, `successor` is the step that is made in its stead, by which a replay
        tells."""
        if self.past is not None:
            return not self.past.holds(successor)
        return (self.recorded_at(name) or 0) > self.resumed_at

    async def take_news(self) -> None:
        """Record the answers and the messages that have come since the last look."""
        if self._news is not None:
            async with self._looking:
                await self._news()

    async def record(
        self,
        fact: Asked | Stepped | Started | Answered | Received,
        also: Callable[[int, AnyFact], None] | None = None,
        by: str | None = None,
    ) -> int:
        """Store a fact, and give back its sequence number; it is known once it is stored, here
        and to `also`, whatever becomes of the caller, and told to whoever reads along. `by` is
        the name of the program inside the run that it is of, if any."""
        seq = await self._journal.record(fact, hear=self._hearing(also), by=by)
        if self.settle is not None:
            await self.settle()
        return seq

    def _hearing(
        self, also: Callable[[int, AnyFact], None] | None
    ) -> Callable[[int, AnyFact], None]:
        if also is None:
            return self.hear

        def hear(seq: int, fact: AnyFact) -> None:
            self.hear(seq, fact)
            also(seq, fact)

        return hear

    async def step(self, name: str, make: Callable[[], Awaitable[T]], type_: type[T]) -> T:
        """The value of the step `name`: recorded, or made by `make` and recorded.

        Raises LeaseLost instead of starting what another process may be starting too, Leaving
        where the process is about to leave, and Cancelled where somebody cancelled the run.
        """
        if self.past is not None:
            self.past.recall(name)
        found = self._steps.get(name)
        if found is not None:
            return codec.convert(found[1].value, type_)
        self.check()
        started = self.clock.steady()
        value = await make()
        took = round((self.clock.steady() - started) * 1000)
        fact = Stepped(name=name, value=value, took=took, at=self.now())
        await self._journal.record(fact, hear=self.hear)
        if self.settle is not None:
            await self.settle()
        return value

    async def transact(
        self, name: str, make: Callable[[Any], Any], stop: Callable[[], None]
    ) -> None:
        """Make the step `name`, unless it is recorded, and record it, in one transaction of the
        store's.

        `make` is given the transaction, as the store has it, and gives the step's value or what
        is awaited for it. What it raises is raised, and nothing that it did in the transaction
        stays; it may be called again after that. `stop` is called when this is cancelled: `make`
        must then end. Raises what `step` raises, and ConfigError for a store that cannot do it.
        """
        if self.past is not None:
            self.past.recall(name)
        if name in self._steps:
            return
        self.check()
        if self.transacting is None:
            raise ConfigError("this store has no transaction to share: use SQLite or PostgreSQL")

        def work(tx: Any) -> Stepped | Awaitable[Stepped]:
            started = self.clock.steady()

            def step(value: Any) -> Stepped:
                took = round((self.clock.steady() - started) * 1000)
                return Stepped(name=name, value=value, took=took, at=self.now())

            async def later(made: Awaitable[Any]) -> Stepped:
                return step(await made)

            made = make(tx)
            return later(made) if inspect.isawaitable(made) else step(made)

        await self.transacting(work, stop, self.hear)
        if self.settle is not None:
            await self.settle()

    def pause(
        self, asks: Sequence[Ask] = (), *, due: int | None = None, listens: bool = False
    ) -> NoReturn:
        """Leave the run until every question is answered, the time `due` has come (milliseconds
        since 1970), or a message comes, if it `listens`."""
        raise PauseWanted(asks, due=due, listens=listens)

    def rest(self, seconds: float) -> float:
        """For how many seconds more a former holder's lease has not been over for `seconds`, so
        that what it left running may still go on."""
        if self.lost_at is None:
            return 0.0
        return max(self.lost_at + seconds - self.clock.steady(), 0.0)

    async def outwait(self, seconds: float) -> None:
        """Wait for the `rest`. Raises LeaseLost or Leaving where nothing may begin after it."""
        rest = self.rest(seconds)
        if rest > 0:
            await self.clock.sleep(rest)
        self.check()

    def check(self) -> None:
        """Raise why nothing new may begin here, if that is so."""
        self.lease.check()
        if self.halt.why is not None:
            raise self.halt.why

    def now(self) -> int:
        """Milliseconds since 1970."""
        return round(self.wall() * 1000)

    def hear(self, seq: int, fact: AnyFact) -> None:
        """Know a fact that is recorded."""
        self.facts.append((seq, fact))
        if isinstance(fact, Stepped):
            self._steps[fact.name] = (seq, fact)
        elif isinstance(fact, Answered):
            self._answers[fact.key] = fact
        elif isinstance(fact, Received):
            self.received.append(fact)
            self._received[fact.id] = fact
        elif isinstance(fact, Started):
            self.started[fact.name] = seq
        elif isinstance(fact, Asked):
            self._asked = fact
        for hear in self.followers.values():
            hear(seq, fact)
