"""The demo's story: a worker dies in the middle of a refund, and another one goes on."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

from remit.app import App
from remit.cli import invocation
from remit.cli.demo.agent import ASK_ABOVE
from remit.cli.demo.orders import Count
from remit.cli.demo.screen import Beat, Screen
from remit.cli.demo.stage import Stage
from remit.cli.demo.timeline import Stuck, Timeline
from remit.cli.demo.worker import TERMS
from remit.cli.demo.workers import WorkerProcess, worker
from remit.cli.render.page import Tone
from remit.cli.render.wording import arguments, count, one_line
from remit.values.errors import RemitError
from remit.values.identity import Caller
from remit.values.messages import ToolMessage

STAFF = Caller(user="staff_3", roles=frozenset({"staff"}))


class GoneWrong(Exception):
    """The story cannot go on as it must; the text says why."""


@dataclass(slots=True)
class Seen:
    """What the story has shown: what was found after the kill, and what was decided."""

    killed: bool = False
    cut: Count | None = None
    """The refund whose worker was killed, as it stood then."""
    approved: list[str] = field(default_factory=list)
    """The calls that were decided, by id."""
    problem: str | None = None


class Story:
    """Plays once, on a stage whose runs are queued."""

    def __init__(self, app: App, stage: Stage, screen: Screen, timeline: Timeline) -> None:
        self._app = app
        self._stage = stage
        self._screen = screen
        self._timeline = timeline
        self._tasks = asyncio.TaskGroup()
        self.seen = Seen()

    async def play(self) -> Seen:
        """Tell it to its end, or to where it went wrong."""
        try:
            async with self._tasks as tasks:
                followers = self._timeline.follow_all(tasks)
                try:
                    await self._acts()
                except (GoneWrong, Stuck) as wrong:
                    self.seen.problem = str(wrong)
                finally:
                    for follower in followers:
                        follower.cancel()
        except* (RemitError, OSError) as group:
            raise _first(group) from None
        return self.seen

    async def _acts(self) -> None:
        first = await self._first_worker()
        if first.code is None:
            return
        if first.code != -signal.SIGKILL:
            raise GoneWrong(self._why_gone(first))
        await self._after_the_kill(first)
        await self._second_worker()

    async def _first_worker(self) -> WorkerProcess:
        """Worker A works until it dies; without a refund it has no reason to."""
        timeline = self._timeline
        self._chapter("Worker A takes the runs")
        async with self._worker("A", die_after_refund=True) as first:
            self._tell(
                "worker",
                f"Process {first.pid} drives them, and will be killed with SIGKILL right after its"
                " first refund's commit.",
                worker="A",
                pid=first.pid,
            )
            await timeline.until(lambda: first.gone, lambda: timeline.resting)
            while not first.gone and not timeline.over:
                await self._decide()
                await timeline.until(lambda: first.gone, lambda: timeline.resting)
            if not first.gone:
                self._tell("alive", "All runs have ended, and worker A is alive.")
                return WorkerProcess("A", first.pid)
        return first

    async def _after_the_kill(self, first: WorkerProcess) -> None:
        """What a killed process leaves: a commit here, and no record of it there."""
        self.seen.killed = True
        await self._timeline.catch_up()
        self._timeline.worker = "-"
        self._chapter("Worker A is dead")
        self._tell(
            "killed",
            f"Process {first.pid} was ended by SIGKILL: return code {first.code}.",
            worker="A",
            pid=first.pid,
            returncode=first.code,
        )
        counts = self._stage.orders.counts()
        cut = [one for one in counts if await self._result(one.key) is None]
        if len(cut) != 1:
            raise GoneWrong(
                f"{count(len(cut), 'refund')} without a record were found after the kill, not 1"
            )
        one = self.seen.cut = cut[0]
        self._tell(
            "cut",
            f"Order database: {count(one.refunds, 'refund')} of {one.amount} euros on {one.order},"
            f" body entered {count(one.entered, 'time')}.",
            **_facts(one),
        )
        run, call = self._timeline.calls[one.key]
        self._tell(
            "unrecorded",
            f"Journal of {self._timeline.runs[run].id}: the call is recorded, its result is not.",
            run=run,
            call=call.id,
        )

    async def _second_worker(self) -> None:
        timeline, cut = self._timeline, self.seen.cut
        assert cut is not None
        self._chapter("Worker B takes over")
        async with self._worker("B") as second:
            lasts = TERMS.lasts.total_seconds()
            self._tell(
                "worker",
                f"Process {second.pid} may take A's runs once A's lease of {lasts:g} s has ended.",
                worker="B",
                pid=second.pid,
            )
            await self._until_done(second, lambda: cut.key in timeline.results)
            self._tell_repeated(cut.key)
            await self._until_done(second, lambda: timeline.resting)
            while not timeline.over:
                await self._decide()
                await self._until_done(second, lambda: timeline.resting)
            timeline.worker = "-"

    def _tell_repeated(self, key: str) -> None:
        found = next(one for one in self._stage.orders.counts() if one.key == key)
        once = found.refunds == 1
        self._tell(
            "repeated",
            f"The body of refund was entered {count(found.entered, 'time')} with one key, and the"
            f" order database holds {count(found.refunds, 'refund')} for it.",
            tone="good" if once else "bad",
            **_facts(found),
        )

    async def _decide(self) -> None:
        """Approve what waits, as a person would."""
        self._chapter(f"A refund over {ASK_ABOVE} waits for a person")
        for run, pending in list(self._timeline.waiting.items()):
            self._timeline.decided(run)
            for one in pending:
                line = invocation.line(
                    *("runs", "approve", run, one.id, "--by", str(STAFF.user), "--role", "staff"),
                    store=self._stage.store,
                )
                self._tell(
                    "waits",
                    f"{self._timeline.runs[run].id}  {one_line(one.tool)}"
                    f"({arguments(one.arguments)}): no process holds the run.",
                    tone="waiting",
                    run=run,
                    call=one.id,
                    arguments=one.arguments,
                )
                self._tell("by_hand", f"By hand: {line}", tone="dim", line=line)
            await self._app.decide(run, approve=[one.id for one in pending], by=STAFF)
            self.seen.approved += [one.id for one in pending]
            self._tell(
                "decided",
                f"Approved by {STAFF.user}.",
                tone="good",
                run=run,
                approved=[one.id for one in pending],
                by=STAFF.user,
            )

    async def _result(self, key: str) -> ToolMessage | None:
        """The recorded result of a call, read from the journal itself."""
        run, call = self._timeline.calls[key]
        messages = (await self._app.get(run)).messages
        results = [one for one in messages if isinstance(one, ToolMessage)]
        return next((one for one in results if one.call_id == call.id), None)

    async def _until_done(self, second: WorkerProcess, done: Callable[[], bool]) -> None:
        await self._timeline.until(done, lambda: second.gone)
        if not done():
            raise GoneWrong(self._why_gone(second))

    def _worker(
        self, name: str, *, die_after_refund: bool = False
    ) -> AbstractAsyncContextManager[WorkerProcess]:
        self._timeline.worker = name
        return worker(
            name,
            self._stage,
            self._tasks,
            self._timeline.ring,
            die_after_refund=die_after_refund,
        )

    def _why_gone(self, gone: WorkerProcess) -> str:
        log = self._stage.log(gone.name)
        last = log.read_text("utf-8", "replace").strip().rpartition("\n")[2]
        why = f": {one_line(last, 200)}" if last else ""
        return f"worker {gone.name} ended with status {gone.code}{why}; its log is {log}"

    def _chapter(self, title: str) -> None:
        self._screen.chapter(title)

    def _tell(self, step: str, text: str, tone: Tone = "plain", **facts: Any) -> None:
        self._screen.tell(Beat(step, text, tone, facts))


def _facts(one: Count) -> dict[str, Any]:
    return {
        "key": one.key,
        "order": one.order,
        "amount": str(one.amount),
        "refunds": one.refunds,
        "entered": one.entered,
    }


def _first(group: BaseExceptionGroup[Exception]) -> Exception:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
