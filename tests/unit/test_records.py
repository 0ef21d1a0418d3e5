"""What crosses the store is refused where it contradicts itself."""

from __future__ import annotations

from typing import Any

import pytest

from remit.store.money import Charge, Hold
from remit.store.records import Append, NewRun

HOLD = Hold(name="h", nano=1, ceilings=(), charge=Charge(model="m", purpose="p", body=b""))


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "queued"},
        {"status": "running"},
        {"asks": ("k",)},
        {"status": "succeeded", "asks": ("k",)},
        {"status": "succeeded", "due": 1},
        {"listens": True},
        {"status": "succeeded", "holds": (HOLD,)},
        {"status": "paused", "asks": ("cancel",)},
        {"status": "paused", "asks": ("k", "message/m_1")},
    ],
)
def test_an_append_asks_for_one_thing(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Append(run="r", token=1, seq=1, entries=(b"x",), format=1, **wrong)


def test_a_run_on_a_thread_has_no_time_of_its_own() -> None:
    with pytest.raises(ValueError, match="when its turn comes"):
        NewRun(id="r", program="p@1", body=b"x", format=1, thread="t", due=1)
