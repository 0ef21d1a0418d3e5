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
    bare: list[Message] = []
    counted = 0
    for message in request.messages:
        if isinstance(message, UserMessage) and (files := message.files):
            counted += sum(
                card.image_tokens if isinstance(file, Image) else card.pdf_tokens for file in files
            )
            texts = tuple(part for part in message.content if isinstance(part, Text))
            bare.append(replace(message, content=texts))
        else:
            bare.append(message)
    return counted + tokens(replace(request, messages=tuple(bare)) if counted else request)
