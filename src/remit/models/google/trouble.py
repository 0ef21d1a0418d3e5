"""From Gemini's reports of what went wrong to remit's errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from remit.models.wire.failures import provider_error
from remit.values.errors import ProviderError

_AFTER = "retry-after"
_WORD = re.compile(r"[A-Z_]+")


def told(
    error: object, *, status: int, headers: Mapping[str, str], secret: str | None
) -> ProviderError:
    """The error that Gemini reported, in a refusal's body or in the middle of an answer. Its code
    is Gemini's word for the status, such as `RESOURCE_EXHAUSTED`."""
    inside = _inside(error)
    if inside is None:
        return provider_error(error, status=status, headers=headers, secret=secret)
    word = inside.get("status")
    report = {
        "message": inside.get("message") or inside.get("error"),
        # Beside what is no report of Gemini's stand words of HTTP's, such as `Bad Gateway`.
        "code": word if isinstance(word, str) and _WORD.fullmatch(word) else None,
        "status_code": inside.get("code"),
    }
    seconds = _delay(inside.get("details"))
    if seconds is not None and _AFTER not in headers:
        headers = {**headers, _AFTER: seconds}
    return provider_error(report, status=status, headers=headers, secret=secret)


def _inside(error: object) -> dict[str, Any] | None:
    if isinstance(error, list) and error:
        error = error[0]
    if not isinstance(error, dict):
        return None
    inner = error.get("error")
    return inner if isinstance(inner, dict) else error


def _delay(details: object) -> str | None:
    """The seconds of a `google.rpc.RetryInfo` among the details, which are written as `34.5s`."""
    for detail in details if isinstance(details, list) else []:
        given = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(given, str):
            return given.removesuffix("s")
    return None
