"""The parts that messages are made of."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, Self

import msgspec

_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
)


class Part(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="t", gc=False):
    """One part of a message."""


class Text(Part, frozen=True, tag="text"):
    """Plain text."""

    text: str


class Image(Part, frozen=True, tag="image"):
    """A picture: the bytes of a PNG, JPEG, GIF or WebP, or the URL of one.

    `Image(data)`, `Image.read(path)`, `Image(url="https://…")`. A URL is handed to the provider,
    which fetches it; remit never does.
    """

    data: bytes = b""
    url: str = ""

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """The picture in a file."""
        return cls(Path(path).read_bytes())

    @property
    def media_type(self) -> str | None:
        """What its bytes begin as, like `image/png`; None for what is no picture."""
        for mark, at, media_type in _PICTURES:
            if self.data[at : at + len(mark)] == mark:
                return media_type
        return None

    def __repr__(self) -> str:
        return f"Image({self.url or f'{len(self.data)} bytes'})"


class Pdf(Part, frozen=True, tag="pdf"):
    """A PDF: its bytes, or its URL, which is handed to the provider. `name` is a file's name.

    `Pdf(data)`, `Pdf.read(path)`, `Pdf(url="https://…")`.
    """

    data: bytes = b""
    url: str = ""
    name: str = "document.pdf"

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Self:
        """The PDF in a file, under the file's name."""
        return cls(Path(path).read_bytes(), name=Path(path).name)

    def __repr__(self) -> str:
        return f"Pdf({self.url or f'{self.name}, {len(self.data)} bytes'})"


class Reasoning(Part, frozen=True, tag="reasoning"):
    """A model's reasoning, with the signature its maker wants back byte for byte. `form` is its
    maker's word for what else than plain text it is, such as `redacted`."""

    text: str
    signature: str | None = None
    maker: str | None = None
    form: str = ""


class Call(Part, frozen=True, tag="call"):
    """A tool call that a model asked for.

    `id` pairs it with its result and is unique in a thread. `key` is its idempotency key.
    `malformed` is the text of arguments that are not a JSON object; `arguments` is then empty.
    `misnamed` is the name as the model wrote it, where that is no legal name; `name` is then a
    legal one that stands for it and calls nothing. `signature` is what its maker wants back with it
    byte for byte.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    key: str
    malformed: str | None = None
    misnamed: str | None = None
    signature: str | None = None


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
