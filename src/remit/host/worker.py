"""A process's worker: it claims queued runs, drives them side by side and keeps their lease."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from remit.host.executor import GIVING_BACK, Executor
from remit.host.place import Place
from remit.host.pulse import Pulse
from remit.host.readers import Watcher
from remit.kernel.lease import Lease, Leaving
from remit.kernel.tasks import spawn
from remit.store.protocol import Heart
from remit.store.records import Held
from remit.values import codec, ids
from remit.values.clock import SystemClock
from remit.values.errors import StoreError

_log = logging.getLogger("remit.host")
_LOOK_EVERY = 15.0
_TELLS = 3
_SWEPT = 500


class Worker:
    """Drives up to `room` runs of its place's programs at once.

    Every task that it starts is a child of the group given to `start`; `stop` ends them, gives
    the runs back and returns when no work of this worker goes on.
    """

    def __init__(self, place: Place, room: int) -> None:
        self._place = place
        self._store, self._clock, self._terms = place.store, place.clock, place.terms
        self._room = room
        self._watcher = Watcher(place.store, place.bus)
        self._mine = ids.new("worker"), Lease(place.clock, 0.0)
        self._active: dict[str, Executor] = {}
        self._strangers: set[tuple[str, int]] = set()
        self._bell = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._joined = self._draining = self._claiming = self._expecting = False
        self._pulse: Pulse | None = None
        self._drives: set[asyncio.Task[None]] = set()
        self._alarm = math.inf
        self._errands: set[asyncio.Task[None]] = set()
        self._fatal: set[tuple[str, int]] = set()

    @property
    def _id(self) -> str:
        return self._mine[0]

    @property
    def _lease(self) -> Lease:
        return self._mine[1]

    async def start(self, tasks: asyncio.TaskGroup, *, work: bool) -> None:
        """Join the store and begin; with `work` off only watch for readers."""
        self._tasks = tasks
        chapters = [self._listen, self._look_forever]
        if work:
            await self._join()
            await self.recover()
            chapters += [self._claim_forever, self._beat_forever, self._sweep_forever]
            if type(self._clock) is SystemClock:
                self._pulse = Pulse(
                    self._store.heart(), self._terms, self._beat_from_thread, self._place.longest
                )
        self._loops = [tasks.create_task(chapter()) for chapter in chapters]

    async def drain(self, within: float) -> bool:
        """Claim nothing more, let what is under way finish, and give the runs back; whether that
        was done `within` so many seconds. Steps that take longer are cut by `stop`."""
        self._draining = True
        for executor in self._active.values():
            executor.drain()
        if not self._drives:
            return True
        _, late = await asyncio.wait(self._drives, timeout=within)
        return not late

    async def stop(self) -> None:
        """Claim nothing more, stop what runs and give it back."""
        if self._pulse is not None:
            await self._pulse.stop()
        self._draining = True
        ends = [*self._loops, *self._errands]
        for end in ends:
            end.cancel()
        if ends:
            await asyncio.wait(ends)
        for _ in range(_TELLS):
            for executor in self._active.values():
                executor.leave()
            if self._drives:
                await asyncio.wait(self._drives, timeout=self._terms.grace.total_seconds() + 2)
        if self._drives:
            _log.error("%d runs would not stop; their lease will end", len(self._drives))
        if self._joined:
            await self._give_back_the_rest()

    async def _give_back_the_rest(self) -> None:
        """A claim that was under way when its loop was cancelled is known to the store alone.
        A run whose code ended this process is not given back: that counts as a death of it, so
        that it cannot do so for ever."""
        try:
            async with asyncio.timeout(GIVING_BACK):
                for held in await self._store.beat(self._id, 1.0) or ():
                    if (held.run, held.token) not in self._fatal:
                        await self._store.release(self._id, held.run, held.token)
        except TimeoutError:
            _log.warning("what this worker still holds could not be given back in time")
        except StoreError as error:
            _log.warning("what this worker still holds could not be given back: %s", error)

    async def recover(self) -> int:
        """Queue the runs whose process is gone; how many there were."""
        count = 0
        while found := await self._store.sweep(_SWEPT):
            self.ring()
            count += len(found)
            if len(found) < _SWEPT:
                break
        return count

    def ring(self) -> None:
        """There may be something to claim."""
        self._bell.set()

    def notice(self, run: str) -> None:
        """A signal was left for `run`: tell its executor, if it is here."""
        executor = self._active.get(run)
        if executor is not None:
            executor.look_for_news()

    async def _claim_forever(self) -> None:
        self.ring()
        while True:
            await self._bell.wait()
            self._bell.clear()
            try:
                while await self._claim():
                    pass
            except StoreError as error:
                _log.warning("claiming failed: %s", error)
                await self._clock.sleep(1.0)
                self.ring()

    async def _claim(self) -> bool:
        """Claim what there is room for; whether there may be more."""
        room = min(self._room - len(self._active), 32)
        if room <= 0 or self._draining or not self._place.programs:
            return False
        lease, worker = self._lease, self._id
        self._claiming = True
        try:
            claims = await self._store.claim(
                worker,
                self._place.programs,
                format=codec.FORMAT,
                room=room,
                deploy=self._place.deploy,
            )
        finally:
            self._claiming = False
        for claim in claims:
            executor = Executor(self._place, claim, worker, lease, self._tasks)
            executor.on_due, executor.is_ending = self._expect_in, self._is_ending
            if self._draining:
                executor.drain()
            self._active[claim.run] = executor
            drive = spawn(self._tasks, executor.execute())
            self._drives.add(drive)
            drive.add_done_callback(partial(self._driven, executor))
        return len(claims) == room

    def _is_ending(self) -> bool:
        """Whether the tasks of this worker are being cancelled, its drives among them."""
        return any(chapter.cancelling() for chapter in self._loops)

    def expect(self) -> None:
        """A run was stored that is not due yet: ask the store, by whose time it will be, when
        the next one is. The sweep finds those that nobody here knows of."""
        if not self._expecting and self._joined:
            self._expecting = True
            self._beside(self._expect_next())

    def _expect_in(self, seconds: float) -> None:
        """Ring when a run is due, in so many seconds."""
        at = self._clock.steady() + seconds
        if at < self._alarm and seconds < self._terms.sweep_every.total_seconds():
            self._alarm = at
            self._beside(self._ring_at(at))

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Have `work` done beside everything else, until this worker stops."""
        with suppress(Leaving):
            task = spawn(self._tasks, work)
            self._errands.add(task)
            task.add_done_callback(self._errands.discard)

    async def _ring_at(self, at: float) -> None:
        await self._clock.sleep(max(at - self._clock.steady(), 0.0))
        if self._alarm == at and not self._draining:
            self._alarm = math.inf
            self.ring()
            await self._expect_next()

    async def _expect_next(self) -> None:
        # What is stored from here on may be missed by the look, and asks for another.
        self._expecting = False
        try:
            rest = await self._store.next_due(self._place.programs)
        except StoreError as error:
            _log.warning("the next due run could not be looked up: %s", error)
            return
        if rest is not None:
            self._expect_in(rest)

    def _driven(self, executor: Executor, drive: asyncio.Task[None]) -> None:
        self._drives.discard(drive)
        if not drive.cancelled() and drive.exception() is not None:
            self._fatal.add((executor.claim.run, executor.claim.token))
        if self._active.get(executor.claim.run) is executor:
            del self._active[executor.claim.run]
        self.ring()

    async def _listen(self) -> None:
        while True:
            try:
                wakeups = self._store.wakeups()
                self.ring()
                await self._watcher.look()
                async for _ in wakeups:
                    self.ring()
                    await self._watcher.look(self._active)
                return
            except StoreError as error:
                _log.warning("listening failed: %s", error)
                await self._clock.sleep(1.0)

    async def _look_forever(self) -> None:
        """A wakeup may be lost: what is read here is compared with the store now and then."""
        while True:
            await self._clock.sleep(_LOOK_EVERY)
            try:
                await self._watcher.look()
            except StoreError as error:
                _log.warning("looking for news failed: %s", error)

    async def _sweep_forever(self) -> None:
        while True:
            await self._clock.sleep(self._terms.sweep_every.total_seconds())
            await self._sweep()

    async def _sweep(self) -> None:
        try:
            await self.recover()
            self.ring()
            await self._expect_next()
        except StoreError as error:
            _log.warning("sweeping failed: %s", error)

    async def _beat_forever(self) -> None:
        while True:
            await self._clock.sleep(self._until_beat())
            if self._pulse is not None:
                self._pulse.felt()
            rest = self._lease.deadline - self._clock.steady()
            try:
                async with asyncio.timeout(max(rest, 0)):
                    await self._beat()
            except StoreError as error:
                _log.warning("the lease could not be renewed: %s", error)
            except TimeoutError:
                _log.warning("the lease ended before it could be renewed")
            if self._clock.steady() >= self._lease.deadline:
                await self._start_anew()

    def _until_beat(self) -> float:
        """After a renewal that took long, sooner than usual: slept through, the end of the lease
        would be noticed when another process may have begun."""
        every = self._terms.renew_every.total_seconds()
        rest = self._lease.deadline - self._clock.steady()
        return every if rest <= 0 else min(every, rest / 2)

    async def _beat(self) -> None:
        asked, known = self._clock.steady(), list(self._active.values())
        held = await self._store.beat(self._id, self._terms.lasts.total_seconds())
        if held is None:
            _log.warning("the lease of worker %s has lapsed", self._id)
            self._lease.lose()
            return
        self._lease.renew(asked + self._terms.lasts.total_seconds())
        await self._compare(held, known)

    def _beat_from_thread(self, heart: Heart) -> None:
        """Renew the lease while the loop is stuck."""
        (worker, lease), asked = self._mine, self._clock.steady()
        lasts = self._terms.lasts.total_seconds()
        if heart.beat(worker, lasts):
            lease.renew(asked + lasts)

    async def _compare(self, held: Sequence[Held], known: Sequence[Executor]) -> None:
        """Tell executors of their inboxes; drop those `known` before whose run is not held, and
        give back what nobody here drives. A stranger is given back the second time it is seen,
        since it may just have ended, and not while a claim is on its way here that may bring it.
        """
        mine = {(run.run, run.token) for run in held}
        for one in known:
            if (one.claim.run, one.claim.token) not in mine:
                one.lose()
        strangers = set()
        for run in held:
            executor = self._active.get(run.run)
            if executor is not None and executor.claim.token == run.token:
                executor.notice(run.inbox)
            elif (run.run, run.token) not in self._fatal:
                strangers.add((run.run, run.token))
        if self._claiming:
            strangers = set()
        for run_id, token in sorted(strangers & self._strangers):
            await self._store.release(self._id, run_id, token)
        self._strangers = strangers

    async def _start_anew(self) -> None:
        """Drop everything, and go on as a new worker."""
        self._lease.lose()
        for executor in self._active.values():
            executor.lose()
        self._mine = ids.new("worker"), Lease(self._clock, 0.0)
        try:
            async with asyncio.timeout(self._terms.lasts.total_seconds()):
                await self._join()
        except (StoreError, TimeoutError) as error:
            _log.warning("the store could not be joined: %r", error)
            return
        # Beside the heartbeat: a sweep that takes long must not cost the lease again.
        self._beside(self._sweep())

    async def _join(self) -> None:
        asked = self._clock.steady()
        lasts = self._terms.lasts.total_seconds()
        if await self._store.beat(self._id, lasts, join=True) is None:
            raise StoreError(reason=f"worker {self._id} could not join the store")
        self._lease.renew(asked + lasts)
        self._joined = True
