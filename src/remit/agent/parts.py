"""What a message to an agent is made of, and whether its model takes that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from remit.models.protocol import Card
from remit.values.content import Image, Pdf, Text, well_formed
from remit.values.errors import ConfigError
from remit.values.messages import Message, UserMessage

Content = str | Sequence[Text | Image | Pdf]
"""A message as it is given: text, or a list of texts, images and PDFs."""

IMAGE_BYTES = 5_000_000
PDF_BYTES = 20_000_000
MESSAGE_BYTES = 20_000_000
MESSAGE_PARTS = 50

# Only what every reader of URLs takes apart in the same way.
_URL = re.compile(r"https://([a-z0-9.-]+)(?:[/?#][!-\[\]-~]*)?", re.IGNORECASE)


def user_message(content: Content) -> UserMessage:
    """What a person said. Raises ConfigError for what no provider takes."""
    if isinstance(content, str):
        return UserMessage((_text(content),))
    if isinstance(content, bytes) or not isinstance(content, Sequence):
        raise ConfigError(
            "the message must be text, or a list of Text, Image and Pdf parts, not"
            f" {type(content).__name__}"
        )
    parts = tuple(_part(part) for part in content)
    if not parts:
        raise ConfigError("the message is empty: give it a part")
    if len(parts) > MESSAGE_PARTS:
        raise ConfigError(f"the message has {len(parts)} parts; the most is {MESSAGE_PARTS}")
    size = sum(len(part.data) for part in parts if not isinstance(part, Text))
    if size > MESSAGE_BYTES:
        raise ConfigError(
            f"the message's images and PDFs have {size:,} bytes; the most is {MESSAGE_BYTES:,}"
        )
    return UserMessage(parts)


def check_accepted(card: Card, messages: Iterable[Message]) -> None:
    """Raise ConfigError for a part that the model of this card does not take."""
    for message in messages:
        if type(message) is UserMessage:
            for part in message.content:
                if type(part) is not Text:
                    _check_accepted(card, part)


def accept(card: Card, files: Iterable[Image | Pdf]) -> None:
    """`check_accepted` of what is no text."""
    for file in files:
        _check_accepted(card, file)


def _check_accepted(card: Card, part: Any) -> None:
    kind = "image" if isinstance(part, Image) else "pdf"
    if kind not in card.accepts:
        takes = ", ".join(sorted(card.accepts)) or "nothing"
        raise ConfigError(
            f"the model takes {takes}, and a message holds {part!r}: if it reads them, say so on"
            f' its card, with accepts={{"text", "{kind}"}}'
        )
    if not part.url:
        return
    found = _URL.fullmatch(part.url)
    if found is None:
        raise ConfigError(f"{part.url!r:.200} is no plain https:// URL: give the bytes instead")
    if found[1].lower() not in card.hosts:
        raise ConfigError(
            f"the host of {part.url!r:.200} is not allowed: name it in the card's hosts=, or give"
            " the bytes instead"
        )


def _part(part: object) -> Text | Image | Pdf:
    match part:
        case Text():
            return _text(part.text)
        case Image():
            _check_file(part, IMAGE_BYTES)
            if part.data and part.media_type is None:
                raise ConfigError(f"{part!r} is no PNG, JPEG, GIF or WebP")
        case Pdf():
            _check_file(part, PDF_BYTES)
            if part.data and b"%PDF-" not in part.data[:1024]:
                raise ConfigError(f"{part!r} is no PDF")
            if not isinstance(part.name, str) or not part.name.strip():
                raise ConfigError(f"a Pdf needs a file's name, not {part.name!r}")
        case _:
            raise ConfigError(
                f"a message is made of Text(…), Image(…) and Pdf(…) parts, not of {part!r:.80}"
            )
    return part


def _check_file(part: Image | Pdf, most: int) -> None:
    kind = type(part).__name__
    if not isinstance(part.data, bytes) or not isinstance(part.url, str):
        raise ConfigError(f"{kind} takes bytes, or url= with text; {kind}.read(path) reads a file")
    if bool(part.data) == bool(part.url):
        raise ConfigError(f"{kind} takes bytes or a URL: give one of them")
    if len(part.data) > most:
        raise ConfigError(f"{part!r} is too large: the most is {most:,} bytes")


def _text(text: str) -> Text:
    if not isinstance(text, str) or not text.strip():
        raise ConfigError("the message is empty: providers refuse blank text")
    return Text(well_formed(text))
