"""Images and PDFs as Chat Completions takes them."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from remit.values.content import Image, Pdf, Text
from remit.values.errors import ConfigError


def content(parts: Iterable[Text | Image | Pdf]) -> list[dict[str, Any]]:
    """A message's content in parts. Raises ConfigError for the URL of a PDF, which has no place
    in Chat Completions."""
    return [_part(part) for part in _merged(parts)]


def _part(part: Text | Image | Pdf) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image():
            url = part.url or _inline(part.media_type or "image/png", part.data)
            return {"type": "image_url", "image_url": {"url": url}}
        case Pdf():
            if part.url:
                raise ConfigError(
                    "Chat Completions takes no URL of a PDF: give its bytes, with Pdf(data) or"
                    " Pdf.read(path)"
                )
            held = {"filename": part.name, "file_data": _inline("application/pdf", part.data)}
            return {"type": "file", "file": held}


def _merged(parts: Iterable[Text | Image | Pdf]) -> Iterable[Text | Image | Pdf]:
    """The parts, adjacent texts as one."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, Text):
            texts.append(part.text)
            continue
        if texts:
            yield Text("".join(texts))
            texts = []
        yield part
    if texts:
        yield Text("".join(texts))


def _inline(media_type: str, body: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(body).decode()}"
