"""What the log says of a run that failed."""

from __future__ import annotations

import logging

import pytest

from remit.errors import ConnectionFailedError, ProviderError
from remit.options import Retry
from remit.store.memory import MemoryStore
from remit.testing import ScriptedModel
from remit.testing.clock import ManualClock
from tests.journeys.clerk import app_of, clerk, ended


@pytest.mark.parametrize(
    ("error", "is_traced"),
    [
        (ProviderError(status=401, message="No such key"), False),
        (ConnectionFailedError(reason="no route", may_cost=False), False),
        (ValueError("a bug"), True),
    ],
    ids=["refused", "unreached", "bug"],
)
async def test_what_a_provider_says_is_one_line_and_a_bug_has_its_traceback(
    error: Exception, is_traced: bool, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    agent = clerk(ScriptedModel([error]), retry=Retry(attempts=1))
    with caplog.at_level(logging.ERROR, "remit"):
        async with app_of(agent, MemoryStore(clock), clock) as app:
            run = await ended(app, await app.start("clerk", "x"))

    (record,) = caplog.records
    assert run.error is not None
    assert (record.exc_info is not None) is is_traced
    assert run.id in record.getMessage()
    assert is_traced or str(error) in record.getMessage()
