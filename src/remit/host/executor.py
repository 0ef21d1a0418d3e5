"""Driving one claimed run, from its journal to its end or its next pause."""

from __future__ import annotations

import asyncio
import logging
from typing import Literal

from remit.host.bus.memory import Passing, Recorded
from remit.host.place import Place
from remit.kernel import recovery
from remit.kernel.facts import Answered, AnyFact, Finished, Paused, decode
from remit.kernel.interrupt import Answer, PauseWanted
from remit.kernel.journal import StoredJournal
from remit.kernel.lease import Lease, Leaving
from remit.kernel.program import Outcome
from remit.kernel.run import ActiveRun, Hold, Surroundings
from remit.kernel.tasks import spawn
from remit.store.records import CANCEL, Claim
from remit.values import codec
from remit.values.errors import LetGo, StoreError

_log = logging.getLogger("remit.host")
Why = Literal["running", "cancel", "lost", "leaving"]


class Executor:
    """Holds one claimed run. `execute` is its whole life; the other methods are told to it by
    the worker while it lasts."""

    def __init__(
        self, place: Place, claim: Claim, worker: str, lease: Lease, tasks: asyncio.TaskGroup
    ) -> None:
        self.claim = claim
        self._place = place
        self._worker = worker
        self._lease = lease
        self._tasks = tasks
        self._store = place.store
        self._journal = StoredJournal(place.store, claim, lease, place.clock, tasks, self._tell)
        self._journal.on_news = self.look_for_news
        self._why: Why = "running"
        self._cancelled: Outcome | None = None
        self._driving: asyncio.Task[None] | None = None
        self._run: ActiveRun | None = None
        self._draining = False

    async def execute(self) -> None:
        """Drive the run until it ends, pauses or is let go. Raises nothing but CancelledError."""
        try:
            await self._live()
        except Leaving:
            await self._give_back()
        except LetGo as let_go:
            _log.info("run %s let go: %r", self.claim.run, let_go)
        except StoreError as error:
            _log.warning("run %s let go: %s", self.claim.run, error)
        except asyncio.CancelledError:
            if self._why != "lost":
                await self._give_back()
            if self._why not in ("lost", "leaving"):
                raise
        except Exception:
            _log.exception("run %s let go", self.claim.run)

    def notice(self, inbox: int) -> None:
        """Signals may have come: look at them."""
        if inbox > self._journal.inbox:
            self._journal.inbox = inbox
            self.look_for_news()

    def lose(self) -> None:
        """The lease is over: stop, and write nothing."""
        self._stop("lost")

    def drain(self) -> None:
        """The process is about to leave: finish what is under way, and give the run back."""
        self._draining = True
        if self._run is not None:
            self._run.leaving = True

    def leave(self) -> None:
        """The process is leaving: stop, and give the run back."""
        self._stop("leaving")

    async def _live(self) -> None:
        facts = [
            (entry.seq, decode(entry.body)) for entry in await self._store.read(self.claim.run)
        ]
        known = [fact for _, fact in facts]
        decision = recovery.decide(known, self.claim.deaths, self._place.terms.max_deaths)
        if isinstance(decision, recovery.GiveUp):
            await self._give_up(decision.reason)
            return
        run = self._run = self._active_run(facts)
        run.leaving = self._draining
        await self._take_signals(run)
        while True:
            outcome = await self._drive(run)
            if isinstance(outcome, PauseWanted):
                if await self._pause(outcome):
                    return
            elif await self._finish(outcome):
                return
            await self._take_signals(run)

    async def _drive(self, run: ActiveRun) -> Outcome | PauseWanted:
        """The program's outcome; a wish to stop that was told to us comes before it."""
        if self._cancelled is not None:
            return self._cancelled
        if self._why == "leaving":
            raise Leaving
        self._driving = asyncio.current_task()
        try:
            return await self._place.programs[self.claim.program].drive(run)
        except asyncio.CancelledError as error:
            assert self._driving is not None
            if not self._driving.cancelling():
                # Nobody asked for it. Given back, the run would come to the same place for ever.
                return self._failed(error)
            if self._why != "cancel" or self._cancelled is None:
                raise
            self._driving.uncancel()
            return self._cancelled
        except PauseWanted as wanted:
            return wanted
        except StoreError:
            raise
        except Exception as error:
            return self._failed(error)
        finally:
            self._driving = None

    def _failed(self, error: BaseException) -> Outcome:
        _log.error("run %s failed", self.claim.run, exc_info=error)
        return Outcome(status="failed", error=_told(error))

    async def _take_signals(self, run: ActiveRun) -> None:
        """Record the answers that came, and see whether the run is to be cancelled."""
        inbox = self._journal.inbox
        if not inbox:
            return
        for signal in await self._store.signals(self.claim.run):
            if signal.answer is None:
                continue
            answer = codec.decode(signal.answer, Answer)
            if signal.key == CANCEL:
                self._cancelled = cancelled(answer)
            elif run.answer(signal.key) is None:
                await run.record(
                    Answered(key=signal.key, value=answer.value, by=answer.by, at=answer.at)
                )
        self._journal.seen = inbox

    def look_for_news(self) -> None:
        """A signal was left for the run: look at it."""
        try:
            spawn(self._tasks, self._look())
        except Leaving:
            _log.info("run %s: no look at its news, the process is leaving", self.claim.run)

    async def _look(self) -> None:
        try:
            for signal in await self._store.signals(self.claim.run):
                if signal.key == CANCEL and signal.answer is not None:
                    self._cancelled = cancelled(codec.decode(signal.answer, Answer))
                    self._stop("cancel")
        except StoreError as error:
            _log.warning("run %s: its signals could not be read: %s", self.claim.run, error)
        except LetGo:
            return

    def _stop(self, why: Why) -> None:
        if self._why == "running" or why == "lost":
            self._why = why
            if self._driving is not None:
                self._driving.cancel()

    async def _pause(self, wanted: PauseWanted) -> bool:
        fact = Paused(asks=wanted.asks, at=self._now())
        return await self._journal.close(fact, "paused", [ask.key for ask in wanted.asks])

    async def _finish(self, outcome: Outcome) -> bool:
        return await self._journal.close(finished(outcome, self._now()), outcome.status)

    async def _give_up(self, reason: str) -> None:
        outcome = Outcome(status="failed", error=f"The run was given up: {reason}.")
        while not await self._finish(self._cancelled or outcome):
            inbox = self._journal.inbox
            await self._look()
            self._journal.seen = inbox

    async def _give_back(self) -> None:
        left_behind = self._run is not None and self._run.left_behind
        try:
            await self._store.release(
                self._worker, self.claim.run, self.claim.token, abandoned=left_behind
            )
        except StoreError as error:
            _log.warning("run %s could not be given back: %s", self.claim.run, error)

    def _active_run(self, facts: list[tuple[int, AnyFact]]) -> ActiveRun:
        claim, place = self.claim, self._place
        return ActiveRun(
            claim.run,
            facts,
            self._journal,
            Surroundings(
                clock=place.clock,
                lease=self._lease,
                show=lambda event: place.bus.publish(claim.run, Passing(event)),
                lineage=self._lineage,
            ),
            Hold(
                token=claim.token,
                deaths=claim.deaths,
                since_lost=claim.since_lost,
                grace=place.terms.grace.total_seconds(),
            ),
        )

    async def _lineage(self) -> list[list[AnyFact]]:
        journals = await self._store.lineage(self.claim.run)
        return [[decode(entry.body) for entry in entries] for entries in journals]

    def _tell(self, seq: int, fact: AnyFact) -> None:
        self._place.bus.publish(self.claim.run, Recorded(seq, fact))

    def _now(self) -> int:
        return round(self._place.clock.wall() * 1000)


def finished(outcome: Outcome, at: int) -> Finished:
    """The last fact of a run that came to `outcome`."""
    return Finished(
        at=at,
        status=outcome.status,
        finish=outcome.finish,
        reason=outcome.reason,
        error=outcome.error,
        output=outcome.output,
    )


def cancelled(answer: Answer) -> Outcome:
    """The outcome of a run that somebody cancelled."""
    reason = answer.value if isinstance(answer.value, str) else None
    return Outcome(status="cancelled", finish="cancelled", reason=reason)


def _told(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = "its message could not be read"
    return f"{type(error).__name__}: {text}"[:2000]
