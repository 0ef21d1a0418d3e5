"""What readers ask of the store: where they go on, and what a thread said."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing

from remit.agent.projection import Projector
from remit.agent.state import conversation, derive
from remit.app.house import House
from remit.flow.view import FlowProjector, is_flow, waiting
from remit.host.bus.memory import Passing
from remit.host.readers import facts_of, follow
from remit.kernel.facts import AnyFact, decode
from remit.store.protocol import Store
from remit.store.records import ENCODED_TEXT, RunRow
from remit.values.errors import ConfigError
from remit.values.events import Event, FactEvent
from remit.values.messages import Message
from remit.values.results import Pending

_PLACE = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")


class Projection:
    """Turns the facts of any run, in order, into events; its first fact tells whose it is."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._projector: Projector | FlowProjector | None = None

    def advance(self, seq: int, fact: AnyFact) -> list[FactEvent]:
        """The events of the next fact."""
        if self._projector is None:
            flow = is_flow([(seq, fact)])
            self._projector = FlowProjector(self._run) if flow else Projector(self._run)
        return self._projector.advance(seq, fact)


async def events(
    opened: Callable[[], House],
    check: Callable[[str], Awaitable[object]],
    run: str,
    after: int | str | None,
) -> AsyncIterator[Event]:
    """`App.events`, once the house is `opened` and `check` has found the run. Who leaves early is
    kept nothing for."""
    house = opened()
    await check(run)
    start, index = position(after)
    projector = Projection(run)
    async with aclosing(follow(house.store, house.bus, run)) as items:
        async for item in items:
            if isinstance(item, Passing):
                yield item.event
                continue
            for event in projector.advance(item.seq, item.fact):
                if (event.seq, event.index) > (start, index):
                    yield event  # type: ignore[misc]  # each FactEvent is an Event


async def known_at(store: Store, row: RunRow) -> tuple[list[tuple[int, AnyFact]], set[str]] | None:
    """A run's facts and the keys of its questions that are answered, as they stood when its row
    was read; None where the run has moved on so that this is not known, or is deleted."""
    # What was recorded after the row was read would say more than the row does.
    facts = [(seq, fact) for seq, fact in await facts_of(store, row.id) if seq <= row.seq]
    if row.status != "paused":
        return (facts, set()) if facts else None
    signals = await store.signals(row.id)
    now = await store.get(row.id)
    if now is None or (now.status, now.token) != (row.status, row.token):
        return None
    return facts, {signal.key for signal in signals if signal.answer is not None}


def blocked(row: RunRow, lacks: str | None, now: int) -> str | None:
    """What keeps a run from going on that would at `now`, in milliseconds: its last process
    could not drive it, or none here can, for what it `lacks`."""
    if row.status == "paused":
        waits = row.due is None or row.due > now * 1000
    else:
        waits = row.status != "queued"
    return None if waits else _refusal(row) or lacks


def pending_calls(run: str, facts: Sequence[tuple[int, AnyFact]]) -> Mapping[str, Pending]:
    """The calls that wait for a decision, by the keys of their questions."""
    if not is_flow(facts):
        return derive(run, facts).asks
    return {key: one for key, one in waiting(facts).items() if isinstance(one, Pending)}


async def journals(store: Store, run: str) -> list[list[AnyFact]]:
    """What is recorded of the runs that `run` builds on, oldest first."""
    return [[decode(entry.body) for entry in entries] for entries in await store.lineage(run)]


async def said(store: Store, thread: str) -> list[Message]:
    """Every message of a thread's ended runs, oldest first; `thread` is its whole key."""
    head = await store.thread_head(thread)
    if head is None:
        return []
    journals = [*await store.lineage(head), await store.read(head)]
    return [
        message
        for entries in journals
        for message in conversation("", [decode(entry.body) for entry in entries])
    ]


def _refusal(row: RunRow) -> str | None:
    """Why the last process that claimed the run could not drive it, as far as it can be read."""
    if row.refused is None or not row.refused.startswith(ENCODED_TEXT):
        return row.refused
    return (
        "the last process that claimed it could not drive it; why is encoded, and no codec is set:"
        " give the App its App(payload=…), and a command that App, --app MODULE:APP"
    )


def position(after: int | str | None) -> tuple[int, int]:
    """Where a reader goes on: a whole number means that all of that entry was seen, None that
    nothing was."""
    if after is None:
        return 0, 0
    place = str(after) if isinstance(after, int | str) else ""
    if _PLACE.fullmatch(place) is None:
        raise ConfigError(f"after= takes a sequence number or an event's id, not {after!r}")
    seq, _, index = place.partition(".")
    return int(seq), int(index) if index else 1_000_000
