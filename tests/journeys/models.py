"""Models that fail where a test wants it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal

from remit import Card, ModelRequest, Pricing, Usage
from remit.models.request import CallChunk, Chunk, ReasoningChunk, StopChunk, TextChunk, UsageChunk
from remit.values.content import Reasoning
from remit.values.errors import ConnectionFailedError, ProviderError
from remit.values.messages import AssistantMessage, ToolMessage

PRICED = Card(pricing=Pricing(input=1, output=10))
USED = Usage(input_tokens=100, output_tokens=20)
COST = Decimal("0.0003")
"""What an answer with `USED` costs by `PRICED`."""

Trouble = ProviderError | ConnectionFailedError
BUSY = ProviderError(status=529, code="overloaded_error", message="Overloaded")
GONE = ProviderError(status=404, code="model_not_found", message="No such model")
TIMEOUT = ProviderError(status=504, message="Timed out")


class Halting:
    """Calls `look` once, or as often as it is told, and then answers; each of `troubles` comes
    before an answer of the turn that it stands for, the newest last.

    With `begun` the trouble comes behind a first token, of reasoning or of text.
    """

    def __init__(
        self,
        name: str,
        troubles: Sequence[tuple[int, Trouble]] = (),
        *,
        card: Card = PRICED,
        begun: Chunk | None = None,
        turns: int = 2,
    ) -> None:
        self.name, self.card = name, card
        self.requests: list[ModelRequest] = []
        self.came: asyncio.Queue[ModelRequest] = asyncio.Queue()
        """The requests that a test has not waited for yet."""
        self._troubles, self._begun, self._turns = list(troubles), begun, turns

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        self.came.put_nowait(request)
        turn = sum(isinstance(message, ToolMessage) for message in request.messages)
        if self._troubles and self._troubles[0][0] == turn:
            _, error = self._troubles.pop(0)
            if self._begun is not None:
                yield self._begun
            raise error
        yield ReasoningChunk(f"{self.name} thinks. ", f"signed by {self.name}")
        if turn < self._turns - 1:
            yield CallChunk(0, "look", f'{{"number": {turn}}}')
        else:
            yield TextChunk(f"{self.name} answers.")
        yield UsageChunk(USED)
        yield StopChunk("end")


def always(error: Trouble, turn: int = 0) -> list[tuple[int, Trouble]]:
    """The trouble whenever the turn is asked for."""
    return [(turn, error)] * 50


def makers_of(request: ModelRequest) -> set[str | None]:
    """Whose reasoning a request holds."""
    answers = [one for one in request.messages if isinstance(one, AssistantMessage)]
    parts = [part for one in answers for part in one.content]
    return {part.maker for part in parts if isinstance(part, Reasoning)}
