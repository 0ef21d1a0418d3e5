"""A request to Responses, and what it may have cost when it fails."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any

from remit.models.openai_chat.clients import errors
from remit.models.wire.exchange import Exchange, exchange, key_of

_UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
_UNANSWERED = (408, 504)
"""Statuses of a request that was sent and not answered in time."""


class Sending:
    """One request: whether it may have reached the model, and what came of it."""

    def __init__(self, client: Any, body: Mapping[str, Any], seconds: float) -> None:
        self.source: Exchange | None = None
        self._unsent = False
        self._client = client
        self._body = body
        self._seconds = seconds

    def open(self) -> AbstractAsyncContextManager[Exchange]:
        """Send it. Raises what `exchange` raises."""
        import openai

        # What goes as extra_body goes out as it is; the SDK would walk through every item first.
        request = self._client.responses.with_streaming_response.create(
            model=self._body["model"], input=[], stream=True, extra_body=self._body
        )
        noted: Any = _Noted(request, self)
        return exchange(noted, errors(openai), key_of(self._client), self._seconds)

    def note(self, error: BaseException) -> None:
        """Note what kept the request from being answered."""
        cause = error.__cause__ or error
        self._unsent = any(kind.__name__ in _UNSENT for kind in type(cause).__mro__)

    @property
    def may_cost(self) -> bool:
        """Whether the server may charge for it although it failed."""
        if self.source is None:
            return not self._unsent
        refusal = self.source.refusal
        return refusal is None or refusal.status in _UNANSWERED


class _Noted:
    """The SDK's request, whose failure to be sent is noted before its cause is let go."""

    def __init__(self, request: Any, sending: Sending) -> None:
        self._request = request
        self._sending = sending

    async def __aenter__(self) -> Any:
        try:
            return await self._request.__aenter__()
        except Exception as error:
            self._sending.note(error)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Any:
        return await self._request.__aexit__(kind, error, trace)
