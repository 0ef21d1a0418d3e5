"""Requests that went to a server that is no model's, as a wrong `base_url` sends them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

_NOWHERE = (404, 405)
_TAGS = re.compile(r"<[^>]*>")
_LONGEST = 200
_BARE = ({"detail"}, {"message", "status"})
"""The fields of reports that frameworks make of themselves, and Google's package of pages."""


def place(response: Any) -> str:
    """The host and the path that were asked, and no more of the URL: there may be keys in it."""
    try:
        return place_of(str(response.url))
    except Exception:  # some responses have no request, and thereby no URL
        return ""


def place_of(url: str) -> str:
    """`place`, of a URL."""
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}"


def mend(asked: str) -> str:
    """What to do about it, where `asked` is the `place`."""
    return f"check base_url: {asked} was asked" if asked else "check base_url"


def told(status: int, body: Any, asked: str) -> Any:
    """A refusal's `body`, with the mend in it where nothing seems to be at the place `asked`."""
    if status not in _NOWHERE or isinstance(body, list):
        return body
    if isinstance(body, Mapping):
        if set(body) not in _BARE:
            return body
        body = body.get("detail", body.get("message"))
    words = " ".join(_TAGS.sub(" ", str(body or "")).split())[:_LONGEST]
    return {"message": f"{words}: {mend(asked)}" if words else mend(asked)}
