"""A store whose bodies go through a codec: what journals, answers and ledgers hold is encoded at
rest, and plain above."""

from __future__ import annotations

import base64
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from remit.store.money import Charge, LedgerQuery, LedgerSum, Meter, MeterState
from remit.store.payload import Payload, made_by
from remit.store.protocol import Heart, Store
from remit.store.records import (
    ENCODED,
    ENCODED_TEXT,
    Append,
    Appended,
    Busy,
    Claim,
    Created,
    Delivered,
    Entry,
    Existing,
    Fenced,
    Head,
    Held,
    NewRun,
    News,
    Over,
    Query,
    Refusal,
    RunRow,
    Sent,
    Signal,
    Signalled,
    Stopped,
    Undelivered,
)
from remit.values.errors import StoreError

_CODED = 1 << 16
"""Added to the formats of what is written here, so that no process without the codec claims it."""


class CodedStore:
    """Hands every call to `store`, with all bodies encoded by `payload` on their way in and
    decoded on their way out.

    Bodies from before the codec was set are read as they are. A process without the codec leaves
    alone the runs that were written with it. Where a body cannot be decoded a StoreError says
    the mend, and the run waits.
    """

    def __init__(self, store: Store, payload: Payload) -> None:
        self.inner = store
        self._payload = payload
        self._format = 0

    @property
    def transacts(self) -> Literal["sync", "async"] | None:
        """How the store behind it runs work in its transactions; None where it has none."""
        return getattr(self.inner, "transacts", None)

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def create(self, new: NewRun) -> Created | Existing | Busy:
        coded = replace(new, body=self._encode(new.body), format=new.format + _CODED)
        return await self.inner.create(coded)

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
        self._format = format
        return await self.inner.claim(
            worker, programs, format=format + _CODED, room=room, run=run, deploy=deploy
        )

    async def next_due(self, programs: Collection[str]) -> float | None:
        return await self.inner.next_due(programs)

    async def beat(self, worker: str, lasts: float, *, join: bool = False) -> Sequence[Held] | None:
        return await self.inner.beat(worker, lasts, join=join)

    def heart(self) -> Heart:
        return self.inner.heart()

    async def release(
        self,
        worker: str,
        run: str,
        token: int,
        *,
        abandoned: bool = False,
        refusal: Refusal | None = None,
    ) -> bool:
        if refusal is not None:
            # What a run was refused for may quote what it holds.
            coded = base64.b64encode(self._encode(refusal.reason.encode("utf-8", "surrogatepass")))
            refusal = replace(refusal, reason=ENCODED_TEXT + coded.decode())
        return await self.inner.release(worker, run, token, abandoned=abandoned, refusal=refusal)

    async def append(self, batch: Sequence[Append]) -> Sequence[Appended | Fenced | News]:
        return await self.inner.append([self._coded(item) for item in batch])

    async def transact(self, item: Append, work: Callable[[Any], Any]) -> Appended | Fenced | News:
        """As `Transacting.transact`, where the store behind it has that."""

        def encoded(bodies: Sequence[bytes]) -> tuple[bytes, ...]:
            return tuple([self._encode(body) for body in bodies])

        async def later(made: Awaitable[Sequence[bytes]]) -> tuple[bytes, ...]:
            return encoded(await made)

        def coded(tx: Any) -> Any:
            made = work(tx)
            return later(made) if inspect.isawaitable(made) else encoded(made)

        transact: Any = self.inner.transact  # type: ignore[attr-defined]  # `transacts` tells
        outcome: Appended | Fenced | News = await transact(self._coded(item), coded)
        return outcome

    async def read(self, run: str, after: int = 0) -> Sequence[Entry]:
        entries = await self.inner.read(run, after)
        return [self._entry(run, entry) for entry in entries]

    async def lineage(self, run: str) -> Sequence[Sequence[Entry]]:
        journals = await self.inner.lineage(run)
        return [[self._entry(f"before {run}", entry) for entry in one] for one in journals]

    async def get(self, run: str) -> RunRow | None:
        row = await self.inner.get(run)
        return None if row is None else self._row(row)

    async def heads(self, runs: Collection[str]) -> Mapping[str, Head]:
        return await self.inner.heads(runs)

    async def find(self, query: Query) -> Sequence[RunRow]:
        return [self._row(row) for row in await self.inner.find(query)]

    async def thread_head(self, thread: str) -> str | None:
        return await self.inner.thread_head(thread)

    async def deliver(
        self, run: str, answers: Mapping[str, bytes], id: str
    ) -> Delivered | Undelivered | None:
        coded = {key: self._encode(answer) for key, answer in answers.items()}
        outcome = await self.inner.deliver(run, coded, id)
        if not isinstance(outcome, Undelivered):
            return outcome
        answered = {
            key: self._decode(answer, f"the answer {key!r} of run {run}")
            for key, answer in outcome.answered.items()
        }
        return replace(outcome, answered=answered)

    async def send(self, run: str, body: bytes, id: str) -> Sent | Over:
        return await self.inner.send(run, self._encode(body), id)

    async def signals(self, run: str) -> Sequence[Signal]:
        return [self._signal(run, signal) for signal in await self.inner.signals(run)]

    async def cancel(
        self, run: str, body: bytes, format: int, signal: bytes
    ) -> Stopped | Signalled | Over:
        return await self.inner.cancel(
            run, self._encode(body), format + _CODED, self._encode(signal)
        )

    async def sweep(self, limit: int = 500) -> Sequence[str]:
        return await self.inner.sweep(limit)

    async def meters(self, meters: Sequence[Meter]) -> Sequence[MeterState]:
        return await self.inner.meters(meters)

    async def usage(self, query: LedgerQuery) -> Sequence[LedgerSum]:
        return await self.inner.usage(query)

    async def delete_before(self, when: int, limit: int = 500) -> int:
        return await self.inner.delete_before(when, limit)

    async def forget(self, user: str, tenant: str | None, limit: int = 500) -> int:
        return await self.inner.forget(user, tenant, limit)

    def wakeups(self) -> AsyncIterator[None]:
        return self.inner.wakeups()

    def _coded(self, item: Append) -> Append:
        coded: dict[str, Any] = {
            "entries": tuple([self._encode(body) for body in item.entries]),
            "format": item.format + _CODED,
        }
        if item.settles or item.holds:
            coded["settles"] = tuple(
                [replace(one, charge=self._charge(one.charge)) for one in item.settles]
            )
            coded["holds"] = tuple(
                [replace(one, charge=self._charge(one.charge)) for one in item.holds]
            )
        return replace(item, **coded)

    def _row(self, row: RunRow) -> RunRow:
        if row.refused is None or not row.refused.startswith(ENCODED_TEXT):
            return row
        coded = base64.b64decode(row.refused.removeprefix(ENCODED_TEXT))
        reason = self._decode(coded, f"why run {row.id} was refused")
        return replace(row, refused=reason.decode("utf-8", "surrogatepass"))

    def _charge(self, charge: Charge | None) -> Charge | None:
        return None if charge is None else replace(charge, body=self._encode(charge.body))

    def _entry(self, run: str, entry: Entry) -> Entry:
        if entry.format < _CODED:
            if entry.format > self._format > 0:
                raise StoreError(
                    reason=f"entry {entry.seq} of run {run} was written by a newer remit, without"
                    " this codec: let processes of that version drive it."
                )
            return entry
        body = self._decode(entry.body, f"entry {entry.seq} of run {run}")
        return replace(entry, body=body, format=entry.format - _CODED)

    def _signal(self, run: str, signal: Signal) -> Signal:
        if signal.answer is None:
            return signal
        answer = self._decode(signal.answer, f"the signal {signal.key!r} of run {run}")
        return replace(signal, answer=answer)

    def _encode(self, body: bytes) -> bytes:
        return ENCODED + self._payload.encode(ENCODED + body)

    def _decode(self, stored: bytes, what: str) -> bytes:
        if not stored.startswith(ENCODED):
            return stored
        inner = stored[len(ENCODED) :]
        try:
            body = self._payload.decode(inner)
        except Exception as error:
            raise StoreError(
                reason=f"{what} cannot be decoded, and nothing of it is lost: {error}."
            ) from error
        if not body.startswith(ENCODED):
            raise StoreError(
                reason=f"{what} is not decoded by the payload codec that is set, and nothing of it"
                f" is lost: set {made_by(body)}, in a Chain beside others."
            )
        return body[len(ENCODED) :]
