"""A pytest plugin: a test fails if a script of its own ran out or was not used up."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from remit.testing.model import _made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Collect the scripted models that the test makes, and check them when it has passed."""
    made: list[object] = []
    token = _made.set(made)  # type: ignore[arg-type]  # filled by ScriptedModel alone
    try:
        outcome = yield
    finally:
        _made.reset(token)
    for model in made:
        model.assert_used()  # type: ignore[attr-defined]  # filled by ScriptedModel alone
    return outcome
