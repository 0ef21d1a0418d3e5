"""What the tests of tools leave to the collector shall fail here and not later."""

import gc
from typing import Any

import pytest


@pytest.fixture(autouse=True, scope="module")
def no_leftovers() -> Any:
    """What is collected after these tests must not complain: it shall fail here and not later."""
    yield
    gc.collect()
