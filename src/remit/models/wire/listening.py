"""Waiting for an answer's next events, as long as one may."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from remit.models.request import Chunk
from remit.models.wire.events import Unreadable
from remit.models.wire.exchange import Exchange, no_answer
from remit.values.errors import ConnectionFailedError, ProviderError

AFTER_FINISH_SECONDS = 10.0
"""How long an answer that is whole is waited for to be told to its end."""

_BYTES_A_TOKEN = 64
_BYTES_BESIDE = 1024 * 1024


def most_bytes(max_output: int) -> int:
    """More than `max_output` tokens of text, reasoning and arguments come to, and what thinking
    may come to beside them."""
    return max_output * _BYTES_A_TOKEN + _BYTES_BESIDE


class Reader(ABC):
    """What an adapter makes of the events of one answer. Whatever it does not know it passes over:
    events, fields and kinds of parts."""

    def __init__(self) -> None:
        self.finish: str | None = None
        """Why the model stopped, in the server's word; None until it says so."""
        self.moved = 0
        """How many events brought something."""
        self.made = 0
        """How many bytes of text, reasoning and arguments have come."""
        self.error: object = None
        """What the server reported instead of going on."""

    @property
    def ended(self) -> bool:
        """Whether nothing that comes now belongs to the answer."""
        return self.error is not None

    def take(self, event: object) -> list[Chunk]:
        """What the next event brings. An error in it is left in `error`."""
        if not isinstance(event, dict):
            return []
        taken = list(self._read(event))
        self.moved += bool(taken)
        return taken

    def refuse(self, reported: object) -> None:
        """The request was refused; this is what the server reported."""
        self.error = reported

    @abstractmethod
    def cut(self) -> None:
        """Take what has come as all of the answer, which goes on beyond its length."""

    @abstractmethod
    def close(self) -> Iterator[Chunk]:
        """What can be told once the answer is whole."""

    @abstractmethod
    def _read(self, event: dict[str, Any]) -> Iterator[Chunk]:
        """What an event brings."""


async def listen(
    source: Exchange, reader: Reader, seconds: float, most: int
) -> tuple[list[Chunk], bool]:
    """Wait until the answer moves on; what came, and whether that was the last of it.

    A server that has said why the model stopped may be silent or gone: the answer is whole. One
    that has sent more than `most` bytes of it is not listened to any further. Raises
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
                if reader.made > most:
                    reader.cut()
                    return taken, True
    except Unreadable as error:
        words = f"the answer holds {error}"
        broken: Exception = ProviderError(status=200, message=words)
    except TimeoutError:
        broken = ConnectionFailedError(reason=f"nothing came for {silence:g} seconds")
    except ConnectionFailedError as error:
        broken = error
    else:
        return taken, reader.ended
    if finished:
        return taken, True
    raise broken


def check_end(source: Exchange, whose: str, *, begun: bool) -> None:
    """Raise for an answer that did not come to its end: ProviderError where what came has not even
    `begun` to be one of `whose` answers, ConnectionFailedError for one that was cut."""
    if source.any and not begun:
        raise no_answer(source, whose)
    raise ConnectionFailedError(reason="the answer was cut off before its end")
