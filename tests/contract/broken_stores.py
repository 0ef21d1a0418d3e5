"""Stores that are broken in one way each: what the contract must refuse."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Collection, Mapping, Sequence

import msgspec

from remit.store.memory import MemoryStore
from remit.store.memory.purse import Purse, Ring
from remit.store.memory.runs import Runs
from remit.store.memory.state import StoredRun, Thread
from remit.store.money import Denied, Granted, Hold, Meter, MeterState, Settlement
from remit.store.records import (
    Append,
    Appended,
    Base,
    Busy,
    Claim,
    Created,
    Delivered,
    Existing,
    Fenced,
    NewRun,
    News,
    Signal,
    Undelivered,
)
from remit.testing.store_contract.money.purse import MINUTE
from remit.values.clock import Clock
from remit.values.results import ENDED

Outcome = Appended | Fenced | News


async def others_go_on() -> None:
    """The gap between the two steps of what should be one."""
    await asyncio.sleep(0)


class NoToken(MemoryStore):
    """Compares no token: a holder that lost its lease goes on writing."""

    def _append(self, item: Append) -> Outcome:
        run = self._runs.by_id.get(item.run)
        return super()._append(msgspec.structs.replace(item, token=run.token if run else 0))


class NoSequence(MemoryStore):
    """Compares no sequence number: two writers of one token overtake each other."""

    def _append(self, item: Append) -> Outcome:
        run = self._runs.by_id.get(item.run)
        return super()._append(msgspec.structs.replace(item, seq=len(run.entries) if run else 0))


class DecideInTwoSteps(MemoryStore):
    """Looks whether the keys are unanswered, and then answers them."""

    async def deliver(
        self, run: str, answers: Mapping[str, bytes], id: str
    ) -> Delivered | Undelivered | None:
        found = self._runs.by_id.get(run)
        if found is None or found.status in ENDED or not unanswered(found, answers, id):
            return await super().deliver(run, answers, id)
        await others_go_on()
        for key, answer in answers.items():
            found.take(Signal(key, answer, id, self._runs.wall()))
        found.count_needs()
        if not found.needs and found.status == "paused":
            self._runs.queue(found)
        return Delivered(found.needs)


class CountingDeliver(MemoryStore):
    """Queues a run if it saw no other key unanswered: two answers at once each see the other."""

    async def deliver(
        self, run: str, answers: Mapping[str, bytes], id: str
    ) -> Delivered | Undelivered | None:
        found = self._runs.by_id.get(run)
        if found is None or found.status in ENDED or not unanswered(found, answers, id):
            return await super().deliver(run, answers, id)
        left = found.needs - len(answers)
        await others_go_on()
        if not unanswered(found, answers, id):
            return await super().deliver(run, answers, id)
        for key, answer in answers.items():
            found.take(Signal(key, answer, id, self._runs.wall()))
        found.count_needs()
        if not left and found.status == "paused":
            self._runs.queue(found)
        return Delivered(left)


def unanswered(run: StoredRun, answers: Mapping[str, bytes], id: str) -> bool:
    """Whether a delivery would be stored."""
    asked = [run.signals.get(key, Signal(key, b"")) for key in answers]
    return all(signal.answer is None for signal in asked) and all(
        signal.id != id for signal in run.signals.values()
    )


class ThreadInTwoSteps(MemoryStore):
    """Looks whether a thread is free, and then makes its live run."""

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        if new.thread is not None and new.key is None and new.id not in self._runs.by_id:
            thread = self._runs.threads.setdefault(new.thread, Thread())
            if thread.live is None:
                await others_go_on()
                thread.live = None
        return await super().create(new)


class SumInTheWhere(MemoryStore):
    """Compares a ceiling with a sum that it read before others wrote."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(clock)
        self._purse = self._stale = StalePurse()
        self._runs = Runs(self._clock, self._purse)

    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        meters = [
            ceiling.meter for item in batch for hold in item.holds for ceiling in hold.ceilings
        ]
        sums = {
            meter.key: state for meter, state in zip(meters, await self.meters(meters), strict=True)
        }
        if sums:
            await others_go_on()
        self._stale.sums = sums
        return await super().append(batch)


class StalePurse(Purse):
    """Believes `sums`, whatever has happened since."""

    sums: Mapping[str, MeterState] = {}

    def hold(self, run: StoredRun, hold: Hold, now: int) -> Granted | Denied:
        for ceiling in hold.ceilings:
            seen = self.sums[ceiling.meter.key]
            if seen.spent + seen.held + hold.nano > ceiling.limit:
                return Denied(ceiling.meter.key, ceiling.limit, seen.spent, seen.held)
        free = tuple(msgspec.structs.replace(one, limit=2**62) for one in hold.ceilings)
        return super().hold(run, msgspec.structs.replace(hold, ceilings=free), now)


class DeafPause(MemoryStore):
    """Pauses although signals came that the holder has not looked at."""

    def _append(self, item: Append) -> Outcome:
        run = self._runs.by_id.get(item.run)
        if run is not None and item.status == "paused":
            item = msgspec.structs.replace(item, seen=run.inbox)
        return super()._append(item)


class MoneyFirst(MemoryStore):
    """Refuses an entry whose money is denied."""

    def _append(self, item: Append) -> Outcome:
        now = self._runs.wall()
        for hold in item.holds:
            for ceiling in hold.ceilings:
                state = self._purse.state(ceiling.meter, now)
                if state.spent + state.held + hold.nano > ceiling.limit:
                    return Fenced()
        return super()._append(item)


class HarmfulBatch(MemoryStore):
    """Gives up a batch at its first item that is refused."""

    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        outcomes: list[Outcome] = []
        for item in batch:
            refused = any(not isinstance(one, Appended) for one in outcomes)
            outcomes.append(Fenced() if refused else self._append(item))
        self._bells.ring()
        return outcomes


