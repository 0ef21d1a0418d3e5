"""From the events of an answer, as Anthropic sends them, to remit's own pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from remit.models.anthropic.blocks import REDACTED
from remit.models.anthropic.usage import Tally
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

_STOPS: dict[str, Stop] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "pause",
    "refusal": "refusal",
}


@dataclass(slots=True)
class _Open:
    """A block that has begun."""

    kind: object
    number: int = 0
    given: object = None
    """The arguments of a call that came whole, with its beginning."""
    signature: str = ""
    told: bool = False
    """Whether a piece of the arguments came."""


class Reader(listening.Reader):
    """Reads one answer. Whatever it does not know it passes over: events, blocks and deltas of
    other kinds, among them the tools that Anthropic runs itself."""

    def __init__(self, asked: object = None) -> None:
        super().__init__()
        self.stopped = False
        """Whether the answer's last event came."""
        self._blocks: dict[int, _Open] = {}
        self._calls = 0
        self._tally = Tally()
        self._usage: Usage | None = None
        self._asked = asked
        self._cut = False
        self._said = False
        self._refused: object = None

    @property
    def ended(self) -> bool:
        """Whether nothing that comes now belongs to the answer."""
        return self.error is not None or self.stopped

    def cut(self) -> None:
        """Take what has come as all of the answer, which goes on beyond its length."""
        self.finish, self._cut = "max_tokens", True

    def close(self) -> Iterator[Chunk]:
        """What can be told once the answer is whole."""
        for block in self._blocks.values():
            yield from self._end(block)
        stop = self._stop()
        if stop == "refusal" and not self._said and isinstance(self._refused, str):
            yield TextChunk(self._refused)
        # Of an answer without any report the loop makes an estimate.
        usage = self._usage and filled(self._usage, self._asked, self.made, cut=self._cut)
        if usage is not None and usage != self._usage:
            yield UsageChunk(usage)
        yield StopChunk(stop)

    def _read(self, event: dict[str, Any]) -> Iterator[Chunk]:
        match event.get("type"):
            case "message_start":
                self.moved += 1
                yield from self._report(_dict(event, "message"))
            case "content_block_start":
                self.moved += 1
                yield from self._begin(_index(event), _dict(event, "content_block"))
            case "content_block_delta":
                yield from self._go_on(_index(event), _dict(event, "delta"))
            case "content_block_stop":
                self.moved += 1
                block = self._blocks.pop(_index(event), None)
                yield from () if block is None else self._end(block)
            case "message_delta":
                yield from self._report(event)
                self._finish(_dict(event, "delta"))
            case "message_stop":
                self.stopped = True
            case "message":
                yield from self._whole(event)
            case "error":
                self.error = event
            case None if event.get("error"):
                self.error = event

    def _whole(self, message: dict[str, Any]) -> Iterator[Chunk]:
        """An answer that came in one piece, as from a server that does not stream."""
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else []):
            if isinstance(block, dict):
                yield from self._begin(index, block)
                yield from self._end(self._blocks.pop(index))
        yield from self._report(message)
        self._finish(message)
        self.stopped = True

    def _begin(self, index: int, block: dict[str, Any]) -> Iterator[Chunk]:
        for at, other in self._blocks.items():
            # A server may leave out that a block is over.
            if other.kind == "thinking" or at == index:
                yield from self._end(other)
        opened = self._blocks[index] = _Open(block.get("type"))
        self.error = self.error or too_many(len(self._blocks), "blocks")
        match opened.kind:
            case "text":
                yield from self._say(block.get("text"))
            case "thinking":
                yield from self._think(opened, block)
            case "redacted_thinking":
                if isinstance(block.get("data"), str):
                    yield ReasoningChunk("", block["data"], REDACTED)
            case "tool_use":
                opened.number, opened.given = self._calls, block.get("input")
                self._calls += 1
                self.error = self.error or too_many(self._calls, "calls")
                name = block.get("name")
                yield CallChunk(opened.number, name if isinstance(name, str) else "")

    def _go_on(self, index: int, delta: dict[str, Any]) -> Iterator[Chunk]:
        block = self._blocks.get(index)
        self.moved += any(value for name, value in delta.items() if name != "type")
        match delta.get("type"):
            case "text_delta":
                yield from self._say(delta.get("text"))
            case "thinking_delta" | "signature_delta":
                yield from self._think(block or _Open("thinking"), delta)
            case "input_json_delta" if block and block.kind == "tool_use":
                piece = delta.get("partial_json")
                if isinstance(piece, str) and piece:
                    block.told = block.told or bool(piece.strip())
                    self.made += len(piece.encode("utf-8", "replace"))
                    yield CallChunk(block.number, "", piece)

    def _end(self, block: _Open) -> Iterator[Chunk]:
        if block.kind == "tool_use" and block.given and not block.told:
            block.told = True
            given = json.dumps(block.given)
            self.made += len(given)
            yield CallChunk(block.number, "", given)
        if block.signature:
            # It stands for the whole block, and what follows it is another one.
            signature, block.signature = block.signature, ""
            yield ReasoningChunk("", signature)

    def _say(self, text: object) -> Iterator[Chunk]:
        if isinstance(text, str) and text:
            self._said = True
            self.made += len(text.encode("utf-8", "replace"))
            yield TextChunk(text)

    def _think(self, block: _Open, piece: dict[str, Any]) -> Iterator[Chunk]:
        text, signature = piece.get("thinking"), piece.get("signature")
        if isinstance(signature, str) and signature:
            block.signature = signature
        if isinstance(text, str) and text:
            self.made += len(text.encode("utf-8", "replace"))
            yield ReasoningChunk(text)

    def _report(self, holder: dict[str, Any]) -> Iterator[Chunk]:
        usage = self._tally.take(holder.get("usage"))
        if usage is not None:
            self._usage = usage
            yield UsageChunk(usage)

    def _finish(self, delta: dict[str, Any]) -> None:
        reason = delta.get("stop_reason")
        if isinstance(reason, str) and reason:
            self.moved += self.finish is None
            self.finish = reason
        self._refused = _dict(delta, "stop_details").get("explanation") or self._refused

    def _stop(self) -> Stop:
        stop = _STOPS.get(self.finish or "", "end")
        return "calls" if self._calls and stop == "end" else stop


def _dict(holder: dict[str, Any], name: str) -> dict[str, Any]:
    found = holder.get(name)
    return found if isinstance(found, dict) else {}


def _index(event: dict[str, Any]) -> int:
    """A block's place in the answer; a server that does not tell it sends one after another."""
    index = event.get("index")
    return index if type(index) is int else 0
