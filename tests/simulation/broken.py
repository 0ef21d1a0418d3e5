"""Stores, journals and hosts with one rule taken out of each; the simulation must find them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import msgspec

from remit.host.worker import Worker
from remit.kernel.journal import StoredJournal
from remit.kernel.lease import Lease
from remit.kernel.run import ActiveRun
from remit.store.memory import MemoryStore
from remit.store.records import Append, Appended, Fenced, News, Signalled, Stopped
from tests.simulation.loop import MachineClock

MakeStore = Callable[[MachineClock], Any]


class NoToken(MemoryStore):
    """Compares no token: whoever knows the sequence number writes."""

    def _append(self, item: Append) -> Appended | Fenced | News:
        run = self._runs.by_id[item.run]
        return super()._append(msgspec.structs.replace(item, token=run.token))


class NoSequence(MemoryStore):
    """Compares no sequence number: a repeated append is a second one."""

    def _append(self, item: Append) -> Appended | Fenced | News:
        run = self._runs.by_id[item.run]
        return super()._append(msgspec.structs.replace(item, seq=len(run.entries)))


class Deaf(MemoryStore):
    """Lets a run pause and end although news came that its holder has not looked at."""

    def _append(self, item: Append) -> Appended | Fenced | News:
        run = self._runs.by_id[item.run]
        return super()._append(msgspec.structs.replace(item, seen=run.inbox))


class TwoSteps(MemoryStore):
    """Looks whether a thread is free, and takes it a moment later."""

    suspends = True

    async def create(self, new: Any, *args: Any, **options: Any) -> Any:
        thread = self._runs.threads.get(new.thread)
        if thread is not None and thread.live is None:
            await asyncio.sleep(2.0)
            thread.live = None
        return await super().create(new, *args, **options)


class SameToken(MemoryStore):
    """Sweeps without raising the token."""

    async def sweep(self, *args: Any, **options: Any) -> Sequence[str]:
        swept = await super().sweep(*args, **options)
        for run in swept:
            self._runs.by_id[run].token -= 1
        return swept


class Eager(MemoryStore):
    """Sweeps runs whose holder is alive."""

    async def sweep(self, *args: Any, **options: Any) -> Sequence[str]:
        for worker in self._workers:
            if self._runs.held.get(worker):
                self._workers[worker] -= 6.0
        return await super().sweep(*args, **options)


class LastWins(MemoryStore):
    """Takes a second decision on a call in place of the first."""

    async def deliver(self, run: str, answers: Any, id: str, *args: Any, **options: Any) -> Any:
        found = self._runs.by_id[run]
        again = {
            key: signal
            for key, signal in found.signals.items()
            if key in answers and signal.answer is not None and signal.id != id
        }
        if found.status == "paused":
            for key, signal in again.items():
                found.signals[key] = msgspec.structs.replace(signal, answer=None)
                found.needs += 1
        return await super().deliver(run, answers, id, *args, **options)


class Stranding(MemoryStore):
    """Answers the last question, and leaves the run where it is."""

    async def deliver(self, run: str, answers: Any, id: str, *args: Any, **options: Any) -> Any:
        found = self._runs.by_id[run]
        if found.status == "paused" and found.needs == len(answers) > 1:
            with patch.object(self._runs, "queue", lambda run: None):
                return await super().deliver(run, answers, id, *args, **options)
        return await super().deliver(run, answers, id, *args, **options)


class NoSignal(MemoryStore):
    """Accepts the cancel of a running run, and keeps no signal of it."""

    async def cancel(self, run: str, *args: Any, **options: Any) -> Any:
        found = self._runs.by_id.get(run)
        if found is not None and found.status == "running":
            return Signalled()
        return await super().cancel(run, *args, **options)


class NeverFree(MemoryStore):
    """Keeps a thread taken when its run was cancelled."""

    async def cancel(self, run: str, *args: Any, **options: Any) -> Any:
        outcome = await super().cancel(run, *args, **options)
        found = self._runs.by_id.get(run)
        if isinstance(outcome, Stopped) and found is not None and found.thread is not None:
            self._runs.threads[found.thread].live = run
        return outcome


async def _blindly(self: Any, item: Append) -> Any:
    """An append whose outcome is unknown is made again behind whatever is there."""
    row = await self._store.get(item.run)
    return (await self._store.append([msgspec.structs.replace(item, seq=row.seq)]))[0]


async def _as_if_stored(self: Any, item: Append) -> Any:
    """An append whose outcome is unknown is taken for stored."""
    return Appended(item.seq + len(item.entries), self.inbox)


async def _in_haste(self: Any, held: Collection[Any], *known: Any) -> None:
    """A run that nobody here drives is given back the first time that it is seen."""
    for run in held:
        executor = self._active.get(run.run)
        if executor is None or executor.claim.token != run.token:
            await self._store.release(self._id, run.run, run.token)
        else:
            executor.notice(run.inbox)


async def _nobodys(self: Any, held: Collection[Any], *known: Any) -> None:
    """A run that nobody here drives is kept."""
    for run in held:
        executor = self._active.get(run.run)
        if executor is not None and executor.claim.token == run.token:
            executor.notice(run.inbox)


async def _at_once(self: Any, seconds: float) -> None:
    """A call that a dead process may be running is made again without waiting."""
    self.check()


RULES: dict[str, tuple[type, str, Any]] = {
    "the journal repeats an append blindly": (StoredJournal, "_append_again", _blindly),
    "the journal takes a failure for success": (StoredJournal, "_append_again", _as_if_stored),
    "the lease has no end of its own": (Lease, "check", lambda self: None),
    "the worker gives strangers back in haste": (Worker, "_compare", _in_haste),
    "the worker keeps strangers": (Worker, "_compare", _nobodys),
    "a call is made again at once": (ActiveRun, "outwait", _at_once),
}
STORES: list[type[MemoryStore]] = [
    NoToken,
    NoSequence,
    Deaf,
    TwoSteps,
    SameToken,
    Eager,
    LastWins,
    Stranding,
    NoSignal,
    NeverFree,
]


@contextmanager
def without(rule: str) -> Iterator[None]:
    """A host and a kernel without this rule."""
    owner, name, instead = RULES[rule]
    with patch.object(owner, name, instead):
        yield
