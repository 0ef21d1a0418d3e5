"""From an error that Anthropic reports to remit's own."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from remit.models.wire.exchange import Exchange
from remit.models.wire.failures import provider_error
from remit.values.errors import ProviderError

_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_SPENT = re.compile(r"credit balance is too low|specified API usage limits")
"""What a plain 400 says where the money is at its end."""


def failure(source: Exchange, reported: object) -> ProviderError:
    """The error in a refusal, or the one `reported` in an answer that had begun with 200.

    The latter has the status that its kind has in a refusal. Its code is the exact one where
    there is one, else its kind.
    """
    refusal = source.refusal
    report = reported if refusal is None else refusal.body or "it gave no reason"
    status = 200 if refusal is None else refusal.status
    error = provider_error(report, status=status, headers=source.headers, secret=source.secret)
    holder = report if isinstance(report, dict) else {}
    told = _dict(holder, "error")
    if refusal is None and error.status == status:
        error = replace(error, status=_STATUSES.get(str(told.get("type")), status))
    if error.status == 400 and _SPENT.search(error.message):
        error = replace(error, code="billing_error")
    code = _dict(told, "details").get("error_code")
    request_id = error.request_id or holder.get("request_id")
    return replace(
        error,
        code=code if isinstance(code, str) and code else error.code,
        request_id=request_id if isinstance(request_id, str) else None,
    )


def _dict(holder: dict[str, Any], name: str) -> dict[str, Any]:
    found = holder.get(name)
    return found if isinstance(found, dict) else {}