class ClaimInTwoSteps(MemoryStore):
    """Looks who is due, and then claims them."""

    async def claim(
        self,
        worker: str,
        programs: Collection[str],
        *,
        format: int,
        room: int = 1,
        run: str | None = None,
        deploy: str = "",
    ) -> Sequence[Claim]:
        one = self._runs.by_id.get(run or "")
        due = one.due if one is not None else None
        await others_go_on()
        if one is not None and due is not None and one.due is None and one.worker is not None:
            self._runs.let_go(one, "queued")
        return await super().claim(
            worker, programs, format=format, room=room, run=run, deploy=deploy
        )


class KeyInTwoSteps(MemoryStore):
    """Looks whether a start key is free, and then makes the run."""

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        if new.key is not None and new.key.key not in self._keys:
            await others_go_on()
            if new.key.key in self._keys:
                new = msgspec.structs.replace(new, key=None)
        return await super().create(new)


class EnqueueInTwoSteps(MemoryStore):
    """Looks whether a thread is busy, and then lets the run wait for an end that is over."""

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        thread = self._runs.threads.get(new.thread or "")
        if thread is None or thread.live is None or not new.enqueue or new.key is not None:
            return await super().create(new)
        await others_go_on()
        if thread.live is not None:
            return await super().create(new)
        thread.live = "who has ended"
        outcome = await super().create(new)
        thread.live = None
        return outcome


class BaseAtTheStart(MemoryStore):
    """Pins the base of a run that waits when it is made, not when its turn comes."""

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        outcome = await super().create(new)
        thread = self._runs.threads.get(new.thread or "")
        waiting = thread.waiting.get(new.id) if thread is not None else None
        if thread is not None and thread.head is not None and waiting is not None:
            head = self._runs.by_id[thread.head]
            waiting.base = Base(head.id, len(head.entries))
        return outcome


class ForkOnAnyThread(MemoryStore):
    """Lets a fork wait its turn like any other run, on a thread that says something else."""

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        outcome = await super().create(msgspec.structs.replace(new, base=None))
        made = self._runs.by_id.get(new.id)
        if made is not None and new.base is not None:
            made.base = new.base
        return outcome


class PurseBroken(MemoryStore):
    """A store with a purse of its own."""

    purse: type[Purse] = Purse

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(clock)
        self._purse = self.purse()
        self._runs = Runs(self._clock, self._purse)


class LatePurse(Purse):
    def settle(self, run: StoredRun, settlement: Settlement, now: int) -> None:
        held = self._holds.get(run.id, {}).get(settlement.name)
        if held is not None:
            for key in held.keys:
                self._rings[key].add(held.at, -held.nano)
                self._rings[key].add(now, held.nano)
            self._holds[run.id][settlement.name] = dataclasses.replace(held, at=now)
        super().settle(run, settlement, now)


class SettledTooLate(PurseBroken):
    """Counts money from the instant of its settlement, not of its hold."""

    purse = LatePurse


class ForgetfulPurse(Purse):
    def _ring(self, meter: Meter, now: int) -> Ring:
        if meter.key not in self._rings:
            self._rings[meter.key] = Ring(meter)
        return self._rings[meter.key]


class UnseededMeters(PurseBroken):
    """Begins every meter at nothing, whatever was spent."""

    purse = ForgetfulPurse


class OpenPurse(Purse):
    def close(self, run: StoredRun) -> None:
        """Leave everything held."""


class OrphanHolds(PurseBroken):
    """Leaves money held for ever when its run ends."""

    purse = OpenPurse


class GenerousPurse(Purse):
    def _is_used(self, run: StoredRun, name: str) -> bool:
        return False


class NamesUsedTwice(PurseBroken):
    """Holds money again under a name that holds some, and forgets what it held."""

    purse = GenerousPurse


class RoundedPurse(Purse):
    def state(self, meter: Meter, now: int) -> MeterState:
        state = super().state(meter, now)
        return MeterState(int(float(state.spent)), int(float(state.held)))


class RoundedSums(PurseBroken):
    """Adds money up as floating point numbers."""

    purse = RoundedPurse


class CarelessDeletion(MemoryStore):
    """Deletes what ended, whatever builds on it."""

    async def delete_before(self, when: int, limit: int = 500) -> int:
        old = [
            run for run in self._runs.by_id.values() if run.ended is not None and run.ended < when
        ][:limit]
        for run in old:
            self._runs.delete(run)
        return len(old)


class EagerTimer(MemoryStore):
    """Takes a time for the minute that it lies in."""

    async def append(self, batch: Sequence[Append]) -> Sequence[Outcome]:
        return await super().append(
            [
                item
                if item.due is None
                else msgspec.structs.replace(item, due=item.due // MINUTE * MINUTE)
                for item in batch
            ]
        )


class TimelessClaim(MemoryStore):
    """Tells the time of the run's making, by which what was due has not come."""

    async def claim(
        self,
        worker: str,
        programs: Collection[str],
        *,
        format: int,
        room: int = 1,
        run: str | None = None,
        deploy: str = "",
    ) -> Sequence[Claim]:
        claims = await super().claim(
            worker, programs, format=format, room=room, run=run, deploy=deploy
        )
        made = self._runs.by_id
        return [msgspec.structs.replace(one, now=made[one.run].created) for one in claims]


class Deathless(MemoryStore):
    """Counts no death, so that a run that kills its workers is claimed for ever."""

    async def sweep(self, limit: int = 500) -> Sequence[str]:
        swept = await super().sweep(limit)
        for run in swept:
            self._runs.by_id[run].deaths = 0
        return swept
