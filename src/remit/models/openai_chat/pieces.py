"""From the chunks of an answer, as servers send them, to remit's own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from remit.models.openai_chat.calls import Calls, rescued
from remit.models.openai_chat.usage import read_usage
from remit.models.request import (
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

DETAILS = "reasoning_details"
FIELDS = ("reasoning_content", "reasoning")
_STOPS: dict[str, Stop] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}


class Reader(listening.Reader):
    """Reads one answer. Whatever it does not know it passes over."""

    def __init__(self, tools: Iterable[str] = (), asked: object = None) -> None:
        super().__init__()
        self._calls = Calls(tools)
        self._usage: Usage | None = None
        self._refused = False
        self._details: dict[tuple[int | None, str], dict[str, Any]] = {}
        self._choice: object = None
        self._asked = asked
        self._cut = False

    def refuse(self, reported: object) -> None:
        """The request was refused; this is what the server reported, which may hold a call."""
        self.take({"error": reported})

    def cut(self) -> None:
        """Take what has come as all of the answer, which goes on beyond its length."""
        self.finish, self._cut = "length", True

    def close(self) -> Iterator[Chunk]:
        """What can be told once the answer is whole."""
        if self._details:
            yield ReasoningChunk("", json.dumps(list(self._details.values())))
        yield from self._calls.close()
        usage = filled(self._usage, self._asked, self.made, cut=self._cut)
        if usage != self._usage:
            yield UsageChunk(usage)
        yield StopChunk(self._stop())

    def _read(self, chunk: dict[str, Any]) -> Iterator[Chunk]:
        yield from self._report(chunk.get("usage"))
        groq = chunk.get("x_groq")
        if isinstance(groq, dict):
            yield from self._report(groq.get("usage"))
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and self._is_ours(choice):
                yield from self._choose(choice)
        error = chunk if chunk.get("object") == "error" else chunk.get("error")
        if error:
            yield from self._fail(error)

    def _is_ours(self, choice: dict[str, Any]) -> bool:
        """Whether this is the answer that came first, where a server sends several."""
        index = choice.get("index")
        self._choice = index if self._choice is None else self._choice
        return index is None or index == self._choice

    def _choose(self, choice: dict[str, Any]) -> Iterator[Chunk]:
        delta = choice.get("delta")
        if not delta and not self.moved:
            delta = choice.get("message")
        if isinstance(delta, dict):
            yield from self._think(delta)
            yield from self._say(delta.get("content"))
            yield from self._refuse(delta.get("refusal"))
            yield from self._call(delta)
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            self.moved += self.finish is None
            self.finish = finish
        yield from self._report(choice.get("usage"))
        error = choice.get("error")
        if error or finish == "error":
            yield from self._fail(error or {"message": "it stopped with an error"})

    def _think(self, delta: dict[str, Any]) -> Iterator[Chunk]:
        details = delta.get(DETAILS)
        for detail in details if isinstance(details, list) else []:
            if isinstance(detail, dict):
                self._detail(detail)
        for field in FIELDS:
            text = delta.get(field)
            if isinstance(text, str) and text:
                self.made += len(text.encode("utf-8", "replace"))
                yield ReasoningChunk(text, field)
                return

    def _detail(self, detail: dict[str, Any]) -> None:
        """Join a detail's pieces: its texts grow, anything else is set once it is known."""
        self.moved += 1
        index, kind = detail.get("index"), detail.get("type")
        place = (index if type(index) is int else None, kind if isinstance(kind, str) else "")
        whole = self._details.setdefault(place, {})
        for name, value in detail.items():
            if name in ("text", "summary", "data") and isinstance(value, str):
                before = whole.get(name)
                whole[name] = before + value if isinstance(before, str) else value
            elif value or name not in whole:
                whole[name] = value

    def _say(self, content: object) -> Iterator[Chunk]:
        """Text, or parts of which some are text and some reasoning."""
        if isinstance(content, str):
            if content:
                self.made += len(content.encode("utf-8", "replace"))
                yield TextChunk(content)
            return
        for part in content if isinstance(content, list) else []:
            if not isinstance(part, dict):
                continue
            thought = part.get("thinking")
            for inner in thought if isinstance(thought, list) else [{"text": thought}]:
                if isinstance(inner, dict) and isinstance(inner.get("text"), str):
                    self.made += len(inner["text"].encode("utf-8", "replace"))
                    yield ReasoningChunk(inner["text"], "thinking")
            if part.get("type") in (None, "text", "output_text"):
                yield from self._say(part.get("text"))

    def _refuse(self, refusal: object) -> Iterator[Chunk]:
        if isinstance(refusal, str) and refusal:
            self._refused = True
            yield from self._say(refusal)

    def _call(self, delta: dict[str, Any]) -> Iterator[Chunk]:
        entries = delta.get("tool_calls")
        if isinstance(entries, dict):
            entries = [entries]
        if not isinstance(entries, list):
            legacy = delta.get("function_call")
            entries = [{"index": 0, "function": legacy}] if isinstance(legacy, dict) else []
        self.moved += bool(entries)
        self.made += sum(len(str(entry)) for entry in entries)
        self.error = self.error or too_many(len(entries), "calls")
        if self.error is None:
            yield from self._calls.take(entries)
            self.error = self.error or too_many(len(self._calls), "calls")

    def _report(self, report: object) -> Iterator[Chunk]:
        usage = read_usage(report)
        if usage is None or usage == self._usage:
            return
        if self._usage is None or usage.tokens:
            self._usage = usage
            yield UsageChunk(usage)

    def _fail(self, error: object) -> Iterator[Chunk]:
        call = rescued(error)
        if call is None:
            self.error = error
            return
        self.finish = "tool_calls"
        yield from self._calls.take([{"function": call}])

    def _stop(self) -> Stop:
        stop = _STOPS.get(self.finish or "", "end")
        if self._refused:
            return "refusal"
        return "calls" if self._calls and stop == "end" else stop
