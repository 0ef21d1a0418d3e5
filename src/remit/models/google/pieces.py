"""From the chunks of an answer, as Gemini sends them, to remit's own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from remit.models.google.names import Names
from remit.models.google.turns import SIGNS_TEXT
from remit.models.google.usage import counts_in, read_usage
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

_LENGTH = frozenset({"MAX_TOKENS", "CONTINUATION"})
_REFUSED = frozenset(
    {
        *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
        *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
        *("ESCALATION", "PUP_LIMITED_DISABLED"),
    }
)
_BROKEN_CALL = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"})
_ANSWERS = frozenset({"candidates", "promptFeedback", "responseId", "usageMetadata"})
_LONGEST = 20_000


class Reader(listening.Reader):
    """Reads one answer. Whatever it does not know it passes over."""

    def __init__(self, tools: Iterable[str] = (), asked: object = None) -> None:
        super().__init__()
        self.begun = False
        """Whether Gemini has begun to answer, if only by a report."""
        self._names = Names(tools)
        self._asked = asked
        self._cut = False
        self._counts: dict[str, float] = {}
        self._blocked = False
        self._said = False
        self._told = ""
        self._calls = 0

    def take(self, chunk: object) -> list[Chunk]:
        """What the next chunk brings, which may be a list of them. An error in it is left in
        `error`."""
        taken: list[Chunk] = []
        for each in chunk if isinstance(chunk, list) else [chunk]:
            if isinstance(each, dict):
                taken += self._read(each)
        self.moved += bool(taken)
        return taken

    @property
    def failure(self) -> object:
        """What Gemini reported, or what it ended for if there is nothing to show for it and the
        reason is none that an answer can have; None for an answer."""
        if self.error is not None:
            return self.error
        ends = self._said or self.finish in (None, "STOP", *_BROKEN_CALL)
        if ends or self._stop() != "end":
            return None
        return {"status": self.finish, "message": self._told or "it ended without an answer"}

    def cut(self) -> None:
        """Take what has come as all of the answer, which goes on beyond its length."""
        self.finish, self._cut = "MAX_TOKENS", True

    def close(self) -> Iterator[Chunk]:
        """What can be told once the answer is whole."""
        if self.finish in _BROKEN_CALL:
            yield self._broken_call()
        told = read_usage(self._counts) if self._counts else None
        usage = filled(told, self._asked, self.made, cut=self._cut)
        if usage != told:
            yield UsageChunk(usage)
        yield StopChunk(self._stop())

    def _read(self, chunk: dict[str, Any]) -> Iterator[Chunk]:
        self.begun = self.begun or not _ANSWERS.isdisjoint(chunk)
        yield from self._report(chunk.get("usageMetadata"))
        feedback = chunk.get("promptFeedback")
        reason = feedback.get("blockReason") if isinstance(feedback, dict) else None
        if isinstance(reason, str) and reason:
            self._blocked = True
            self._finish(reason)
        candidates = chunk.get("candidates")
        for candidate in candidates if isinstance(candidates, list) else []:
            # Where there are several, the others are other answers.
            if isinstance(candidate, dict) and not candidate.get("index"):
                yield from self._choose(candidate)
        if chunk.get("error"):
            self.error = chunk["error"]

    def _choose(self, candidate: dict[str, Any]) -> Iterator[Chunk]:
        content = candidate.get("content")
        parts = content.get("parts") if isinstance(content, dict) else None
        for part in parts if isinstance(parts, list) else []:
            if isinstance(part, dict):
                yield from self._part(part)
        words = candidate.get("finishMessage")
        self._told = words[:_LONGEST] if isinstance(words, str) else self._told
        reason = candidate.get("finishReason")
        if isinstance(reason, str) and reason:
            self._finish(reason)

    def _finish(self, reason: str) -> None:
        self.moved += self.finish is None
        self.finish = reason

    def _part(self, part: dict[str, Any]) -> Iterator[Chunk]:
        given = part.get("thoughtSignature")
        signature = given if isinstance(given, str) and given else None
        call, text = part.get("functionCall"), part.get("text")
        if isinstance(call, dict):
            yield self._call(call, signature)
            return
        if not isinstance(text, str):
            return
        self.made += len(text.encode("utf-8", "replace"))
        if part.get("thought") is True:
            if text or signature:
                yield ReasoningChunk(text, signature)
            return
        if text:
            self._said = True
            yield TextChunk(text)
        if signature:
            yield ReasoningChunk("", signature, SIGNS_TEXT)

    def _call(self, call: dict[str, Any], signature: str | None) -> CallChunk:
        name, arguments = call.get("name"), _written(call.get("args"))
        self._said = True
        self.made += len(arguments)
        self._calls += 1
        self.error = self.error or too_many(self._calls, "calls")
        named = self._names.own(name) if isinstance(name, str) else ""
        return CallChunk(self._calls - 1, named, arguments, signature)

    def _broken_call(self) -> CallChunk:
        """A call that Gemini could not read, as one that cannot be read: the model is told so."""
        self._calls += 1
        words = self._told.strip() or f"({self.finish})"
        return CallChunk(self._calls - 1, self._names.told_of(words), words)

    def _report(self, report: object) -> Iterator[Chunk]:
        counts = self._counts | counts_in(report)
        if counts != self._counts:
            self._counts = counts
            yield UsageChunk(read_usage(counts))

    def _stop(self) -> Stop:
        if self._blocked or self.finish in _REFUSED:
            return "refusal"
        if self.finish in _LENGTH:
            return "length"
        return "calls" if self._calls else "end"


def _written(arguments: object) -> str:
    """A call's arguments as JSON text; what cannot be written is text that cannot be read."""
    if arguments is None:
        return ""
    try:
        return arguments if isinstance(arguments, str) else json.dumps(arguments)
    except RecursionError:
        return "(nested too deeply)"
