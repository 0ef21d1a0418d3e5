"""A turn's model call: one step, streamed while it is made."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import partial
from itertools import count
from types import AsyncGeneratorType
from typing import Any

import msgspec

from remit.agent.answer.malformed import Parts, Watched
from remit.agent.answer.partial import Partials, Shown
from remit.agent.answer.reading import Terms, read
from remit.agent.brakes import HEARD, Ears
from remit.agent.inside.time import Time
from remit.agent.recorded.failed import Failed
from remit.agent.recorded.steps import Attempted, ModelAnswer
from remit.agent.routing import Route
from remit.agent.routing.charge import used
from remit.kernel.run import ActiveRun
from remit.models.assemble import Assembly, RawCall
from remit.models.protocol import Model
from remit.models.request import CallChunk, Chunk, ModelRequest, ReasoningChunk, TextChunk
from remit.values.content import Call, Reasoning, Text
from remit.values.errors import (
    ConfigError,
    ConnectionFailedError,
    ProviderError,
    StepFailedError,
    StoreError,
)
from remit.values.events import ReasoningEvent, TextEvent
from remit.values.messages import AssistantMessage

_SHOWN = frozenset({TextChunk, ReasoningChunk})
_TYPED = _SHOWN | {CallChunk}
_LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")


def step_name(turn: int) -> str:
    """The name of a turn's model step."""
    return f"turn:{turn}/think"


async def think(
    run: ActiveRun,
    turn: int,
    route: Route,
    request: ModelRequest,
    terms: Terms,
    limit: Time | None = None,
) -> ModelAnswer | Failed:
    """The answer to `request` of the model that `route` leads to, from the journal or from the
    model; or, recorded too, why there is none and what follows. One that goes in
    circles by the measure of the brakes in `terms` is cut, and its stream closed; of the form
    that is there beside them it is a value. Of one that `limit` ends, what had come is the answer.

    Raises ProviderError or ConnectionFailedError where nothing was charged and nothing follows;
    nothing is then recorded.
    """

    name, told = step_name(turn), _Told(run, turn, terms)
    ask = partial(_ask, told, route, request, terms, limit)
    if route.state.failures.calls:
        name = route.step(name)
    found: ModelAnswer | Failed = await run.step(name, ask, Attempted)
    return found


async def unasked(run: ActiveRun, turn: int) -> ModelAnswer:
    """The journal's answer to nothing: what the run builds on was deleted before it asked
    anything itself. Raises StepFailedError where there is none; no model is asked."""
    name = step_name(turn)

    async def refuse() -> ModelAnswer:
        why = "there is nothing to answer: the run that this one builds on was deleted"
        raise StepFailedError(step=name, error=why)

    return await run.step(name, refuse, ModelAnswer)


class _Told:
    """What readers are told of an answer while it comes."""

    def __init__(self, run: ActiveRun, turn: int, terms: Terms) -> None:
        self.run, self.turn, self._names = run, turn, terms.names
        self.watched: Watched | None = None
        self.shown: frozenset[type] = _SHOWN
        self._partials: Partials | None = None
        if terms.form is not None:
            self.shown, self._partials = _TYPED, Partials(terms.form, terms.names)
        self._attempt, self._deltas = run.attempt, count()
        self._watch: Callable[[str], str] | None = None
        self._see = run.show

    def show(self, chunk: Chunk) -> bool:
        """Show the piece, as far as it may be; whether anything of it was."""
        if isinstance(chunk, TextChunk):
            # One call for each piece: this is done for every one that a model streams.
            # What is no text is checked with the whole answer, and nothing of it is shown.
            piece = chunk.text
            text = (self._watch or self._begin())(piece) if type(piece) is str else ""
            if self._partials is not None:
                return self._show_some(self._partials.say(text)) if text else False
            if text:
                delta = next(self._deltas)
                self._see(
                    TextEvent(turn=self.turn, attempt=self._attempt, delta_id=delta, text=text)
                )
            return bool(text)
        if isinstance(chunk, CallChunk) and self._partials is not None:
            return self._show_some(self._partials.call(chunk))
        if isinstance(chunk, ReasoningChunk) and chunk.text:
            self._show(ReasoningEvent, chunk.text)
        return True

    def _show_some(self, shown: Shown) -> bool:
        """Show what there is of an answer of a type; whether there is any."""
        text, partial = shown
        is_some = bool(text) or partial is not None
        if is_some:
            self._see(
                TextEvent(
                    turn=self.turn,
                    attempt=self._attempt,
                    delta_id=next(self._deltas),
                    text=text,
                    partial=partial,
                )
            )
        return is_some

    def _begin(self) -> Callable[[str], str]:
        """Watch the text that begins to come: most answers with calls have none."""
        self.watched = Watched(self._names)
        self._watch = self.watched.feed
        return self._watch

    def say(self, text: str) -> bool:
        """Show the end of the text; whether there is any."""
        if self._partials is not None:
            text = self._partials.close(text)
        if text:
            self._show(TextEvent, text)
        return bool(text)

    def _show(self, kind: type[TextEvent | ReasoningEvent], text: str) -> None:
        delta = next(self._deltas)
        self.run.show(kind(turn=self.turn, attempt=self._attempt, delta_id=delta, text=text))


