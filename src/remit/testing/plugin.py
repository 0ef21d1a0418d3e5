"""A pytest plugin: a test fails if a script of its own ran out or was not used up, and one with
the fixture `no_network` reaches nothing but loopback."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from remit.testing import network
from remit.testing.model import Watch, watching


def pytest_configure(config: pytest.Config) -> None:
    """Watch for as long as pytest lasts: also loops that live longer than one test see it."""
    config.stash[_WATCH] = Watch()
    watching.set(config.stash[_WATCH])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Each test has its own scripts."""
    item.config.stash[_WATCH].made.clear()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """A script that several tests share is none of the first one's."""
    made = request.config.stash[_WATCH].made
    before = len(made)
    value = yield
    if fixturedef.scope != "function":
        del made[before:]
    return value


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Check the scripts of a test that has passed."""
    outcome = yield
    for model in item.config.stash[_WATCH].made:
        model.assert_used()
    return outcome


@pytest.fixture
def no_network() -> Generator[None, None, None]:
    """Nothing in this test reaches further than loopback."""
    with network.no_network():
        yield


_WATCH = pytest.StashKey[Watch]()
