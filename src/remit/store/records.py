"""What crosses the store: rows, requests and outcomes, all plain and frozen.

Times are microseconds: `wall` ones since 1970, by the store's own clock.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from remit.store.money import Denied, Granted, Hold, Settlement
from remit.values.results import Status

CANCEL = "cancel"
"""The key of the signal that asks a running run to stop."""
MESSAGE = "message/"
"""What the keys of messages begin with; the message's id follows."""
ENCODED = b"\x00"
"""What a body begins with that went through a codec: no JSON does."""
ENCODED_TEXT = "encoded:"
"""What an encoded text begins with, where a store keeps text and no bytes."""


class Entry(msgspec.Struct, frozen=True):
    """One entry of a run's journal. `seq` counts from 1 without gaps."""

    seq: int
    token: int
    format: int
    body: bytes


class StartKey(msgspec.Struct, frozen=True):
    """What makes a start happen once. `key` is whole: it names the tenant, user and program too.
    `digest` is that of what was asked, so that the same key cannot ask for something else."""

    key: str
    digest: bytes


class Base(msgspec.Struct, frozen=True):
    """What a run builds on: `run`, up to its entry `seq`."""

    run: str
    seq: int


class NewRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run to be made, with its first entry. `thread` is the whole key of a thread.

    With `key` it is made once, for as long as the store lives. `due` is the wall time before
    which it is not claimed. On a busy thread it is refused, or with `enqueue` waits its turn
    behind at most that many others. `base` is what a fork builds on, on a thread that nobody has
    used; without it the run builds on its thread's newest ended run as that is when its turn
    comes.
    """

    id: str
    program: str
    body: bytes
    format: int
    tenant: str | None = None
    user: str | None = None
    thread: str | None = None
    key: StartKey | None = None
    due: int | None = None
    enqueue: int | None = None
    base: Base | None = None

    def __post_init__(self) -> None:
        if self.thread is not None and self.due is not None:
            raise ValueError("a run on a thread is due when its turn comes")


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A run as the store knows it. `created`, `ended` and `due` are wall times.

    `due` is when the run may be claimed at the earliest; a queued run without it waits for its
    thread. `refused` is why the last process that claimed it could not drive it, until another
    has claimed it.
    """

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
    due: int | None = None
    base: Base | None = None
    refused: str | None = None


class Head(msgspec.Struct, frozen=True):
    """The two things that tell whether a run has news."""

    seq: int
    status: Status


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A run that a worker holds from this moment, under a token of its own.

    `inbox` is how many signals have come so far. `since_lost` is how many seconds ago the last
    lost holder's lease ended, None if the run never lost one since this machine started. `now` is
    the wall time, and never before what the run was due at.
    """

    run: str
    program: str
    token: int
    seq: int
    inbox: int
    deaths: int
    now: int
    since_lost: float | None = None


class Refusal(msgspec.Struct, frozen=True):
    """That code of the deployment `deploy` cannot drive a run, and why."""

    deploy: str
    reason: str


class Append(msgspec.Struct, frozen=True, kw_only=True):
    """One write of a lease holder: entries, money, and the next status if that changes.

    `seq` is the last sequence number that the holder knows, `seen` the inbox that it has looked
    at. The next status is `paused`, or an end. A paused run waits for `asks`, the keys that want
    an answer, beside those that still do; until the wall time `due`, if there is one; and for any
    message, if it `listens`. What comes first queues it, answers only when none is left to come.
    `withdraws` are keys that want no answer any more. `settles` is money spent, `holds` money
    reserved for what comes next.
    """

    run: str
    token: int
    seq: int
    entries: tuple[bytes, ...]
    format: int
    status: Status | None = None
    seen: int = 0
    asks: tuple[str, ...] = ()
    due: int | None = None
    listens: bool = False
    withdraws: tuple[str, ...] = ()
    settles: tuple[Settlement, ...] = ()
    holds: tuple[Hold, ...] = ()

    def __post_init__(self) -> None:
        if self.status in ("queued", "running"):
            raise ValueError(f"a lease holder cannot make its run {self.status}")
        if self.status != "paused" and (self.asks or self.listens or self.due is not None):
            raise ValueError("only a pause waits for something")
        for key in self.asks:
            if key == CANCEL or key.startswith(MESSAGE):
                raise ValueError(f"the key {key!r} is no question's: it is kept for signals")
        if self.status is not None and self.holds:
            raise ValueError("money is held for a run that goes on")
        if len({hold.name for hold in self.holds}) < len(self.holds):
            raise ValueError("a run holds money once under a name")


class Appended(msgspec.Struct, frozen=True):
    """It is stored; `inbox` is how many signals have come so far. `grants` answers each hold, in
    order: one that was denied was not made, and its entries are stored all the same."""

    seq: int
    inbox: int
    grants: tuple[Granted | Denied, ...] = ()


class Fenced(msgspec.Struct, frozen=True):
    """Nothing was written: the lease or the sequence number is no longer the writer's."""


class News(msgspec.Struct, frozen=True):
    """Nothing was written: signals came that the writer has not looked at. Look, and go on."""

    inbox: int


class Created(msgspec.Struct, frozen=True):
    """The run is made and queued."""


class Existing(msgspec.Struct, frozen=True):
    """Nothing was made: `run` was made for the same start key. With `other` it was made for
    something else that was asked; it may be deleted by now."""

    run: str
    other: bool = False


class Busy(msgspec.Struct, frozen=True):
    """Nothing was made: `run` is live on the thread, and `waiting` others wait behind it. To a run
    that brings a base, `run` may also be the newest that ended there."""

    run: str
    waiting: int = 0


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
    that the run does not ask for; both are empty where the run has ended."""

    status: Status
    answered: Mapping[str, bytes] = {}
    unknown: tuple[str, ...] = ()


class Stopped(msgspec.Struct, frozen=True):
    """The run was waiting and has ended as cancelled, with the entry that was brought."""

    seq: int


class Signalled(msgspec.Struct, frozen=True):
    """The run is being driven; its holder will end it as cancelled."""


class Sent(msgspec.Struct, frozen=True):
    """The message is stored, and whoever drives the run will find it."""


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
