"""From what went wrong on the wire to remit's errors, without anyone's key in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from remit.values.errors import ProviderError

_LONGEST = 500
_KEYS = re.compile(r"\b(?:(?:sk|pk|rk|gsk|xai|key)[-_]|AIza|ya29\.|Bearer\s+)[A-Za-z0-9_*.\-]{6,}")
_TAGS = re.compile(r"<[^>]*>")
_REQUEST_IDS = ("x-request-id", "request-id", "apim-request-id", "x-groq-id")
_HIDDEN = "[hidden]"
_UNSENT = frozenset(
    {
        "ClientConnectorDNSError",
        "ClientConnectorError",
        "ConnectError",
        "ConnectTimeout",
        "ConnectionTimeoutError",
        "PoolTimeout",
        "ProxyError",
        "UnsupportedProtocol",
    }
)
"""What HTTP clients raise before any of a request has gone out."""


def provider_error(
    error: object, *, status: int, headers: Mapping[str, str], secret: str | None
) -> ProviderError:
    """The error that a server reported, in a refusal's body or in the middle of an answer.

    A status inside of the report stands for that of an answer that had begun with 200.
    """
    inside = _inside(error)
    code = inside.get("code")
    told = code if type(code) is int else inside.get("status_code")
    if status == 200 and type(told) is int and 400 <= told < 600:
        status = told
    kind = code if isinstance(code, str) else inside.get("type")
    return ProviderError(
        status=status,
        code=scrub(kind, secret) if isinstance(kind, str) and kind else None,
        request_id=next((headers[name] for name in _REQUEST_IDS if name in headers), None),
        retry_after=retry_after(headers),
        message=scrub(_message(error, inside), secret),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How many seconds a server asks to be left alone: a number, or a date after its own."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after")
    seconds = _number(given)
    if seconds is not None or given is None:
        return seconds
    try:
        until, sent = (parsedate_to_datetime(text) for text in (given, headers.get("date", "")))
        return max((until - sent).total_seconds(), 0.0)
    except (ValueError, TypeError, OverflowError):
        return None


def scrub(text: str, secret: str | None) -> str:
    """`text` on one line, shortened, with keys hidden."""
    if secret and len(secret) > 5:
        text = text.replace(secret, _HIDDEN)
    line = " ".join(_KEYS.sub(_HIDDEN, text).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def reason(error: BaseException, secret: str | None) -> str:
    """What a connection broke of: the innermost cause's kind and words."""
    while error.__cause__ is not None:
        error = error.__cause__
    words = scrub(str(error), secret)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def was_sent(error: BaseException) -> bool:
    """Whether the request that `error` ended may have gone out."""
    found: BaseException | None = error
    while found is not None:
        if not _UNSENT.isdisjoint(kind.__name__ for kind in type(found).__mro__):
            return False
        found = found.__cause__
    return True


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def _inside(error: object) -> dict[str, Any]:
    """The part of a report that holds its code and its words."""
    if isinstance(error, list) and error:
        error = error[0]
    if not isinstance(error, dict):
        return {}
    inner = error.get("error")
    return inner if isinstance(inner, dict) else error


def _message(error: object, inside: dict[str, Any]) -> str:
    found = inside.get("message") or inside.get("detail") or inside.get("error")
    if not isinstance(found, str):
        found = error if isinstance(error, str) else str(found or "")
    metadata = inside.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    words = f"{found}: {raw}" if isinstance(raw, str) else found
    return _TAGS.sub(" ", words) if words.lstrip()[:1] == "<" else words
