"""One simulated life: machines over one store, what users ask of them, and what befalls them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import count
from random import Random
from typing import Any
from unittest.mock import patch

from remit import App, Caller, LeaseTerms, Run
from remit.errors import AlreadyDecidedError, NotPausedError, StoreError, ThreadBusyError
from remit.store.memory import MemoryStore
from remit.testing.crash import Crash
from remit.values import ids
from remit.values.results import ENDED
from tests.journeys.clerk import calls_of
from tests.simulation.history import History
from tests.simulation.laws import check
from tests.simulation.loop import Machine, MachineClock, SimLoop
from tests.simulation.outside import Outside, agent
from tests.simulation.remote import Remote, Server, Weather

TERMS = LeaseTerms(
    lasts=timedelta(seconds=8),
    renew_every=timedelta(seconds=2),
    sweep_every=timedelta(seconds=2),
    grace=timedelta(seconds=2),
)
STORMY, LONGEST = 60.0, 1_000.0
"""Until when faults come, and by when all must be done; in seconds."""
_STEPS = 200_000

MakeStore = Callable[[MachineClock], Any]


class Place:
    """A slot that has a machine in it, or waits for its next one."""

    def __init__(self, name: str, *, works: bool) -> None:
        self.name, self.works = name, works
        self.lives = 0
        self.machine: Machine | None = None
        self.app: App | None = None
        self.remote: Remote | None = None
        self.leaving: asyncio.Event | None = None


class Life:
    """Everything of one seed."""

    def __init__(self, seed: int, make: MakeStore = MemoryStore) -> None:
        self.random = random = Random(seed)
        self.loop = loop = SimLoop(random)
        self.history = History(loop.time)
        self.weather = Weather(random)
        self.server = Server(loop, make(MachineClock(loop)), self.history, self.weather)
        self.outside = Outside(loop, self.history, random)
        self.harm = random.choice([0.0, 0.3, 0.8])
        """How often a machine meets with something."""
        self.decides = random.random() < 0.85
        self.places = [
            Place(f"w{number}", works=True) for number in range(random.choice([1, 2, 3]))
        ]
        self.places += [Place("front", works=False)]
        self.machines: list[Machine] = []
        self.stormy = True
        self.numbers = count(1)

    def live(self) -> History:
        """Live it to its end, and check every law; what broke is in the history."""
        logging.disable(logging.CRITICAL)
        try:
            with numbered_ids():
                self._live()
                self._bury()
        except Exception as error:
            self.history.require(False, "a life goes on", repr(error))
        finally:
            logging.disable(logging.NOTSET)
        return self.history

    def _live(self) -> None:
        loop, history = self.loop, self.history
        for place in self.places:
            self._boot(place)
        for _ in range(self.random.choice([2, 6, 12])):
            loop.call_later(self.random.random() * STORMY, self._act)
        loop.call_later(STORMY, self._clear_up)
        over = loop.run(lambda: bool(history.broken) or self._over(), LONGEST, _STEPS)
        history.require(over, "all comes to rest", loop.time(), loop.steps)
        for error in loop.errors:
            history.require(isinstance(error, Crash), "no error is left lying", repr(error))
        check(history, self.outside, self.server, decided=self.decides)

    def _over(self) -> bool:
        if self.stormy:
            return False
        runs = self.history.runs.values()
        return all(self.history.rests(told, decided=self.decides) for told in runs)

    # Machines.

    def _boot(self, place: Place) -> None:
        place.lives += 1
        place.machine = machine = Machine(self.loop, f"{place.name}.{place.lives}")
        place.app, place.leaving = None, asyncio.Event()
        if self.stormy and self.random.random() < self.harm:
            self._plan_fault(place, machine)
        self.machines.append(machine)
        remote = place.remote = Remote(self.server, machine)
        machine.spawn(self._serve(place, remote, place.leaving))
        self.history.note(machine.name, "boots")

    async def _serve(self, place: Place, remote: Remote, leaving: asyncio.Event) -> None:
        machine, random = place.machine, self.random
        clock = MachineClock(self.loop, random.random() * 5)
        store: Any = remote
        try:
            async with App(
                [agent(self.outside)],
                store=store,
                clock=clock,
                lease=TERMS,
                work=place.works,
                deps=lambda user, tenant: self.outside,
                room=random.choice([1, 3, 100]),
            ) as app:
                place.app = app
                await leaving.wait()
                if random.random() < 0.5:
                    await app.drain(timedelta(seconds=10))
                place.app = None
        except (StoreError, ExceptionGroup) as error:
            self.history.note(place.name, f"cannot go on: {error!r}")
        if machine is place.machine:
            self.loop.call_later(1.0, self._boot, place, context=self.server.outside)

    def _plan_fault(self, place: Place, machine: Machine) -> None:
        random = self.random
        at = machine.steps + int(2 ** (random.random() * 11))
        fault = random.choice(
            [self._kill, self._kill, self._freeze, self._freeze, self._cut_off, self._leave]
        )
        machine.faults.append((at, partial(fault, place, machine)))

    def _kill(self, place: Place, machine: Machine) -> None:
        if not self.stormy:
            return
        self.history.note(machine.name, "is killed")
        machine.die()
        place.app = None
        delay = self.random.random() * 20
        self.loop.call_later(delay, self._boot, place, context=self.server.outside)

    def _freeze(self, place: Place, machine: Machine) -> None:
        if not self.stormy:
            return
        self.history.note(machine.name, "freezes")
        machine.freeze()
        delay = self.random.choice([1.0, 12.0, 30.0]) * self.random.random()
        self.loop.call_later(delay, self._thaw, place, machine, context=self.server.outside)

    def _thaw(self, place: Place, machine: Machine) -> None:
        self.history.note(machine.name, "thaws")
        machine.thaw()
        if self.stormy and self.random.random() < self.harm:
            self._plan_fault(place, machine)

    def _cut_off(self, place: Place, machine: Machine) -> None:
        """The machine is alive, and nothing of it reaches the store for a while."""
        self.history.note(machine.name, "is cut off")
        if place.remote is not None and place.machine is machine:
            place.remote.cut_off_until = self.loop.time() + self.random.random() * 25
        if self.random.random() < self.harm:
            self._plan_fault(place, machine)

    def _leave(self, place: Place, machine: Machine) -> None:
        self.history.note(machine.name, "leaves")
        if place.leaving is not None:
            place.leaving.set()

    def _clear_up(self) -> None:
        """Faults stop, and somebody decides from then on, if anybody does."""
        self.history.note("", "the storm is over")
        self.stormy = False
        self.weather.calm()
        for place in self.places:
            if place.machine is not None and place.remote is not None:
                place.machine.faults.clear()
                place.remote.cut_off_until = 0.0
        if self.decides:
            self.loop.call_later(5.0, self._decide_on)

    def _decide_on(self) -> None:
        self._ask(self.random.choice(self.places), partial(self._decide, 1.0))
        self.loop.call_later(5.0, self._decide_on)

    # Users.

    def _act(self) -> None:
        random = self.random
        place, act = random.choice(self.places), random.random()
        if act < 0.5:
            self._ask(place, partial(self._start, random.choice([None, "t1", "t1", "t2"])))
        elif act < 0.8:
            for chosen in random.choices(self.places, k=2):
                self._ask(chosen, partial(self._decide, 0.7))
        else:
            self._ask(place, self._cancel)

    def _ask(self, place: Place, ask: Callable[[App, str], Awaitable[None]]) -> None:
        machine, app = place.machine, place.app
        if machine is not None and app is not None and machine.state == "running":
            machine.spawn(self._asked(app, machine.name, ask))

    async def _asked(self, app: App, who: str, ask: Callable[[App, str], Awaitable[None]]) -> None:
        try:
            await ask(app, who)
        except StoreError as error:
            self.history.note(who, f"is told: {error}")

    async def _start(self, thread: str | None, app: App, who: str) -> None:
        message = f"message {next(self.numbers)}"
        busy: Any = self.random.choice(["reject", "enqueue", "enqueue", "cancel"])
        try:
            run = await app.start("sim", message, thread=thread, if_busy=busy)
        except ThreadBusyError:
            return
        self.history.note(who, f"started {run}")
        if self.random.random() < 0.2:
            await asyncio.sleep(self.random.random() * 3)
            await self._cancel_run(run, app, who)
        if self.random.random() < 0.3:
            found = await app.wait(run)
            settled = found.status in ENDED or found.status == "paused"
            self.history.require(settled, "who waits is told of an end or a pause", found.status)

    async def _decide(self, share: float, app: App, who: str) -> None:
        for listed in await app.runs(status="paused"):
            run = await app.get(listed.id)
            if run.pending and self.random.random() < share:
                await self._decide_run(run, app, who)

    async def _decide_run(self, run: Run, app: App, who: str) -> None:
        random, pending = self.random, [call.id for call in run.pending]
        if len(pending) > 1 and random.random() < 0.5:
            pending = pending[:1]
        verdict = random.random()
        try:
            if verdict < 0.6 or (
                verdict > 0.8 and any(call.doubt for call in calls_of(run.pending))
            ):
                await app.decide(run.id, approve=pending, by=Caller(user=who))
            elif verdict < 0.8:
                await app.decide(run.id, deny=dict.fromkeys(pending, "no"), by=Caller(user=who))
            else:
                edit = {call: {"number": random.randrange(1000, 2000)} for call in pending}
                await app.decide(run.id, edit=edit, by=Caller(user=who))
        except (AlreadyDecidedError, NotPausedError) as error:
            self.history.note(who, f"is told: {error}")
        else:
            self.history.won(run.id, pending, who)

    async def _cancel(self, app: App, who: str) -> None:
        found = await app.runs(limit=10)
        going = [run for run in found if run.status not in ENDED] or found
        if not going:
            return
        await self._cancel_run(self.random.choice(going).id, app, who)

    async def _cancel_run(self, run: str, app: App, who: str) -> None:
        status = await app.cancel(run, reason="enough", by=Caller(user=who))
        if status in ("running", "cancelled"):
            accepted = self.history.runs[run].cancelled
            self.history.require(accepted, "a cancel that is told was accepted", run)

    def _bury(self) -> None:
        """Let every machine's tasks end, without a word to the store."""
        for remote in self.server.remotes:
            remote.cut = True
        tasks = self.loop.tasks
        for _ in range(5):
            for machine in self.machines:
                machine.state = "running"
                machine.wake()
            for task in tasks:
                task.cancel()
            if self.loop.run(lambda: all(task.done() for task in tasks), 1e9, _STEPS):
                break
        for task in tasks:
            if task.done() and not task.cancelled():
                task.exception()


@contextmanager
def numbered_ids() -> Iterator[None]:
    """Ids that are the same in each life of a seed."""
    numbers = count(1)
    with patch.object(ids, "new", lambda kind: f"{kind}_{next(numbers):026d}"):
        yield
