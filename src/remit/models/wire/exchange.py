"""One request and the chunks that come back, through the SDK's client."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from remit.models.wire import astray
from remit.models.wire.astray import place
from remit.models.wire.events import DONE, MOST_BYTES, Events, Unreadable, read_json
from remit.models.wire.failures import reason, scrub, was_sent
from remit.values.errors import ConfigError, ConnectionFailedError, ProviderError, RemitError

_AFTER_DONE_SECONDS = 0.1
_MOST_BYTES = 256 * 1024 * 1024
"""More than any answer has, with all that frames its pieces."""


class Refusal(msgspec.Struct, frozen=True):
    """A status of 300 or more, and the body that came with it."""

    status: int
    body: Any


class Exchange:
    """A response as it comes: its chunks, or why there are none."""

    def __init__(
        self,
        body: AsyncIterator[bytes],
        headers: Mapping[str, str],
        secret: str | None,
        asked: str = "",
    ) -> None:
        self.asked = asked
        """The host and the path that were asked."""
        self.headers = headers
        self.secret = secret
        """The key that was sent, to keep it out of messages."""
        self.refusal: Refusal | None = None
        self.done = False
        """Whether the server said that this was all."""
        self.any = False
        """Whether any byte came."""
        self._body = body
        self._events = Events()
        self._chunks: deque[bytes] = deque()
        self._plain: bytearray | None = None
        self._ended = False
        self._came = 0

    async def next(self) -> object:
        """The next chunk; None at the end. Raises Unreadable and ConnectionFailedError."""
        while not self._chunks and not self._ended:
            received = await self._receive()
            if received is None:
                self._ended = True
                self._chunks.extend(self._rest())
            else:
                self._came += len(received)
                if self._came > _MOST_BYTES:
                    raise Unreadable(f"more than {_MOST_BYTES} bytes")
                self._sort(received)
        if not self._chunks:
            return None
        data = self._chunks.popleft()
        if data.strip() == DONE:
            self.done = self._ended = True
            return None
        return read_json(data)

    async def drain(self) -> None:
        """Read what is left behind the end, so that the connection can be used again."""
        try:
            async with asyncio.timeout(_AFTER_DONE_SECONDS):
                while await anext(self._body, None) is not None:
                    pass
        except Exception:  # the answer is whole, whatever becomes of the connection
            return

    async def _receive(self) -> bytes | None:
        try:
            return await anext(self._body, None)
        except Exception as error:  # whatever it is, the connection is gone
            broken = ConnectionFailedError(reason=reason(error, self.secret))
        raise broken

    def _sort(self, received: bytes) -> None:
        if not self.any and received.lstrip():
            self.any = True
            # Some servers answer with one JSON object although a stream was asked for.
            self._plain = bytearray() if received.lstrip()[:1] in (b"{", b"[") else None
        if self._plain is not None:
            self._plain += received
            if len(self._plain) > MOST_BYTES:
                raise Unreadable(f"JSON of more than {MOST_BYTES} bytes")
        else:
            self._chunks.extend(self._events.feed(received))

    def _rest(self) -> list[bytes]:
        if self._plain is None:
            return list(self._events.close())
        self.done = True
        return [bytes(self._plain)]


class Errors(NamedTuple):
    """An SDK's errors: no answer in time, a status of 400 or more, no connection, and whatever
    else it raises."""

    timeout: type[Exception]
    status: type[Exception]
    connection: type[Exception]
    any: type[Exception]


@asynccontextmanager
async def exchange(
    request: AbstractAsyncContextManager[Any], errors: Errors, secret: str | None, seconds: float
) -> AsyncIterator[Exchange]:
    """Send `request`, an SDK's streaming response that is not entered yet; leaving, however that
    comes about, closes the connection's stream. `secret` is the key that is sent.

    Raises ConnectionFailedError, and ConfigError for a client that cannot send.
    """
    response = await _send(request, errors, secret, seconds)
    if isinstance(response, RemitError):
        raise response
    if isinstance(response, Exchange):
        yield response
        return
    try:
        async with aclosing(response.iter_bytes()) as received:
            yield Exchange(received, response.headers, secret, place(response))
    finally:
        await response.close()


async def _send(
    request: AbstractAsyncContextManager[Any], errors: Errors, secret: str | None, seconds: float
) -> Any:
    """The response, an Exchange that only holds a refusal, or an error to raise.

    Errors are given back and not raised here: the SDK's hold the request, and with it the key.
    """
    try:
        async with asyncio.timeout(seconds):
            return await request.__aenter__()
    except (TimeoutError, errors.timeout) as error:
        words = f"no connection or no answer in {seconds:g} seconds"
        return ConnectionFailedError(reason=words, may_cost=was_sent(error))
    except errors.status as error:
        refused: Any = error
        told = Exchange(_nothing(), refused.response.headers, secret, place(refused.response))
        body = astray.told(refused.status_code, _body_of(refused), told.asked)
        told.refusal = Refusal(refused.status_code, body)
        return told
    except errors.connection as error:
        return ConnectionFailedError(reason=reason(error, secret), may_cost=was_sent(error))
    except errors.any as error:
        return ConfigError(f"the client cannot send: {scrub(str(error), secret)}")


def no_answer(source: Exchange, of: str) -> ProviderError:
    """The error for a response with 200 in which nothing was an answer `of` a model."""
    words = f"what came is no answer of {of}: {astray.mend(source.asked)}"
    return ProviderError(
        status=200,
        message=scrub(words, source.secret),
        may_cost=True,
        answered="event-stream" in source.headers.get("content-type", ""),
    )


def key_of(client: Any) -> str | None:
    """The key that `client` sends, to keep it out of messages."""
    key = getattr(client, "api_key", None)
    return key if isinstance(key, str) else None


def _body_of(error: Any) -> object:
    if 300 <= error.status_code < 400:
        return {"message": _redirect(error.response.headers.get("location", ""))}
    body = error.body
    return error.response.text if body is None else body


def _redirect(target: str) -> str:
    try:
        host = urlsplit(target).hostname or "another path of its own"
    except ValueError:
        host = "what is no address"
    return f"it redirects to {host}, and no conversation is sent on: give base_url= where it is"


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""
