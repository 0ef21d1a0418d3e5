"""What readers ask of the store: where they go on, and what a thread said."""

from __future__ import annotations

import re

from remit.agent.state import conversation
from remit.kernel.facts import decode
from remit.store.protocol import Store
from remit.values.errors import ConfigError
from remit.values.messages import Message

_PLACE = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")


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
