"""The parts that messages are made of."""

from __future__ import annotations

from typing import Any

import msgspec


class Part(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="t", gc=False):
    """One part of a message."""


class Text(Part, frozen=True, tag="text"):
    """Plain text."""

    text: str


class Reasoning(Part, frozen=True, tag="reasoning"):
    """A model's reasoning, with the signature its maker wants back byte for byte."""

    text: str
    signature: str | None = None
    maker: str | None = None


class Call(Part, frozen=True, tag="call"):
    """A tool call that a model asked for.

    `id` pairs it with its result and is unique in a thread. `key` is its idempotency key.
    `malformed` is the text of arguments that are not a JSON object; `arguments` is then empty.
    `misnamed` is the name as the model wrote it, where that is no legal name; `name` is then a
    legal one that stands for it and calls nothing.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    key: str
    malformed: str | None = None
    misnamed: str | None = None


def well_formed(text: str) -> str:
    """`text` with the halves of each surrogate pair joined; lone halves are kept."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def sendable(text: str) -> str:
    """`text` as a provider can take it: each lone surrogate is U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
