"""What readers ask of the store: where they go on, and what a thread said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from remit.agent.projection import Projector
from remit.agent.state import conversation, derive
from remit.flow.view import FlowProjector, is_flow, waiting
from remit.kernel.facts import AnyFact, decode
from remit.store.protocol import Store
from remit.values.errors import ConfigError
from remit.values.events import FactEvent
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


def position(after: int | str) -> tuple[int, int]:
    """Where a reader goes on: a whole number means that all of that entry was seen."""
    place = str(after) if isinstance(after, int | str) else ""
    if _PLACE.fullmatch(place) is None:
        raise ConfigError(f"after= takes a sequence number or an event's id, not {after!r}")
    seq, _, index = place.partition(".")
    return int(seq), int(index) if index else 1_000_000
