"""From the events of an answer, as servers send them, to remit's own chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from remit.models.openai_chat.calls import tool_name
from remit.models.openai_chat.usage import read_usage
from remit.models.openai_responses import marks
from remit.models.request import (
    CallChunk,
    Chunk,
    ReasoningChunk,
    Stop,
    StopChunk,
    TextChunk,
    UsageChunk,
)
from remit.models.wire import listening
from remit.models.wire.counts import filled, too_many
from remit.values.usage import Usage

Event = dict[str, Any]

_MESSAGE, _REASONING, _CALL = "message", "reasoning", "function_call"
_SAYS = ("output_text", "refusal")
_APART = "\n\n"
_STREAMED = {
    "response.output_text": (_MESSAGE, "output_text", "content_index", "text"),
    "response.refusal": (_MESSAGE, "refusal", "content_index", "refusal"),
    "response.reasoning_summary_text": (_REASONING, "summary", "summary_index", "text"),
    "response.reasoning_text": (_REASONING, "content", "content_index", "text"),
    "response.function_call_arguments": (_CALL, "arguments", "", "arguments"),
}
"""What comes in pieces: of which item, as what, numbered by what, and where the whole of it is."""
_ENDS = ("completed", "incomplete", "failed", "cancelled")
_ERRORS = ("error", "response.error")
_REFUSED = "content_filter"


@dataclass(slots=True)
class _Item:
    """An item that comes. `pieces` holds what has come of each of its parts."""

    type: str
    id: str
    head: Event
    number: int = 0
    led_to: bool = False
    """Whether it came right behind reasoning."""
    said: bool = False
    told: bool = False
    """Whether nothing more of it is to come."""
    pieces: dict[tuple[str, int], list[str]] = field(default_factory=dict)


class Reader(listening.Reader):
    """Reads one answer. Whatever it does not know it passes over."""

    def __init__(self, tools: Iterable[str] = (), asked: object = None) -> None:
        super().__init__()
        self.begun = False
        """Whether the server has begun to answer, if only by saying so."""
        self._tools = frozenset(tools)
        self._items: list[_Item] = []
        self._open: dict[int | None, _Item] = {}
        self._calls = 0
        self._said = self._refused = self._cut = self._over = False
        self._usage: Usage | None = None
        self._asked = asked

    @property
    def ended(self) -> bool:
        """Whether nothing that comes now belongs to the answer."""
        return self.error is not None or self.finish is not None

    @property
    def used(self) -> Usage:
        """What the answer has used: as reported, else an estimate of what went to and fro."""
        return filled(self._usage, self._asked, self.made, cut=self._over)

    def cut(self) -> None:
        """Take what has come as all of the answer, which goes on beyond its length."""
        self.finish = "incomplete"
        self._cut = self._over = True

    def close(self) -> Iterator[Chunk]:
        """What can be told once the answer is whole."""
        for item in self._items:
            yield from self._call(item)
        usage = self.used
        if usage != self._usage:
            yield UsageChunk(usage)
        yield StopChunk(self._stop())

    def _read(self, event: Event) -> Iterator[Chunk]:
        kind = event.get("type")
        name = kind if isinstance(kind, str) else ""
        streamed, _, stage = name.rpartition(".")
        self.begun = self.begun or _is_of_answer(name)
        if streamed in _STREAMED and stage in ("delta", "done"):
            yield from self._stream(event, streamed, stage)
        elif name == "response.output_item.added":
            self.moved += 1
            yield from self._begin(event, _inside(event, "item"))
        elif name == "response.output_item.done":
            self.moved += 1
            yield from self._done(event, _inside(event, "item"))
        elif streamed == "response" and stage in _ENDS:
            yield from self._end(_inside(event, "response"), stage)
        elif event.get("object") == "response" and event.get("status") in _ENDS:
            yield from self._end(event, str(event["status"]))
        elif name in _ERRORS or (event.get("error") and not _is_of_answer(name)):
            told = event.get("error") or {key: event.get(key) for key in ("code", "message")}
            self.error = told
        elif _is_of_answer(name) and "_call" in streamed:
            # The server works on something that it runs itself.
            self.moved += 1

    def _begin(self, event: Event, body: Event) -> Iterator[Chunk]:
        """Begin an item; where a server gives several one place, the one before has ended."""
        before = self._items[-1] if self._items else None
        item = _Item(str(body.get("type")), _text(body.get("id")), body)
        item.led_to = before is not None and before.type == _REASONING
        self._items.append(item)
        self.error = self.error or too_many(len(self._items), "items")
        self._open[_place(event)] = item
        if item.type == _CALL:
            item.number, self._calls = self._calls, self._calls + 1
            yield CallChunk(item.number)
        elif item.led_to and item.type not in (_MESSAGE, _REASONING):
            yield marks.other(body)

    def _find(self, event: Event, type: str) -> tuple[_Item, list[Chunk]]:
        """The item that an event is about, and what it brings that nobody told of its beginning."""
        item = self._open.get(_place(event))
        if item is not None and item.type == type:
            return item, []
        of_id = [each for each in self._items if each.id and each.id == event.get("item_id")]
        if of_id:
            return of_id[-1], []
        begun = list(self._begin(event, {"type": type, "id": event.get("item_id")}))
        return self._items[-1], begun

    def _stream(self, event: Event, streamed: str, stage: str) -> Iterator[Chunk]:
        type, part, counted, whole = _STREAMED[streamed]
        item, begun = self._find(event, type)
        yield from begun
        index = event.get(counted, 0)
        place = (part, index if type != _CALL and isinstance(index, int) else 0)
        if stage == "done":
            yield from self._complete(item, place, event.get(whole))
            return
        piece = event.get("delta")
        if isinstance(piece, str) and piece:
            self.moved += 1
            yield from self._grow(item, place, piece)

    def _complete(self, item: _Item, place: tuple[str, int], whole: object) -> Iterator[Chunk]:
        """Take the whole of what came in pieces: some servers send only that."""
        text = _text(whole)
        if not text:
            return
        before = "".join(item.pieces.get(place, ()))
        if text.startswith(before):
            if text != before:
                yield from self._grow(item, place, text[len(before) :])
        elif item.type == _CALL:
            item.pieces[place] = [text]

    def _grow(self, item: _Item, place: tuple[str, int], piece: str) -> Iterator[Chunk]:
        first = place not in item.pieces
        item.pieces.setdefault(place, []).append(piece)
        self.made += len(piece.encode("utf-8", "replace"))
        if item.type == _REASONING:
            yield ReasoningChunk(_APART + piece if first and len(item.pieces) > 1 else piece)
        elif item.type == _MESSAGE:
            self._refused = self._refused or place[0] == "refusal"
            if not item.said and (item.led_to or self._said or item.head.get("phase")):
                yield marks.message(item.head)
            apart = self._said and not item.said
            self._said = item.said = True
            yield TextChunk(_APART + piece if apart else piece)

    def _done(self, event: Event, body: Event) -> Iterator[Chunk]:
        item = self._open.get(_place(event))
        if item is not None and item.told and item.head | body == item.head:
            return  # it is told again
        if item is None or item.told or item.type != body.get("type"):
            yield from self._begin(event, body)
            item = self._items[-1]
        yield from self._finish(item, body)

    def _finish(self, item: _Item, body: Event) -> Iterator[Chunk]:
        """Take a whole item."""
        # What its beginning told of reasoning may be no more than a part of it.
        item.head = body if item.type == _REASONING else item.head | body
        if item.type == _REASONING:
            yield from self._reasoned(item)
        elif item.type == _MESSAGE:
            for number, part in enumerate(_parts(body, "content")):
                if part.get("type") in _SAYS:
                    place = (part["type"], number)
                    yield from self._complete(item, place, part.get("text") or part.get("refusal"))
        elif item.type == _CALL:
            yield from self._call(item)
        item.told = True

    def _reasoned(self, item: _Item) -> Iterator[Chunk]:
        for name in ("summary", "content"):
            for number, part in enumerate(_parts(item.head, name)):
                yield from self._complete(item, (name, number), part.get("text"))
        kept = marks.reasoning(item.head)
        if kept is not None:
            yield kept

    def _call(self, item: _Item) -> Iterator[Chunk]:
        """A call, whole."""
        if item.type != _CALL or item.told:
            return
        item.told = True
        place = ("arguments", 0)
        list(self._complete(item, place, item.head.get("arguments")))
        name = tool_name(_text(item.head.get("name")), self._tools)
        text = "".join(item.pieces.get(place, ()))
        yield CallChunk(item.number, name, text, _text(item.head.get("id")) or None)

    def _end(self, response: Event, status: str) -> Iterator[Chunk]:
        """Take the end of the answer, and of it what nobody told before."""
        streamed = list(self._items)
        told = _parts(response, "output")
        self.error = self.error or too_many(len(told), "items")
        for at, body in enumerate([] if self.error else told):
            if not streamed:
                yield from self._done({"output_index": at}, body)
            for item in streamed:
                if item.id and item.id == body.get("id") and not item.told:
                    yield from self._finish(item, body)
        usage = read_usage(response.get("usage"))
        if usage is not None:
            self._usage = usage
            yield UsageChunk(usage)
        reason = _inside(response, "incomplete_details").get("reason")
        self._refused = self._refused or reason == _REFUSED
        self._cut = status == "incomplete"
        if status in ("failed", "cancelled"):
            self.error = response.get("error") or {"message": f"the answer was {status}"}
        self.finish = status
        self.moved += 1

    def _stop(self) -> Stop:
        if self._refused:
            return "refusal"
        if self._cut:
            return "length"
        return "calls" if self._calls else "end"


def _is_of_answer(name: str) -> bool:
    return name.startswith("response.")


def _place(event: Event) -> int | None:
    place = event.get("output_index")
    return place if isinstance(place, int) else None


def _inside(event: Event, name: str) -> Event:
    found = event.get(name)
    return found if isinstance(found, dict) else {}


def _parts(body: Event, name: str) -> list[Event]:
    found = body.get(name)
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value)
