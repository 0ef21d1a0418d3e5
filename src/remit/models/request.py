"""What a model is asked, and the pieces in which it answers."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from remit.values.messages import Message
from remit.values.usage import Usage

__all__ = [
    "CallChunk",
    "Chunk",
    "ModelRequest",
    "OutputSpec",
    "ReasoningChunk",
    "Stop",
    "StopChunk",
    "TextChunk",
    "ToolSpec",
    "UsageChunk",
]

Stop = Literal["end", "calls", "length", "refusal", "pause"]
"""`pause`: the model is not done, and goes on when it is asked again."""


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as a model sees it."""

    name: str
    description: str
    schema: dict[str, Any]


class OutputSpec(msgspec.Struct, frozen=True, kw_only=True):
    """The form that the answer must have, as a JSON Schema. `strict` is the schema of an object in
    the form that strict modes take, for providers that keep answers to one; None where there is
    none. It may be `recursive`, which not every provider knows."""

    tool: str
    schema: dict[str, Any]
    strict: dict[str, Any] | None = None
    recursive: bool = False


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One model call. `max_output` is the most tokens that the answer may have. `tool_choice` is
    "auto", "none", "required" (some tool), or the name of the tool that must be called.

    With `output` the answer is JSON that fits its schema. A model answers with a call of the tool
    that it names, which is among the `tools`; one whose provider keeps answers to a schema leaves
    that tool out and answers with JSON of the `strict` schema as text (`models/structured.py`).
    """

    instructions: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output: int = 4096
    tool_choice: str = "auto"
    output: OutputSpec | None = None


class TextChunk(msgspec.Struct, frozen=True, gc=False):
    """A piece of text."""

    text: str


class ReasoningChunk(msgspec.Struct, frozen=True, gc=False):
    """A piece of reasoning; the last of a block may bring the whole block's signature. What comes
    behind a signature without it is another block. `form` is the maker's word for a block that is
    no plain text."""

    text: str
    signature: str | None = None
    form: str = ""


class CallChunk(msgspec.Struct, frozen=True, gc=False):
    """A piece of a tool call: `index` tells the calls of an answer apart, `arguments` is a piece
    of JSON text, and `signature` what the maker wants back with the call."""

    index: int
    name: str = ""
    arguments: str = ""
    signature: str | None = None


class UsageChunk(msgspec.Struct, frozen=True, gc=False):
    """What the call has used so far; the last one counts."""

    usage: Usage


class StopChunk(msgspec.Struct, frozen=True, gc=False):
    """Why the model stopped."""

    stop: Stop


Chunk = TextChunk | ReasoningChunk | CallChunk | UsageChunk | StopChunk
