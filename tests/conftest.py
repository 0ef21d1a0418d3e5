"""What every test gets: the stores' fixtures, scripts that are checked, and a guard against
silent skips.

With `REMIT_NO_SKIP=1` a skipped test fails, unless its reason opens with `absent:`, which
says that a file is missing that no install step could have brought.
"""

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

pytest_plugins = ["tests.fixtures_postgres", "tests.fixtures_store", "remit.testing.plugin"]

ALLOWED = "absent:"

# A machine with other work to do is no failure of the law that is tested.
settings.register_profile("house", deadline=None)
settings.load_profile("house")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not hasattr(report, "wasxfail"):
        refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    refuse_skip(report)
    return report


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure where none is allowed."""
    if report.outcome != "skipped" or os.environ.get("REMIT_NO_SKIP") != "1":
        return
    where, reason = reason_of(report)
    if reason.startswith(ALLOWED):
        return
    report.outcome = "failed"
    report.longrepr = f"{where}: skipped although REMIT_NO_SKIP=1: {reason}"


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str]:
    if not isinstance(report.longrepr, tuple):
        return report.nodeid, str(report.longrepr)
    path, line, reason = report.longrepr
    return f"{path}:{line}", reason.removeprefix("Skipped: ")
