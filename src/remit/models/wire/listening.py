"""Waiting for an answer's next events, as long as one may."""

from __future__ import annotations

import asyncio
from typing import Protocol

from remit.models.request import Chunk
from remit.models.wire.events import Unreadable
from remit.models.wire.exchange import Exchange
from remit.values.errors import ConnectionFailedError, ProviderError

AFTER_FINISH_SECONDS = 10.0
"""How long an answer that is whole is waited for to be told to its end."""


class Reader(Protocol):
    """What an adapter makes of the events of one answer."""

    moved: int
    """How many events brought something."""
    finish: str | None
    """Why the model stopped, in the server's word; None until it says so."""

    @property
    def ended(self) -> bool:
        """Whether nothing that comes now belongs to the answer."""
        ...

    def take(self, event: object) -> list[Chunk]:
        """What the next event brings."""
        ...

    def refuse(self, reported: object) -> None:
        """The request was refused; this is what the server reported."""
        ...


async def listen(source: Exchange, reader: Reader, seconds: float) -> tuple[list[Chunk], bool]:
    """Wait until the answer moves on; what came, and whether that was the last of it.

    A server that has said why the model stopped may be silent or gone: the answer is whole. Raises
    ProviderError for what is no event, ConnectionFailedError for a cut and for `seconds` without
    anything.
    """
    if source.refusal is not None:
        reader.refuse(source.refusal.body or {"message": "it gave no reason"})
        return [], True
    before, taken = reader.moved, list[Chunk]()
    finished = reader.finish is not None
    silence = min(seconds, AFTER_FINISH_SECONDS) if finished else seconds
    try:
        async with asyncio.timeout(silence):
            while reader.moved == before and not reader.ended:
                event = await source.next()
                if event is None:
                    return taken, True
                taken += reader.take(event)
    except Unreadable as error:
        words = f"the answer holds {error}"
        broken: Exception = ProviderError(status=200, message=words, may_cost=True)
    except TimeoutError:
        broken = ConnectionFailedError(reason=f"nothing came for {silence:g} seconds")
    except ConnectionFailedError as error:
        broken = error
    else:
        return taken, reader.ended
    if finished:
        return taken, True
    raise broken
