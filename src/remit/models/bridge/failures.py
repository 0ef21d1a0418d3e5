"""From pydantic-ai's errors to remit's, without anyone's key in them."""

from __future__ import annotations

from dataclasses import replace

import httpx2
from pydantic_ai import exceptions as theirs

from remit.models.wire.astray import told
from remit.models.wire.failures import provider_error, reason, scrub, was_sent
from remit.values.errors import (
    ConfigError,
    ConnectionFailedError,
    ProviderError,
    RemitError,
)

_BROKEN = (httpx2.TransportError, httpx2.StreamError, theirs.ModelConnectionError, OSError)
"""What says that the connection failed, or that nothing came in time."""


def failure(error: Exception, secret: str | None, seconds: float, asked: str = "") -> RemitError:
    """What `error` is to remit. `secret` is the key that was sent, `seconds` how long nothing may
    come, `asked` the host and the path that were asked."""
    if isinstance(error, RemitError):
        return error
    if isinstance(error, theirs.ModelHTTPError):
        return _answered(error, secret, asked)
    if type(error) is TimeoutError:
        words = f"nothing came for {seconds:g} seconds"
        return ConnectionFailedError(reason=words, may_cost=was_sent(error))
    if isinstance(error, _BROKEN):
        return ConnectionFailedError(reason=reason(error, secret), may_cost=was_sent(error))
    if isinstance(error, theirs.UserError | ImportError):
        return ConfigError(f"the bridge cannot ask: {scrub(str(error), secret)}")
    if isinstance(error, theirs.ModelAPIError) and error.body is not None:
        return provider_error(error.body, status=200, headers={}, secret=secret)
    return ProviderError(message=reason(error, secret))


def _answered(error: theirs.ModelHTTPError, secret: str | None, asked: str) -> ProviderError:
    body = str(error) if error.body is None else error.body
    body = told(error.status_code, body, asked)
    found = provider_error(
        body, status=error.status_code, headers=error.headers or {}, secret=secret
    )
    code = found.code or error.provider_error_code or error.provider_error_type
    waits = error.retry_after if found.retry_after is None else found.retry_after
    named = None if code is None else scrub(code, secret)
    return replace(found, code=named, retry_after=waits)
