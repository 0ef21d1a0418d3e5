"""Driving one claimed run, from its journal to its end or its next pause."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from remit.host.bus.memory import Passing
from remit.host.place import Place
from remit.kernel import recovery
from remit.kernel.course import Severed
from remit.kernel.exits import ends_process
from remit.kernel.facts import Answered, AnyFact, Received, decode
from remit.kernel.interrupt import Answer, PauseWanted, Unfit, read_answer
from remit.kernel.journal import StoredJournal
from remit.kernel.lease import Cancelled, Lease, LeaseLost, Leaving
from remit.kernel.program import GIVEN_UP, Outcome, finished, told_error
from remit.kernel.run import ActiveRun, Surroundings, Tenure
from remit.kernel.tasks import spawn
from remit.store.records import CANCEL, MESSAGE, Claim, Refusal
from remit.tools.leash import Leash
from remit.tools.threads import Threads
from remit.values.clock import counted
from remit.values.errors import ConnectionFailedError, LetGo, ProviderError, StoreError

_log = logging.getLogger("remit.host")
GIVING_BACK = 2.0
"""How many seconds a process that leaves waits until the store took something back."""
_MARGIN = 1.0
"""Seconds beyond the grace that tools have, so that a drive that waits for one is not cut."""


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
        self._ending: type[LetGo] | None = None
        self._cancelled: Outcome | None = None
        self._driving: asyncio.Task[None] | None = None
        self._run: ActiveRun | None = None
        self._draining = False
        self._looked = 0
        self._leash: Leash | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self.on_due: Callable[[float], None] = lambda seconds: None
        """Told in how many seconds the run will be due."""
        self._wall = counted(place.clock, claim.now / 1e6)
        self.is_ending: Callable[[], bool] = lambda: False

    async def execute(self) -> None:
        """Drive the run until it ends, pauses or is let go. Raises nothing but CancelledError and
        what ends the process."""
        try:
            await self._live()
        except Leaving:
            await self._give_back()
        except Unfit as unfit:
            _log.error("run %s cannot be driven by this code: %s", self.claim.run, unfit.reason)
            await self._give_back(Refusal(self._place.deploy, unfit.reason))
        except LetGo as let_go:
            _log.info("run %s let go: %r", self.claim.run, let_go)
        except StoreError as error:
            _log.warning("run %s let go: %s", self.claim.run, error)
        except asyncio.CancelledError:
            await self._give_back()
            raise
        except Exception as error:
            await self._fail(error)
        finally:
            # They hold this in turn; a run's facts would stay until the collector came by.
            self._run = self._leash = None
            self._journal.forget()

    def notice(self, inbox: int) -> None:
        """So many signals have come: look at those that nobody has looked at."""
        self._journal.inbox = max(self._journal.inbox, inbox)
        if inbox > self._looked:
            self.look_for_news()

    def lose(self) -> None:
        """The lease is over: stop, and write nothing."""
        self._stop(LeaseLost)

    def drain(self) -> None:
        """The process is about to leave: finish what is under way, and give the run back."""
        self._draining = True
        if self._run is not None and self._run.stopping is None:
            self._run.stopping = Leaving

    def leave(self) -> None:
        """The process is leaving: stop, and give the run back."""
        self._stop(Leaving)

    async def _live(self) -> None:
        facts = [
            (entry.seq, decode(entry.body)) for entry in await self._store.read(self.claim.run)
        ]
        run = self._run = self._active_run(facts)
        run.halt.is_ending = self.is_ending
        run.stopping = self._ending or (Leaving if self._draining else None)
        known = [fact for _, fact in facts]
        decision = recovery.decide(known, self.claim.deaths, self._place.terms.max_deaths)
        if isinstance(decision, recovery.GiveUp):
            await self._give_up(decision.reason)
            return
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
        if self._ending is not None:
            raise self._ending
        self._driving = asyncio.current_task()
        self._leash = Leash(self._place.programs[self.claim.program].drive(run), Threads())
        try:
            outcome: Outcome = await self._leash
        except PauseWanted as wanted:
            return self._cancelled or wanted
        except BaseException as error:
            return self._cut(error)
        finally:
            driving, self._driving = self._driving, None
            if self._alarm is not None:
                self._alarm.cancel()
            if self._ending is not None and driving is not None:
                await _absorb(driving)
        # A cancel may have been among the news that the program took; it is looked at by then.
        return self._cancelled or outcome

    def _cut(self, error: BaseException) -> Outcome:
        """What a drive that raised comes to. Why it was stopped counts, and not what the program
        made of it: a model may answer a cancel with an error of its own."""
        if self._ending is Cancelled and self._cancelled is not None:
            return self._cancelled
        if self._ending is not None:
            raise self._ending from error
        if isinstance(error, asyncio.CancelledError):
            assert self._driving is not None
            if self._driving.cancelling():
                raise error
            # Nobody asked for it. Given back, the run would come to the same place for ever.
            return self._failed(error)
        if isinstance(error, Severed):
            return self._failed(error.error)
        if isinstance(error, StoreError | LetGo) or ends_process(error):
            raise error
        return self._failed(error)

    def _failed(self, error: BaseException) -> Outcome:
        if isinstance(error, ProviderError | ConnectionFailedError):
            # It says all that there is to know, and nothing here is to be mended.
            _log.error("run %s failed: %s", self.claim.run, error)
        else:
            _log.error("run %s failed", self.claim.run, exc_info=error)
        return Outcome(status="failed", error=told_error(error))

    async def _take_signals(self, run: ActiveRun | None) -> None:
        """Record the answers that came, and see whether the run is to be cancelled."""
        inbox = self._journal.inbox
        if not inbox:
            return
        for signal in await self._store.signals(self.claim.run):
            if signal.answer is None:
                continue
            answer = read_answer(signal.answer)
            if signal.key == CANCEL:
                self._cancelled = cancelled(answer)
                if self._driving is not None:
                    self._stop(Cancelled)
            elif run is not None:
                await _take(run, signal.key, answer)
        self._journal.seen = self._looked = inbox

    async def _news(self) -> None:
        """Record what came since the last look, for a run that asks between two steps."""
        if self._journal.inbox != self._journal.seen:
            await self._take_signals(self._run)

    def look_for_news(self) -> None:
        """A signal was left for the run: look at it."""
        try:
            spawn(self._tasks, self._look())
        except Leaving:
            _log.info("run %s: no look at its news, the process is leaving", self.claim.run)

    async def _look(self) -> None:
        """See whether the run is to be cancelled. Where that fails, the next heartbeat looks."""
        inbox, answered = self._journal.inbox, 0
        try:
            for signal in await self._store.signals(self.claim.run):
                answered += signal.answer is not None
                if signal.key == CANCEL and signal.answer is not None:
                    self._cancelled = cancelled(read_answer(signal.answer))
                    self._stop(Cancelled)
            self._looked = max(self._looked, inbox)
            self._journal.inbox = max(self._journal.inbox, answered)
            if self._run is not None and self._journal.inbox != self._journal.seen:
                self._run.on_news()
        except StoreError as error:
            _log.warning("run %s: its signals could not be read: %s", self.claim.run, error)
        except LetGo:
            return

    def _stop(self, why: type[LetGo]) -> None:
        """End the drive. The first reason counts, but a lost lease comes before every other.
        A program that does not stop within the grace is never resumed again."""
        if self._ending is None or why is LeaseLost:
            self._ending = why
            if self._run is not None:
                self._run.stopping = why
        if self._driving is not None:
            self._driving.cancel()
            loop, grace = asyncio.get_running_loop(), self._place.terms.grace.total_seconds()
            self._alarm = loop.call_later(grace + _MARGIN, self._cut_loose)

    def _cut_loose(self) -> None:
        if self._driving is not None and self._leash is not None:
            _log.error("run %s: its program would not stop and is left for good", self.claim.run)
            self._leash.is_cut = True
            self._driving.cancel()

    async def _pause(self, wanted: PauseWanted) -> bool:
        paused = await self._journal.pause(wanted.fact(self._now()))
        if paused and wanted.due is not None:
            self.on_due(wanted.due / 1000 - self._wall())
        return paused

    async def _finish(self, outcome: Outcome) -> bool:
        return await self._journal.finish(finished(outcome, self._now()))

    async def _give_up(self, reason: str) -> None:
        outcome = Outcome(status="failed", error=f"{GIVEN_UP}{reason}.")
        while True:
            await self._take_signals(None)
            if await self._finish(self._cancelled or outcome):
                return

    async def _fail(self, error: Exception) -> None:
        """End a run that an error of our own came between; it would come again."""
        try:
            await self._finish(self._failed(error))
        except (StoreError, LetGo) as more:
            _log.warning("run %s could not be ended: %r", self.claim.run, more)

    async def _give_back(self, refusal: Refusal | None = None) -> None:
        left_behind = self._run is not None and self._run.left_behind
        try:
            # Who leaves waits for no store that is away: the lease ends by itself.
            async with asyncio.timeout(GIVING_BACK if refusal is None else None):
                await self._store.release(
                    self._worker,
                    self.claim.run,
                    self.claim.token,
                    abandoned=left_behind,
                    refusal=refusal,
                )
        except TimeoutError:
            _log.warning("run %s could not be given back in time", self.claim.run)
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
                show=self._show,
                lineage=self._lineage,
                news=self._news,
                transact=self._journal.transact,
                wall=self._wall,
            ),
            Tenure(
                token=claim.token,
                deaths=claim.deaths,
                since_lost=claim.since_lost,
                grace=place.terms.grace.total_seconds(),
            ),
        )

    async def _lineage(self) -> list[list[AnyFact]]:
        journals = await self._store.lineage(self.claim.run)
        return [[decode(entry.body) for entry in entries] for entries in journals]

    def _tell(self, seq: int, body: bytes) -> None:
        self._place.bus.publish_body(self.claim.run, seq, body)

    def _show(self, event: Any) -> None:
        self._place.bus.publish(self.claim.run, Passing(event, self._journal.seq))

    def _now(self) -> int:
        return round(self._wall() * 1000)


async def _absorb(task: asyncio.Task[None]) -> None:
    """Take the cancels that we sent, so that none hits what is done next."""
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(0)
    while task.cancelling():
        task.uncancel()


async def _take(run: ActiveRun, key: str, answer: Answer) -> None:
    """Record an answer or a message, unless that was done before."""
    value, by, at = answer.value, answer.by, answer.at
    if not key.startswith(MESSAGE):
        if run.answer(key) is None:
            await run.record(Answered(key=key, value=value, by=by, at=at))
    elif not run.has_received(id := key.removeprefix(MESSAGE)):
        await run.record(Received(id=id, value=value, by=by, at=at))


def cancelled(answer: Answer) -> Outcome:
    """The outcome of a run that somebody cancelled."""
    reason = answer.value if isinstance(answer.value, str) else None
    return Outcome(status="cancelled", finish="cancelled", reason=reason)
