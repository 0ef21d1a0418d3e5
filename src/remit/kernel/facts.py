"""The facts that a run's journal holds, each stored as one entry.

Tags and field names are on disk for good: fields are only added, with a default. What they hold
is data, in which nothing can lead back to them: hence `gc=False`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from remit.store.records import ENCODED
from remit.values import codec
from remit.values.errors import StoreError
from remit.values.identity import Caller
from remit.values.results import Finish, Status


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="t", gc=False):
    """One thing that happened. `at` is milliseconds since 1970, by the writer's clock."""

    at: int


class Asked(Fact, frozen=True, tag="asked"):
    """Somebody asked for the run; `input` is for its program alone."""

    input: Any
    user: str | None = None
    tenant: str | None = None
    thread: str | None = None
    by: Caller | None = None


class Dated(msgspec.Struct, frozen=True, gc=False):
    """A step's value that not every reader knows."""

    @property
    def format(self) -> int:
        """The oldest format whose readers know all that it says."""
        return 1


class Stepped(Fact, frozen=True, tag="step"):
    """The step `name` is done, gave `value` and took `took` milliseconds.

    With `error` it failed for good, and gave nothing. `digest` is that of what it was given,
    where a program compares that.
    """

    name: str
    value: Any
    took: int = 0
    error: str | None = None
    digest: str | None = None


class Started(Fact, frozen=True, tag="started"):
    """The step `name` is about to begin; it is one that nobody may make twice."""

    name: str


class Ask(msgspec.Struct, frozen=True):
    """A question that the run waits with, under a key of its own."""

    key: str
    question: Any


class Paused(Fact, frozen=True, tag="paused"):
    """The run waits, and no process holds it: for answers, until `due` (milliseconds since
    1970), and for any message if it `listens`."""

    asks: tuple[Ask, ...]
    due: int | None = None
    listens: bool = False


class Answered(Fact, frozen=True, tag="answered"):
    """Somebody answered the question `key`."""

    key: str
    value: Any
    by: Caller | None = None


class Received(Fact, frozen=True, tag="received"):
    """Somebody sent the run a message; `id` is the message's own."""

    id: str
    value: Any
    by: Caller | None = None


class Finished(Fact, frozen=True, tag="finished"):
    """The run ended. `error` says what ended it where `finish` does not."""

    status: Status
    finish: Finish | None = None
    reason: str | None = None
    error: str | None = None
    output: Any = None


class Unknown(msgspec.Struct, frozen=True):
    """A fact of a later format: it is kept and shown, and not driven past."""

    raw: bytes


AnyFact = Asked | Stepped | Started | Paused | Answered | Received | Finished | Unknown
_Known = Asked | Stepped | Started | Paused | Answered | Received | Finished
_read: Callable[[bytes], AnyFact] = codec.reader(_Known)  # type: ignore[arg-type]  # a union is a type form
_STEP = b'{"t":"step",'


def format_of(fact: AnyFact) -> int:
    """The oldest format whose readers know all that `fact` says."""
    match fact:
        case Started() | Received():
            return 2
        case Stepped():
            value = fact.value
            is_later = fact.error is not None or fact.digest is not None
            return 2 if is_later else value.format if isinstance(value, Dated) else 1
        case Finished(finish="stuck" | "exhausted"):
            return 2
        case Paused():
            return 2 if fact.due is not None or fact.listens else 1
        case _:
            return 1


def is_step(body: bytes) -> bool:
    """Whether an entry's body begins as a step's, which is told without reading it."""
    return body.startswith(_STEP)


def decode(body: bytes) -> AnyFact:
    """The fact that an entry's body holds. Raises StoreError for one that is still encoded."""
    try:
        return _read(body)
    except msgspec.DecodeError:
        check_decoded(body)
        return Unknown(body)


def check_decoded(body: bytes) -> None:
    """Raise StoreError for a body that went through a codec which the store has not."""
    if body.startswith(ENCODED):
        raise StoreError(
            reason="what is stored of this run is encoded, and no codec is set: give the App the"
            " payload that it was written with, App(payload=…), and a command that App,"
            " --app MODULE:APP."
        )
