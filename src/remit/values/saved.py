"""Messages as data-only JSON, to keep them outside of a store and give them back."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from remit.values import codec
from remit.values.errors import ConfigError
from remit.values.messages import Message

FORMAT = 1


class _Saved(msgspec.Struct, frozen=True):
    format: int
    messages: tuple[Message, ...]


def dump(messages: Iterable[Message]) -> str:
    """The messages as JSON text that `load` reads, in this version and all later ones.

    It holds each call's idempotency key, what tools answered and the bytes of images and PDFs:
    keep it like the conversation itself, where nobody else can change it.
    """
    return codec.encode(_Saved(FORMAT, tuple(messages))).decode()


def load(text: str | bytes) -> list[Message]:
    """The messages that `dump` wrote. Raises ConfigError for anything else."""
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    try:
        saved = codec.decode(body, _Saved)
    except msgspec.DecodeError as error:
        raise ConfigError(f"these are no messages that dump() wrote: {error}") from None
    if saved.format > FORMAT:
        raise ConfigError(
            f"the messages are of format {saved.format}, and this remit reads up to {FORMAT}"
        )
    return list(saved.messages)
