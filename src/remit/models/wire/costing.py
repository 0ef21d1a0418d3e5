"""An adapter's errors say whether they may have cost, as the class of the failure has it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from functools import wraps
from typing import Any, TypeVar

from remit.models.failure import classify
from remit.models.request import CallChunk, Chunk, ModelRequest, UsageChunk
from remit.values.errors import ConnectionFailedError, ProviderError
from remit.values.usage import Usage

M = TypeVar("M")
Stream = Callable[[M, ModelRequest], AsyncIterator[Chunk]]


def costing(stream: Stream[M]) -> Stream[M]:
    """`stream`, whose ProviderError and ConnectionFailedError say in `may_cost` whether tokens may
    have been charged."""

    @wraps(stream)
    async def told(model: M, request: ModelRequest) -> AsyncIterator[Chunk]:
        begun, usage = False, None
        pieces: Any = stream(model, request)
        try:
            async with aclosing(pieces):
                async for chunk in pieces:
                    begun = begun or _is_token(chunk)
                    if type(chunk) is UsageChunk:
                        usage = chunk.usage
                    yield chunk
        except (ProviderError, ConnectionFailedError) as error:
            _tell(error, begun, usage)
            raise

    return told


def _is_token(chunk: Chunk) -> bool:
    """Whether a token of the answer came, as `Assembly.told` has it."""
    if isinstance(chunk, UsageChunk):
        return False
    return isinstance(chunk, CallChunk) or bool(getattr(chunk, "text", ""))


def _tell(error: ProviderError | ConnectionFailedError, begun: bool, usage: Usage | None) -> None:
    error.may_cost = classify(error, begun=begun, usage=usage).may_cost
