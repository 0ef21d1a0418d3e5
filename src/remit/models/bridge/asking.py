"""One request to a model of pydantic-ai, and its events as they come."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any, Self

from pydantic_ai import direct
from pydantic_ai import messages as theirs
from pydantic_ai.models import Model, StreamedResponse, infer_model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from remit.models.bridge.failures import failure
from remit.models.bridge.history import conversation, keep, parameters
from remit.models.request import (
    CallChunk,
    Chunk,
    ModelRequest,
    ReasoningChunk,
    Stop,
    StopChunk,
    TextChunk,
    UsageChunk,
)
from remit.models.wire.astray import place_of
from remit.models.wire.exchange import key_of
from remit.values.errors import ConnectionFailedError, ProviderError, RemitError
from remit.values.usage import Usage

_STOPS: dict[str | None, Stop] = {"length": "length", "content_filter": "refusal"}


class Opened:
    """A model of pydantic-ai that can be asked; `own` is one of the caller's, which stays open."""

    def __init__(self, model: Model[Any], *, own: bool) -> None:
        self._model = model
        self._own = own
        self._entered = False
        self._entering = asyncio.Lock()

    @classmethod
    def of(cls, model: Any) -> Self:
        """`model`, or the one that it names. Raises ConfigError for a name that names none, and
        for a missing package or key."""
        if not isinstance(model, str):
            return cls(model, own=True)
        try:
            return cls(infer_model(model), own=False)
        except Exception as error:  # whatever it is, there is no model
            refused = failure(error, None, 0)
        raise refused

    async def close(self) -> None:
        """Close what was opened here."""
        if self._entered:
            self._entered = False
            await self._model.__aexit__(None, None, None)

    async def ask(
        self, request: ModelRequest, settings: Mapping[str, Any], seconds: float
    ) -> AsyncIterator[Chunk | RemitError]:
        """The answer's pieces; an error in their place is the last of them.

        Errors are given and not raised here: the cause of one may hold the request with its key.
        """
        failed: RemitError | None = None
        try:
            await self._enter()
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(seconds):
                    stream = await stack.enter_async_context(self._opened(request, settings))
                async for chunk in _pieces(stream, seconds):
                    yield chunk
                for chunk in _ending(stream, on_a_wire=self._model.provider is not None):
                    yield chunk
        except Exception as error:  # whatever it is, the call has failed
            failed = failure(error, self._secret(), seconds, self._place())
        if failed is not None:
            yield failed

    async def _enter(self) -> None:
        async with self._entering:
            if not (self._own or self._entered):
                await self._model.__aenter__()
                self._entered = True

    def _opened(
        self, request: ModelRequest, settings: Mapping[str, Any]
    ) -> AbstractAsyncContextManager[StreamedResponse]:
        choice = request.tool_choice
        asked: dict[str, Any] = {**settings, "max_tokens": request.max_output, "max_retries": 0}
        if choice != "auto" and request.tools:
            asked["tool_choice"] = choice if choice in ("none", "required") else [choice]
        return direct.model_request_stream(
            self._model,
            conversation(request),
            model_settings=ModelSettings(**asked),  # type: ignore[typeddict-item]  # some are the user's
            model_request_parameters=parameters(request),
        )

    def _place(self) -> str:
        """The host and the path below which the provider is asked."""
        url = getattr(self._model.provider, "base_url", None)
        return place_of(url) if isinstance(url, str) else ""

    def _secret(self) -> str | None:
        provider = self._model.provider
        return None if provider is None else key_of(provider.client)


async def _pieces(stream: StreamedResponse, seconds: float) -> AsyncIterator[Chunk]:
    events = aiter(stream)
    told = Usage()
    while True:
        async with asyncio.timeout(seconds):
            event = await anext(events, None)
        if event is None:
            return
        for chunk in _read(event):
            yield chunk
        used = _usage(stream.usage)
        if used is not None and used != told:
            told = used
            yield UsageChunk(used)


def _read(event: theirs.ModelResponseStreamEvent) -> Iterator[Chunk]:
    """What an event brings. Calls are told whole at the end: their pieces may come mixed."""
    match event:
        case theirs.PartStartEvent(index=index, part=part):
            yield from _begun(index, part)
        case theirs.PartDeltaEvent(delta=theirs.TextPartDelta(content_delta=text)) if text:
            yield TextChunk(text)
        case theirs.PartDeltaEvent(delta=theirs.ThinkingPartDelta(content_delta=thought)):
            if thought:
                yield ReasoningChunk(thought)
        case theirs.PartEndEvent(part=theirs.ThinkingPart() as whole):
            kept = keep(whole)
            if kept is not None:
                yield ReasoningChunk("", kept)


def _begun(index: int, part: theirs.ModelResponsePart) -> Iterator[Chunk]:
    if isinstance(part, theirs.TextPart):
        if part.content:
            yield TextChunk(part.content)
    elif isinstance(part, theirs.ThinkingPart):
        if part.content:
            yield ReasoningChunk(part.content)
    elif isinstance(part, theirs.ToolCallPart):
        yield CallChunk(index)
    else:
        raise ProviderError(
            status=200, message=f"the answer holds a {part.part_kind}, which has no place in remit"
        )


def _ending(stream: StreamedResponse, *, on_a_wire: bool) -> Iterator[Chunk]:
    """What can be told once the answer is whole. Raises for one that is not."""
    answer = stream.get()
    if answer.state != "complete" or (on_a_wire and not _ended(answer)):
        raise ConnectionFailedError(reason="the answer was cut off before its end")
    if answer.finish_reason == "error":
        raise ProviderError(status=200, message="it stopped with an error")
    called = False
    for index, part in enumerate(answer.parts):
        if isinstance(part, theirs.ToolCallPart):
            called = True
            yield CallChunk(index, part.tool_name, _arguments(part.args), keep(part))
    used = _usage(answer.usage)
    if used is not None:
        yield UsageChunk(used)
    stop = _STOPS.get(answer.finish_reason, "end")
    yield StopChunk("calls" if called and stop == "end" else stop)


def _ended(answer: theirs.ModelResponse) -> bool:
    """Whether the provider said that this was all. Some of their models take every end of a
    stream for that; the provider's own word is then missing, and so is its usage."""
    if (answer.provider_details or {}).get("finish_reason"):
        return True
    return answer.finish_reason is not None and not answer.usage.unmeasured_requests


def _arguments(args: object) -> str:
    if args is None:
        return ""
    return args if isinstance(args, str) else json.dumps(args)


def _usage(told: RequestUsage) -> Usage | None:
    """What was used; None where the provider reports nothing. Theirs counts as remit's does:
    input and output hold their parts."""
    if told.unmeasured_requests or not (told.input_tokens or told.output_tokens):
        return None
    return Usage(
        input_tokens=told.input_tokens,
        cache_read_tokens=told.cache_read_tokens,
        cache_write_tokens=told.cache_write_tokens,
        cache_write_long_tokens=told.cache_write_1h_tokens,
        output_tokens=told.output_tokens,
        reasoning_tokens=told.output_reasoning_tokens,
    )
