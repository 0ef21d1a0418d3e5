"""How many tokens a request reads, as far as that can be told without its model."""

from __future__ import annotations

from msgspec.structs import replace

from remit.models.protocol import Card
from remit.models.request import ModelRequest
from remit.values import codec
from remit.values.content import Image, Text
from remit.values.messages import Message, UserMessage

_BYTES_A_TOKEN = 4


def tokens(value: object) -> int:
    """A token for every four bytes of `value` as JSON."""
    return -(-len(codec.encode(value)) // _BYTES_A_TOKEN)


def request_tokens(request: ModelRequest, card: Card) -> int:
    """What `request` reads; images and PDFs count by the card, and not as text."""
    said = [message for message in request.messages if type(message) is UserMessage]
    files = [part for message in said for part in message.content if type(part) is not Text]
    if not files:
        return tokens(request)
    counted = sum(
        card.image_tokens if isinstance(file, Image) else card.pdf_tokens for file in files
    )
    bare = tuple([_bare(message) for message in request.messages])
    return counted + tokens(replace(request, messages=bare))


def _bare(message: Message) -> Message:
    """`message` without images and PDFs."""
    if not isinstance(message, UserMessage):
        return message
    return replace(message, content=tuple(p for p in message.content if isinstance(p, Text)))
