"""Images and PDFs as Gemini takes them."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from remit.values.content import Image, Pdf, Text
from remit.values.errors import ConfigError

_PDF = "application/pdf"


def parts_of(parts: Iterable[Text | Image | Pdf]) -> list[dict[str, Any]]:
    """A message's parts: bytes inline, a URL by name. Raises ConfigError for a GIF, which Gemini
    does not read."""
    return [_part(part) for part in parts]


def _part(part: Text | Image | Pdf) -> dict[str, Any]:
    match part:
        case Text():
            return {"text": part.text}
        case Image():
            if part.url:
                return _named(part.url, mimetypes.guess_type(urlsplit(part.url).path)[0])
            return _inline(part.data, _readable(part.media_type))
        case Pdf():
            return _named(part.url, _PDF) if part.url else _inline(part.data, _PDF)


def _readable(media_type: str | None) -> str:
    if media_type == "image/gif":
        raise ConfigError("Gemini reads no GIF: give a PNG, a JPEG or a WebP")
    return media_type or "image/png"


def _inline(body: bytes, media_type: str) -> dict[str, Any]:
    return {"inlineData": {"mimeType": media_type, "data": base64.b64encode(body).decode()}}


def _named(url: str, media_type: str | None) -> dict[str, Any]:
    known = {} if media_type is None else {"mimeType": media_type}
    return {"fileData": known | {"fileUri": url}}
