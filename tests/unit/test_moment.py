"""Times that people give are bounded, and what is stored is always told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from remit.agent.view import listed
from remit.errors import ConfigError
from remit.store.records import RunRow
from remit.values.moment import microseconds, moment

EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))


@pytest.mark.parametrize(
    "when",
    [
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(2026, 11, 30, 12, 0, 0, 1, tzinfo=EAST),
        datetime(8999, 12, 31, 11, 59, 59, 999_999, tzinfo=WEST),
    ],
)
def test_a_time_is_stored_and_told_to_the_microsecond(when: datetime) -> None:
    assert moment(microseconds(when, "at")) == when


@pytest.mark.parametrize(
    "when",
    [
        datetime.max.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=WEST),
        datetime.min.replace(tzinfo=UTC),
        datetime.min.replace(tzinfo=EAST),
        datetime(9000, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1),
        1.5,
        None,
    ],
)
def test_what_is_no_time_to_wait_for_is_refused(when: object) -> None:
    with pytest.raises(ConfigError, match="the time to test"):
        microseconds(when, "the time to test")


@pytest.mark.parametrize("stored", [2**63 - 1, 253_402_300_800_000_000, -1, -(2**63)])
def test_a_run_is_listed_whatever_time_is_stored(stored: int) -> None:
    row = RunRow(
        id="r",
        program="desk@1",
        status="queued",
        seq=1,
        token=0,
        tenant=None,
        user=None,
        thread=None,
        deaths=0,
        created=stored,
        ended=stored,
        due=stored,
    )

    run = listed(row)

    assert run.due is not None
    for zone in (EAST, WEST):
        assert run.due.astimezone(zone) == run.due
