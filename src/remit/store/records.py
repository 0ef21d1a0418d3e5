"""What crosses the store: rows, requests and outcomes, all plain and frozen.

Times are microseconds: `wall` ones since 1970, by the store's own clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Status = Literal["queued", "running", "paused", "succeeded", "failed", "cancelled"]
ENDED: frozenset[str] = frozenset({"succeeded", "failed", "cancelled"})
CANCEL = "cancel"
"""The key of the signal that asks a running run to stop."""


class Entry(msgspec.Struct, frozen=True):
    """One entry of a run's journal. `seq` counts from 1 without gaps."""

    seq: int
    token: int
    format: int
    body: bytes


class NewRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run to be made, with its first entry. `thread` is the whole key of a thread."""

    id: str
    program: str
    body: bytes
    format: int
    tenant: str | None = None
    user: str | None = None
    thread: str | None = None


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run as the store knows it. `created` and `ended` are wall times."""

    id: str
    program: str
    status: Status
    seq: int
    token: int
    tenant: str | None
    user: str | None
    thread: str | None
    deaths: int
    created: int
    ended: int | None


class Head(msgspec.Struct, frozen=True):
    """The two things that tell whether a run has news."""

    seq: int
    status: Status


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a worker holds from this moment, under a token of its own.

    `inbox` is how many signals have come so far. `since_lost` is how many seconds ago the last
    lost holder's lease ended, None if the run never lost one since this machine started.
    """

    run: str
    program: str
    token: int
    seq: int
    inbox: int
    deaths: int
    since_lost: float | None = None


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """One write of a lease holder: entries, and the next status if that changes.

    `seq` is the last sequence number that the holder knows, `seen` the inbox that it has looked
    at. The next status is `paused`, with `asks` the keys that wait for an answer, or an end.
    """

    run: str
    token: int
    seq: int
    entries: tuple[bytes, ...]
    format: int
    status: Status | None = None
    seen: int = 0
    asks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.status in ("queued", "running"):
            raise ValueError(f"a lease holder cannot make its run {self.status}")


class Appended(msgspec.Struct, frozen=True):
    """It is stored; `inbox` is how many signals have come so far."""

    seq: int
    inbox: int


class Fenced(msgspec.Struct, frozen=True):
    """Nothing was written: the lease or the sequence number is no longer the writer's."""


class News(msgspec.Struct, frozen=True):
    """Nothing was written: signals came that the writer has not looked at. Look, and go on."""

    inbox: int


class Created(msgspec.Struct, frozen=True):
    """The run is made and queued."""


class Busy(msgspec.Struct, frozen=True):
    """Nothing was made: `run` is live on the thread."""

    run: str


class Signal(msgspec.Struct, frozen=True):
    """A key that was asked for, or sent; `answer` is None until it is answered.

    `id` was made by who answered; `at` is a wall time.
    """

    key: str
    answer: bytes | None
    id: str | None = None
    at: int | None = None


class Delivered(msgspec.Struct, frozen=True):
    """All answers are stored; `left` is how many keys still wait."""

    left: int


class Undelivered(msgspec.Struct, frozen=True):
    """Nothing was stored. `answered` holds the keys that have an answer already, `unknown` those
    that the run does not ask for; both are empty where the run is not paused."""

    status: Status
    answered: Mapping[str, bytes] = {}
    unknown: tuple[str, ...] = ()


class Stopped(msgspec.Struct, frozen=True):
    """The run was waiting and has ended as cancelled, with the entry that was brought."""

    seq: int


class Signalled(msgspec.Struct, frozen=True):
    """The run is being driven; its holder will end it as cancelled."""


class Over(msgspec.Struct, frozen=True):
    """The run had ended already, or does not exist (status None); nothing was changed."""

    status: Status | None


class Held(msgspec.Struct, frozen=True):
    """A run that a worker holds, as its heartbeat sees it."""

    run: str
    token: int
    inbox: int


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs to list, newest first; `before` is the id that ended the page before.

    `names` are those of programs, without their versions.
    """

    status: Status | None = None
    names: tuple[str, ...] | None = None
    user: str | None = None
    tenant: str | None = None
    thread: str | None = None
    before: str | None = None
    limit: int = 50