class _Quiet:
    """Nobody is told of the answer."""

    def __init__(self, run: ActiveRun, turn: int) -> None:
        self.run, self.turn = run, turn
        self.watched: Watched | None = None
        self.shown: frozenset[type] = frozenset()

    def show(self, chunk: Chunk) -> bool:
        """Show nothing."""
        return False

    def say(self, text: str) -> bool:
        """Show nothing."""
        return False


async def answer(
    run: ActiveRun, turn: int, route: Route, request: ModelRequest
) -> ModelAnswer | Failed:
    """The model's answer to what is no turn of the run, like a brief, or why there is none: nobody
    is shown it."""
    return await _ask(_Quiet(run, turn), route, request, Terms(), None)


async def _ask(
    told: _Told | _Quiet,
    route: Route,
    request: ModelRequest,
    terms: Terms,
    limit: Time | None,
) -> ModelAnswer | Failed:
    model, run = route.model, told.run
    assembly, cut, late = Assembly(), False, False
    shown = told.shown
    cancels = 0 if limit is None else _cancels()
    ears = None if terms.brakes is None else Ears(terms.brakes)
    stream = _opened(model, request)
    try:
        async for chunk in stream:
            assembly.add(chunk)
            cut = ears is not None and type(chunk) in HEARD and ears.hear(chunk)
            if type(chunk) in shown and told.show(chunk) and run.settle is not None:
                await run.settle()
            if cut:
                break
    except asyncio.CancelledError:
        # What ends here is the call alone, unless somebody else cancels as well.
        late = limit is not None and limit.expired() and _cancels() == cancels + 1
        if not late or not assembly.begun:
            raise
    except (ProviderError, ConnectionFailedError, StoreError) as error:
        return route.fail(_typed(error), request, assembly, limit)
    finally:
        # The plain type first: asking the abstract one costs as much as a whole piece.
        if isinstance(stream, (AsyncGeneratorType, AsyncGenerator)):
            await stream.aclose()
    assembly.close()
    if told.watched is not None:
        told.say(told.watched.rest())
    whole = not (cut or late)
    parts, malformed, misfit = read(told.watched, assembly, terms, request.tool_choice, whole=whole)
    if late or assembly.stop == "refusal":
        # Nobody is left to run them: both are the end.
        parts = [part for part in parts if not isinstance(part, RawCall)]
    return ModelAnswer(
        message=AssistantMessage(_content(run, told.turn, parts, model.name), model.name),
        usage=used(request, assembly, model, cut or late),
        stop=assembly.stop,
        cut=cut,
        late=late,
        malformed=malformed,
        misfit=misfit,
    )


def _typed(
    error: ProviderError | ConnectionFailedError | StoreError,
) -> ProviderError | ConnectionFailedError:
    if not isinstance(error, StoreError):
        return error
    # Another store's; passed on it would be taken for the failure of the run's own.
    typed = ProviderError(message=str(error))
    typed.__cause__ = error
    return typed


def _cancels() -> int:
    """How often this task is asked to end."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


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
    run: ActiveRun, turn: int, parts: Parts, maker: str
) -> tuple[Text | Reasoning | Call, ...]:
    """The answer's parts. Call ids are ours, whatever the provider sends: unique in a thread, and
    the same wherever this answer is read."""
    content: list[Text | Reasoning | Call] = []
    numbers = count()
    for part in parts:
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
        signature=raw.signature,
    )


def _mark(run: ActiveRun) -> str:
    """What tells a run's call ids from those of others, and those of the agents inside it from
    each other: short, and legal for every provider."""
    if not run.path:
        return run.id[-10:]
    return hashlib.blake2b(f"{run.id}/{run.path}".encode(), digest_size=5).hexdigest()
