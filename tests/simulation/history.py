"""Everything that a store was asked and answered, and the laws that must hold of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from remit.agent.state import AgentInput
from remit.kernel.facts import Answered, AnyFact, Asked, Finished, Paused, Stepped, decode
from remit.store.records import (
    CANCEL,
    Append,
    Appended,
    Busy,
    Created,
    Delivered,
    NewRun,
    RunRow,
    Signalled,
    Stopped,
)
from remit.values import codec
from remit.values.results import ENDED, Pending, Status


@dataclass
class Told:
    """What a store told of one run, one answer after the other."""

    id: str
    thread: str | None
    status: Status = "queued"
    token: int = 0
    holder: str | None = None
    bodies: list[bytes] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    facts: list[AnyFact] = field(default_factory=list)
    steps: dict[str, Stepped] = field(default_factory=dict)
    decided: dict[str, str] = field(default_factory=dict)
    """The delivery that answered each question."""
    answered: set[str] = field(default_factory=set)
    cancelled: bool = False


class History:
    """Notes each outcome at the moment when it took effect, and what is wrong with it."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.runs: dict[str, Told] = {}
        self.run_of: dict[str, str] = {}
        """The run of each message, which is a message's only one."""
        self.live: dict[str, str] = {}
        """The run of each thread whose turn it is."""
        self.waiting: dict[str, list[str]] = defaultdict(list)
        self.ended: dict[str, list[str]] = defaultdict(list)
        """The ended runs of each thread, in order."""
        self.machines: dict[str, str] = {}
        """The machine of each worker."""
        self.winners: Counter[str] = Counter()
        self.broken: list[str] = []
        self.log: list[str] = []

    def note(self, who: str, what: str) -> None:
        self.log.append(f"{self._now():10.3f}  {who:10} {what}")

    def require(self, holds: bool, law: str, *about: object) -> None:
        if not holds:
            self.broken.append(": ".join([law, *map(repr, about)]))
            self.note("LAW", self.broken[-1])

    def write(self, who: str, name: str, args: tuple[Any, ...], outcome: Any) -> None:
        """A write took effect, or was refused, with this outcome."""
        take = getattr(self, f"_{name}", None)
        if take is not None:
            take(who, args, outcome)

    def row(self, name: str, row: RunRow) -> None:
        """The run's row as the write `name` left it."""
        told, run, status = self.runs[row.id], row.id, row.status
        if name == "sweep":
            self.require(row.token > told.token, "a sweep raises the token", run)
        self.require(row.token >= told.token, "tokens never fall", run, row.token, told.token)
        told.token = row.token
        if told.status not in ENDED and status in ENDED and told.thread is not None:
            self._end(told.thread, run)
        self.require(told.status not in ENDED or told.status == status, "an end is final", run)
        told.status = status
        if status != "running":
            told.holder = None

    def rests(self, told: Told, *, decided: bool) -> bool:
        """Whether nothing more will come of the run: it has ended, or waits for people, or for a
        run that does."""
        ahead = self.runs[self.live[told.thread]] if told.thread in self.live else told
        waits = "paused" in (told.status, ahead.status) and told.status != "running"
        return told.status in ENDED or (waits and not decided)

    def _end(self, thread: str, run: str) -> None:
        """A run that waited for its turn may end without one: it is in nobody's history."""
        if run in self.waiting[thread]:
            self.waiting[thread].remove(run)
            return
        self.ended[thread].append(run)
        if self.live.get(thread) == run:
            del self.live[thread]
            if self.waiting[thread]:
                self.live[thread] = self.waiting[thread].pop(0)

    def holds(self, machine: str, run: str, token: int | None = None) -> bool:
        """Whether a worker of the machine holds the run."""
        told = self.runs[run]
        mine = told.holder is not None and self.machines.get(told.holder) == machine
        return mine and token in (None, told.token)

    def won(self, run: str, calls: list[str], who: str) -> None:
        """Somebody was told that their decision on these calls is the one that counts. A call in
        doubt is asked about each time that its process died."""
        pauses = [fact for fact in self.runs[run].facts if isinstance(fact, Paused)]
        asks = [ask for pause in pauses for ask in pause.asks]
        for call in calls:
            keys = {ask.key for ask in asks if codec.convert(ask.question, Pending).id == call}
            self.winners[call] += 1
            fits = self.winners[call] <= len(keys)
            self.require(fits, "one decider wins a call", run, call, who)

    def _create(self, who: str, args: tuple[Any, ...], outcome: Created | Busy) -> None:
        new: NewRun = args[0]
        if isinstance(outcome, Busy):
            self.require(
                self.live.get(new.thread or "") == outcome.run,
                "a message is refused only while another run is live on its thread",
                outcome.run,
            )
            return
        if new.id in self.runs:
            return
        if new.thread is not None:
            live = self.live.setdefault(new.thread, new.id)
            self.require(live == new.id or bool(new.enqueue), "one live run a thread", live)
            if live != new.id:
                self.waiting[new.thread].append(new.id)
        told = self.runs[new.id] = Told(new.id, new.thread)
        self._grow(told, (new.body,), 0)
        asked = told.facts[0]
        assert isinstance(asked, Asked)
        message = codec.convert(asked.input, AgentInput).message
        assert message is not None
        self.run_of[message.text] = new.id

    def _beat(self, who: str, args: tuple[Any, ...], outcome: Any) -> None:
        self.machines.setdefault(args[0], who)

    def _claim(self, who: str, args: tuple[Any, ...], outcome: Any) -> None:
        for claim in outcome:
            told = self.runs[claim.run]
            self.require(told.status == "queued", "only what is queued is claimed", claim)
            turn = told.thread is None or self.live.get(told.thread) == told.id
            self.require(turn, "a run is claimed when its turn has come", claim)
            self.require(claim.token > told.token, "each claim has a token of its own", claim)
            self.require(claim.seq == len(told.bodies), "a claim knows the journal's end", claim)
            told.token, told.holder, told.status = claim.token, args[0], "running"
            self.note(who, f"holds {claim.run} under token {claim.token}")

    def _sweep(self, who: str, args: tuple[Any, ...], outcome: Any) -> None:
        for run in outcome:
            self.runs[run].status, self.runs[run].holder = "queued", None
            self.note(who, f"swept {run}")

    def _append(self, who: str, args: tuple[Any, ...], outcome: Any) -> None:
        for item, result in zip(args[0], outcome, strict=True):
            if isinstance(result, Appended):
                self._appended(who, item, result)
            else:
                self.note(who, f"was refused {item.run} {item.seq}: {result}")

    def _appended(self, who: str, item: Append, outcome: Appended) -> None:
        told = self.runs[item.run]
        about = (who, item.run, item.token, told.token)
        self.require(item.token >= told.token, "nothing is accepted below the token", *about)
        self.require(told.holder is not None, "nothing is accepted of who holds nothing", *about)
        self.require(item.seq == len(told.bodies), "no gap and no double in a journal", *about)
        self._grow(told, item.entries, item.token)
        self.require(outcome.seq == len(told.bodies), "the sequence counts entries", *about)

    def _deliver(self, who: str, args: tuple[Any, ...], outcome: Any) -> None:
        if not isinstance(outcome, Delivered):
            return
        run, answers, delivery = args
        told = self.runs[run]
        for key in answers:
            by = told.decided.setdefault(key, delivery)
            self.require(by == delivery, "one decision a call", run, key)
        self.note(who, f"decided {run} {list(answers)}, {outcome.left} left")

    def _cancel(self, who: str, args: tuple[Any, ...], outcome: Any) -> None:
        run = args[0]
        if isinstance(outcome, Signalled | Stopped):
            self.runs[run].cancelled = True
            self.note(who, f"cancels {run}: {outcome}")
        if isinstance(outcome, Stopped):
            self._grow(self.runs[run], (args[1],), self.runs[run].token)

    def _grow(self, told: Told, bodies: tuple[bytes, ...], token: int) -> None:
        for body in bodies:
            fact = decode(body)
            ended = bool(told.facts) and isinstance(told.facts[-1], Finished)
            self.require(not ended, "nothing comes after the end", told.id, fact)
            if isinstance(fact, Stepped):
                self.require(fact.name not in told.steps, "a step is recorded once", fact.name)
                told.steps[fact.name] = fact
            if isinstance(fact, Answered):
                self.require(fact.key not in told.answered, "an answer is recorded once", fact)
                self.require(
                    fact.key in told.decided or fact.key == CANCEL, "an answer was given", fact
                )
                told.answered.add(fact.key)
            told.bodies.append(body)
            told.tokens.append(token)
            told.facts.append(fact)
            self.note(told.id, f"{len(told.bodies)} {_short(fact)} (token {token})")


def _short(fact: AnyFact) -> str:
    name = getattr(fact, "name", None) or getattr(fact, "key", None) or getattr(fact, "status", "")
    error = getattr(fact, "error", None) or ""
    return f"{type(fact).__name__} {name} {error}".strip()
