"""A conversation's messages.

They hold data, in which nothing can lead back to them: `gc=False` spares the collector, which
would otherwise walk every message of every live run.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from remit.values.content import Call, Image, Pdf, Reasoning, Text

ResultStatus = Literal["ok", "error", "timeout", "denied", "refused", "not_run"]


class UserMessage(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="user", tag_field="t", gc=False
):
    """What a person, or the app for them, said."""

    content: tuple[Text | Image | Pdf, ...]

    @property
    def text(self) -> str:
        """All text of the message."""
        return "".join([part.text for part in self.content if isinstance(part, Text)])

    @property
    def files(self) -> tuple[Image | Pdf, ...]:
        """Its images and PDFs, in order."""
        return tuple([part for part in self.content if not isinstance(part, Text)])


class AssistantMessage(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="assistant", tag_field="t", gc=False
):
    """What a model said and asked for, its parts in the order in which they came."""

    content: tuple[Text | Reasoning | Call, ...]
    model: str = ""

    @property
    def text(self) -> str:
        """All text of the message, without its reasoning."""
        return "".join([part.text for part in self.content if isinstance(part, Text)])

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls, in order."""
        return tuple([part for part in self.content if isinstance(part, Call)])


class ToolMessage(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="tool", tag_field="t", gc=False
):
    """The result of one call, as the model reads it."""

    call_id: str
    tool: str
    text: str
    status: ResultStatus = "ok"


Message = UserMessage | AssistantMessage | ToolMessage
