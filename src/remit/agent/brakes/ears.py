"""Listening to an answer while it streams."""

from __future__ import annotations

from remit.agent.brakes.decide import Brakes
from remit.agent.brakes.repetition import Repetition
from remit.models.request import CallChunk, Chunk, ReasoningChunk, TextChunk

HEARD = frozenset({TextChunk, ReasoningChunk, CallChunk})
"""The kinds of pieces that are listened to."""


class Ears:
    """Listens to one answer: to its text, its reasoning and its calls' arguments, each alone."""

    __slots__ = ("_brakes", "_heard", "_over")

    def __init__(self, brakes: Brakes) -> None:
        self._brakes = brakes
        self._heard: dict[type, Repetition] = {}
        self._over = False

    def hear(self, chunk: Chunk) -> bool:
        """Take the next piece; whether the answer is to be cut after it, since it goes in circles.

        Arguments that do are cut only where still more of them come: those that have ended are an
        ordinary call.
        """
        kind = type(chunk)
        if kind is TextChunk or kind is ReasoningChunk:
            piece = chunk.text  # type: ignore[union-attr]  # by its exact type
            heard = self._heard.get(kind)
            if heard is None or type(piece) is not str:
                return self._add(kind, piece)
            return heard.add(piece)
        if kind is not CallChunk:
            return False
        over, piece = self._over, chunk.arguments  # type: ignore[union-attr]  # by its exact type
        self._over = self._add(kind, piece) or over
        return over and bool(piece)

    def _add(self, kind: type, piece: object) -> bool:
        # What is no text is told of when the answer is put together.
        if type(piece) is not str:
            return False
        heard = self._heard.get(kind)
        if heard is None:
            heard = Repetition(self._brakes.loop_chars, self._brakes.loop_times)
            self._heard[kind] = heard
        return heard.add(piece)
