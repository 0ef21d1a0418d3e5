"""A turn's model call: one step, streamed while it is made."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from itertools import count
from types import AsyncGeneratorType
from typing import Any

import msgspec

from remit.agent.brakes import HEARD, Brakes, Ears
from remit.agent.measure import request_tokens, tokens
from remit.agent.state import ModelAnswer
from remit.kernel.run import ActiveRun
from remit.models.assemble import Assembly, RawCall
from remit.models.protocol import Model
from remit.models.request import Chunk, ModelRequest, ReasoningChunk, TextChunk
from remit.values.content import Call, Reasoning, Text
from remit.values.errors import ConfigError, ProviderError, StoreError
from remit.values.events import ReasoningEvent, TextEvent
from remit.values.messages import AssistantMessage
from remit.values.usage import Usage

_SHOWN = (TextChunk, ReasoningChunk)
_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")


def step_name(turn: int) -> str:
    """The name of a turn's model step."""
    return f"turn:{turn}/think"


async def think(
    run: ActiveRun, turn: int, model: Model, request: ModelRequest, brakes: Brakes | None = None
) -> ModelAnswer:
    """The model's answer to `request`, from the journal or from the model. One that goes in
    circles by the measure of `brakes` is cut, and its stream closed.

    Raises ProviderError or ConnectionFailedError; nothing is then recorded.
    """

    ears = None if brakes is None else Ears(brakes)
    ask = partial(_ask, run, turn, model, request, ears)
    return await run.step(step_name(turn), ask, ModelAnswer)


async def _ask(
    run: ActiveRun, turn: int, model: Model, request: ModelRequest, ears: Ears | None
) -> ModelAnswer:
    assembly, deltas, attempt, cut = Assembly(), count(), run.attempt, False
    stream = _opened(model, request)
    try:
        async for chunk in stream:
            assembly.add(chunk)
            cut = ears is not None and type(chunk) in HEARD and ears.hear(chunk)
            if isinstance(chunk, _SHOWN):
                kind = TextEvent if isinstance(chunk, TextChunk) else ReasoningEvent
                run.show(kind(turn=turn, attempt=attempt, delta_id=next(deltas), text=chunk.text))
                if run.settle is not None:
                    await run.settle()
            if cut:
                break
    except StoreError as error:
        # Another store's; passed on it would be taken for the failure of the run's own.
        raise ProviderError(message=str(error)) from error
    finally:
        # The plain type first: asking the abstract one costs as much as a whole piece.
        if isinstance(stream, (AsyncGeneratorType, AsyncGenerator)):
            await stream.aclose()
    assembly.close()
    return ModelAnswer(
        message=AssistantMessage(_content(run, turn, assembly, model.name), model.name),
        usage=_priced(_used(request, assembly, model, cut), model),
        stop=assembly.stop,
        cut=cut,
    )


def _opened(model: Model, request: ModelRequest) -> AsyncIterator[Chunk]:
    """The model's stream. Raises ConfigError where a model of the user's own gives none."""
    stream: Any = model.stream(request)
    if hasattr(stream, "__aiter__"):
        return stream  # type: ignore[no-any-return]  # what it yields is checked as it comes
    if inspect.iscoroutine(stream):
        stream.close()
    raise ConfigError(
        f"stream of model {model.name!r} gave {type(stream).__name__}: write it as"
        " `async def stream(self, request)` with `yield`"
    )


def _content(
    run: ActiveRun, turn: int, assembly: Assembly, maker: str
) -> tuple[Text | Reasoning | Call, ...]:
    """The answer's parts. Call ids are ours, whatever the provider sends: unique in a thread, and
    the same wherever this answer is read."""
    content: list[Text | Reasoning | Call] = []
    numbers = count()
    for part in assembly.parts:
        if isinstance(part, RawCall):
            content.append(_call(part, run, turn, next(numbers)))
        elif isinstance(part, Reasoning):
            content.append(msgspec.structs.replace(part, maker=maker))
        else:
            content.append(part)
    return tuple(content)


def _call(raw: RawCall, run: ActiveRun, turn: int, number: int) -> Call:
    legal = _LEGAL.fullmatch(raw.name) is not None
    return Call(
        id=f"call_{_mark(run)}_{turn}_{number}",
        name=raw.name if legal else "unknown",
        arguments=raw.arguments,
        key=f"{run.id}/{run.path}{turn}/{number}",
        malformed=raw.malformed,
        misnamed=None if legal else raw.name[:200],
    )


def _mark(run: ActiveRun) -> str:
    """What tells a run's call ids from those of others, and those of the agents inside it from
    each other: short, and legal for every provider."""
    if not run.path:
        return run.id[-10:]
    return hashlib.blake2b(f"{run.id}/{run.path}".encode(), digest_size=5).hexdigest()


def _used(request: ModelRequest, assembly: Assembly, model: Model, cut: bool) -> Usage:
    """What the answer used. One that was cut has told no more than a part of it."""
    told = assembly.usage
    if told is not None and not cut:
        return told
    estimate = _estimated(request, assembly, model)
    if told is None:
        return estimate
    return msgspec.structs.replace(
        told,
        input_tokens=max(told.input_tokens, estimate.input_tokens),
        output_tokens=max(told.output_tokens, estimate.output_tokens),
        estimated=True,
    )


def _estimated(request: ModelRequest, assembly: Assembly, model: Model) -> Usage:
    """The usage of an answer whose model reported none: a token for every four bytes, so that a
    budget of cost or tokens bounds such a model, too."""
    return Usage(
        input_tokens=request_tokens(request, model.card),
        output_tokens=tokens(assembly.parts),
        estimated=True,
    )


def _priced(usage: Usage, model: Model) -> Usage:
    pricing = model.card.pricing
    if pricing is None:
        return usage
    return msgspec.structs.replace(usage, cost=pricing.cost(usage))
