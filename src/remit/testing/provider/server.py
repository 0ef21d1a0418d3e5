"""A provider on loopback that speaks the vendors' formats and refuses what they refuse."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Literal

from remit.testing.model import Call, Say, watching
from remit.testing.provider import anthropic_wire, gemini_wire, openai_wire, responses_wire
from remit.testing.provider.anthropic_rules import refused_by_anthropic
from remit.testing.provider.gemini_rules import refused_by_gemini
from remit.testing.provider.http import Cut, Listener, Response, json_response
from remit.testing.provider.openai_rules import refused_by_openai
from remit.testing.provider.refusal import Body, Refusal
from remit.testing.provider.responses_rules import refused_by_responses
from remit.testing.provider.script import Given, Item, Reply, Sent, reply
from remit.testing.provider.signing import MAKER
from remit.values.errors import ConnectionFailedError, ProviderError

Vendor = Literal["openai", "responses", "anthropic", "gemini"]
_STEMS = {"anthropic": "toolu_", "gemini": "fc_"}


class StrictProvider:
    """Serves OpenAI's Chat Completions and Responses at `openai_url`, Anthropic's Messages
    (version 2026-10-21) at `anthropic_url` and Gemini at `gemini_url`, for as long as its
    `async with` lasts.

    Each request that the vendor would take gets the script's next item: a `Say`, a `Call`, a
    list of them, an `Answer`, a `Reply` (which may also `Think`, and be sent with `Quirks`), a
    ProviderError or ConnectionFailedError to fail with, or a function from the request (`Sent`)
    to one of these. A function alone in place of the list answers every request. What the vendor
    would refuse is refused with its status and words, is kept in `refused`, and takes no item.
    A script that runs out answers with status 500; with `pytest_plugins =
    ["remit.testing.plugin"]` the test then fails, and also if items are left.

    It signs thinking, and Gemini's calls, as `maker`, and refuses what this maker has not signed.
    The delays of an answer's parts come before it begins. `fields` are further fields of
    messages that it takes beside those of OpenAI.
    """

    def __init__(
        self,
        script: Sequence[Item] | Callable[[Sent], Given],
        *,
        maker: str = MAKER,
        fields: Collection[str] = ("reasoning_content",),
    ) -> None:
        self.requests: list[Sent] = []
        """Every request, as sent."""
        self.refused: list[Refusal] = []
        """Every refusal."""
        self._script = script
        self._maker = maker
        self._fields = tuple(fields)
        self._taken = 0
        self._calls = 0
        self._ran_out: str | None = None
        self._closing = asyncio.Event()
        self._listener = Listener(self._respond)
        watch = watching.get()
        if watch is not None:
            watch.made.append(self)

    async def __aenter__(self) -> StrictProvider:
        await self._listener.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        await self._listener.close()

    @property
    def openai_url(self) -> str:
        """The `base_url` of a client of OpenAI's."""
        return f"{self.anthropic_url}/v1"

    @property
    def anthropic_url(self) -> str:
        """The `base_url` of a client of Anthropic's."""
        return f"http://127.0.0.1:{self._listener.port}"

    @property
    def gemini_url(self) -> str:
        """The `base_url` of a client of Gemini's."""
        return self.anthropic_url

    def assert_used(self) -> None:
        """Raise AssertionError if the script ran out, or holds answers that nobody asked for."""
        if self._ran_out is not None:
            raise AssertionError(self._ran_out)
        if callable(self._script):
            return
        left = self._script[self._taken :]
        if left:
            raise AssertionError(f"{len(left)} scripted answers were not used, first {left[0]!r}")

    async def _respond(self, sent: Sent) -> Response:
        self.requests.append(sent)
        vendor = _vendor(sent.path)
        if vendor is None:
            words = f"Invalid URL (POST {sent.path})"
            return json_response(Refusal(message=words).as_openai(), 404)
        refusal = self._refusal(vendor, sent)
        if refusal is not None:
            self.refused.append(refusal)
            return _told(vendor, refusal)
        try:
            item = self._next(sent)
        except AssertionError as error:
            self._ran_out = str(error)
            return _told(vendor, Refusal(status=500, type="server_error", message=str(error)))
        if isinstance(item, ProviderError):
            return _failed(vendor, item)
        if isinstance(item, ConnectionFailedError):
            return Response(status=0, pieces=_nothing())
        return self._answer(vendor, reply(item), sent)

    def _refusal(self, vendor: Vendor, sent: Sent) -> Refusal | None:
        try:
            body = sent.body
        except ValueError:
            body = {"": float("nan")}
        if vendor == "anthropic":
            found = anthropic_wire.misaddressed(sent.headers)
            return found or refused_by_anthropic(body, maker=self._maker)
        if vendor == "gemini":
            found = gemini_wire.keyless(sent.headers)
            return found or refused_by_gemini(body, maker=self._maker)
        if not sent.headers.get("authorization"):
            return openai_wire.keyless()
        if vendor == "responses":
            return refused_by_responses(body, maker=self._maker)
        return refused_by_openai(body, also=self._fields)

    def _next(self, sent: Sent) -> Given:
        if callable(self._script):
            return self._script(sent)
        if self._taken >= len(self._script):
            raise AssertionError(
                f"the script of {len(self._script)} answers ran out; asked: {sent.text[:500]}"
            )
        item = self._script[self._taken]
        self._taken += 1
        return item(sent) if callable(item) else item

    def _answer(self, vendor: Vendor, reply: Reply, sent: Sent) -> Response:
        ids = list(self._ids(vendor, reply))
        if sent.body.get("stream") is True or gemini_wire.streams(sent.path):
            events = list(_events(vendor, reply, sent, ids, self._maker))
            return Response(pieces=self._paced(events, reply))
        if reply.fails is not None:
            return _failed(vendor, reply.fails)
        response = json_response(_whole(vendor, reply, sent, ids, self._maker))
        return Response(kind=response.kind, pieces=self._late(response, reply))

    async def _paced(self, events: Sequence[bytes], reply: Reply) -> AsyncIterator[bytes]:
        quirks = reply.quirks
        await self._wait(_delay(reply))
        for number, event in enumerate(events):
            if number == quirks.cut:
                raise Cut
            await self._wait(quirks.pause)
            size = quirks.chunk or len(event)
            for at in range(0, len(event), size):
                yield event[at : at + size]
        if quirks.cut is not None:
            raise Cut

    async def _late(self, response: Response, reply: Reply) -> AsyncIterator[bytes]:
        """A response of one object; one that is cut ends in the middle of it."""
        await self._wait(_delay(reply) + reply.quirks.pause)
        async for piece in response.pieces:
            if reply.quirks.cut is not None:
                yield piece[: len(piece) // 2]
                raise Cut
            yield piece

    async def _wait(self, seconds: float) -> None:
        if not seconds:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()
            raise Cut

    def _ids(self, vendor: Vendor, reply: Reply) -> Iterator[str | None]:
        """The ids of the calls in `reply`, as its quirks want them."""
        stem = _STEMS.get(vendor, "call_")
        for part in reply.parts:
            if isinstance(part, Call):
                self._calls += 1
                given = {"given": f"{stem}{self._calls}", "repeated": f"{stem}0", "empty": ""}
                yield given.get(reply.quirks.ids)


def _events(
    vendor: Vendor, reply: Reply, sent: Sent, ids: Sequence[str | None], maker: str
) -> Iterator[bytes]:
    """The answer's events as they are sent."""
    match vendor:
        case "openai":
            yield from map(openai_wire.framed, openai_wire.events(reply, sent, ids))
        case "responses":
            yield from map(responses_wire.framed, responses_wire.events(reply, sent, ids, maker))
        case "anthropic":
            yield from map(anthropic_wire.framed, anthropic_wire.events(reply, sent, ids, maker))
        case "gemini":
            yield from map(gemini_wire.framed, gemini_wire.events(reply, sent, ids, maker))


def _whole(vendor: Vendor, reply: Reply, sent: Sent, ids: Sequence[str | None], maker: str) -> Body:
    """The answer as one object."""
    match vendor:
        case "openai":
            return openai_wire.whole(reply, sent, ids)
        case "responses":
            return responses_wire.whole(reply, sent, ids, maker)
        case "anthropic":
            return anthropic_wire.whole(reply, sent, ids, maker)
        case "gemini":
            return gemini_wire.whole(reply, sent, ids, maker)


def _delay(reply: Reply) -> float:
    return sum(part.delay for part in reply.parts if isinstance(part, Say))


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


def _vendor(path: str) -> Vendor | None:
    path = path.partition("?")[0]
    if path.endswith(openai_wire.PATH):
        return "openai"
    if path.endswith(responses_wire.PATH):
        return "responses"
    if gemini_wire.is_path(path):
        return "gemini"
    return "anthropic" if path.endswith(anthropic_wire.PATH) else None


def _told(vendor: Vendor, refusal: Refusal) -> Response:
    return json_response(_body(vendor, refusal), refusal.status)


def _body(vendor: Vendor, refusal: Refusal) -> Body:
    match vendor:
        case "anthropic":
            return refusal.as_anthropic()
        case "gemini":
            return refusal.as_gemini()
        case "openai" | "responses":
            return refusal.as_openai()


def _failed(vendor: Vendor, error: ProviderError) -> Response:
    if vendor == "gemini":
        refusal = gemini_wire.refusal(error)
    else:
        refusal = (anthropic_wire if vendor == "anthropic" else openai_wire).refusal(error)
    body = _body(vendor, refusal)
    headers = {} if error.retry_after is None else {"retry_after": f"{error.retry_after:g}"}
    if error.request_id is not None:
        headers["request_id" if vendor == "anthropic" else "x_request_id"] = error.request_id
    return json_response(body, refusal.status, **headers)
