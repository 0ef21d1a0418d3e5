"""A model that answers by a script, for tests of agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from remit.models.pricing import Pricing
from remit.models.protocol import Card
from remit.models.request import (
    CallChunk,
    Chunk,
    ModelRequest,
    Stop,
    StopChunk,
    TextChunk,
    UsageChunk,
)
from remit.values.usage import Usage

FREE = Card(pricing=Pricing(input=0, output=0))


class Say:
    """Text that streams in `pieces` (a number of them, or the pieces themselves; words unless
    told), after `delay` seconds."""

    def __init__(
        self, text: str = "", *, pieces: int | Sequence[str] | None = None, delay: float = 0.0
    ) -> None:
        self.text = text
        self.delay = delay
        self.pieces = _cut(text, pieces)


class Call:
    """A tool call: `Call("find_order", number="A-1042")`."""

    def __init__(self, name: str, /, **arguments: Any) -> None:
        self.name = name
        self.arguments = arguments


class Answer:
    """A whole answer, where its usage or why it stopped matters."""

    def __init__(
        self, *parts: Say | Call, usage: Usage | None = None, stop: Stop | None = None
    ) -> None:
        self.parts = parts
        self.usage = usage or Usage(input_tokens=100, output_tokens=20)
        self.stop: Stop = stop or ("calls" if any(isinstance(p, Call) for p in parts) else "end")


Given = Say | Call | Answer | Sequence[Say | Call] | BaseException
Item = Given | Callable[[ModelRequest], Given]


class ScriptedModel:
    """Answers the n-th request with the n-th item.

    An item is a `Say`, a `Call`, a list of them, an `Answer`, an error that is raised instead of
    an answer, or a function from the request to one of these. An answer uses 100 input and 20
    output tokens unless it says otherwise. A script that runs out raises AssertionError with
    what was asked. With `pytest_plugins = ["remit.testing.plugin"]` a test also fails if its
    scripts ran out or were not used up.
    """

    def __init__(
        self, items: Sequence[Item], *, name: str = "scripted:model", card: Card = FREE
    ) -> None:
        self.name = name
        self.card = card
        self.requests: list[ModelRequest] = []
        """Every request, as sent."""
        self._items = list(items)
        self._ran_out: str | None = None
        watch = watching.get()
        if watch is not None:
            watch.made.append(self)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        """The next item's pieces."""
        self.requests.append(request)
        number = len(self.requests)
        if number > len(self._items):
            self._ran_out = f"the script of {len(self._items)} answers ran out; asked: {request!r}"
            raise AssertionError(self._ran_out)
        item = self._items[number - 1]
        if callable(item):
            item = item(request)
        if isinstance(item, BaseException):
            raise item
        answer = _answer(item)
        index = 0
        for part in answer.parts:
            if isinstance(part, Say):
                if part.delay:
                    await asyncio.sleep(part.delay)
                for piece in part.pieces:
                    yield TextChunk(piece)
            else:
                yield CallChunk(index, part.name, json.dumps(part.arguments))
                index += 1
        yield UsageChunk(answer.usage)
        yield StopChunk(answer.stop)

    def assert_used(self) -> None:
        """Raise AssertionError if the script ran out, or holds answers that nobody asked for."""
        if self._ran_out is not None:
            raise AssertionError(self._ran_out)
        left = self._items[len(self.requests) :]
        if left:
            raise AssertionError(f"{len(left)} scripted answers were not used, first {left[0]!r}")


class Scripted(Protocol):
    """Whatever answers by a script."""

    def assert_used(self) -> None:
        """Raise AssertionError if the script ran out or was not used up."""
        ...


class Watch:
    """Sees everything with a script that is made."""

    def __init__(self) -> None:
        self.made: list[Scripted] = []


watching: ContextVar[Watch | None] = ContextVar("remit_scripted_models", default=None)


def _answer(item: Given) -> Answer:
    if isinstance(item, Answer):
        return item
    if isinstance(item, Say | Call):
        return Answer(item)
    if isinstance(item, Sequence):
        return Answer(*item)
    raise TypeError(f"{item!r} is no scripted answer")


def _cut(text: str, pieces: int | Sequence[str] | None) -> Sequence[str]:
    if isinstance(pieces, int):
        if pieces < 1:
            raise ValueError(f"pieces must be at least 1, not {pieces}")
        size = max(1, -(-len(text) // pieces))
        return [text[at : at + size] for at in range(0, len(text), size)]
    if pieces is not None:
        if "".join(pieces) != text:
            raise ValueError(f"the pieces {pieces!r} are not those of {text!r}")
        return pieces
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + ([words[-1]] if words[-1] else [])
