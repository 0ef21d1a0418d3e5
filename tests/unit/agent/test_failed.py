"""What is kept of a model call that failed."""

from __future__ import annotations

from remit.agent.recorded.failed import Failed, error_fields
from remit.errors import ProviderError


def test_an_error_comes_out_of_the_record_as_it_went_in() -> None:
    error = ProviderError(
        status=429, code="busy", request_id="req_7", retry_after=3.0, message="Try later"
    )

    found = Failed(model="a:one", why="busy", **error_fields(error)).error  # type: ignore[arg-type]  # by name

    assert isinstance(found, ProviderError)
    for name in ("status", "code", "request_id", "retry_after", "message"):
        assert getattr(found, name) == getattr(error, name)
