"""Errors, grouped by what the runtime does with them; a class's docstring is its message."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from remit.values.identity import Caller
from remit.values.messages import Message
from remit.values.usage import Usage


class RemitError(Exception):
    """remit could not go on."""

    messages: Sequence[Message] = ()
    """What the run had added to its conversation when this was raised."""
    usage: Usage | None = None
    """What the run had used when this was raised."""

    def __post_init__(self) -> None:
        Exception.__init__(self, _message(type(self), vars(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, dict(vars(self)))


def _message(cls: type[RemitError], facts: dict[str, Any]) -> str:
    """The docstring with its facts; an interpreter that drops docstrings leaves the facts."""
    doc = cls.__doc__ or ""
    if not doc or doc.startswith(f"{cls.__name__}("):
        return ", ".join([cls.__name__, *(f"{name}={value!r}" for name, value in facts.items())])
    return inspect.cleandoc(doc).format(**facts)


def _rebuild(cls: type[RemitError], args: tuple[Any, ...], facts: dict[str, Any]) -> RemitError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(facts)
    Exception.__init__(error, *args)
    return error


class Retryable(RemitError):
    """It may go well when it is tried again later."""


class Final(RemitError):
    """It will not go well however often it is tried: the run fails."""


class Refused(RemitError):
    """It is told to the model, and the run goes on."""


class LetGo(BaseException):
    """This process drops the run; whoever holds it next goes on from the journal."""


class ConfigError(Final):
    """Something is set up so that it cannot work; the message says the mend."""


class DriverMissingError(ConfigError):
    """The driver of a store is not installed; the message says how to install it."""


@dataclass(eq=False, kw_only=True)
class ProviderError(Final):
    """The model's provider answered with status {status}{detail}."""

    status: int | None = None
    code: str | None = None
    request_id: str | None = None
    retry_after: float | None = None
    message: str = ""
    may_cost: bool = False
    """Whether tokens may have been charged: the answer had begun, or nothing says that it had
    not."""

    @property
    def detail(self) -> str:
        """The provider's own words, as they end the message."""
        return "".join(f": {part}" for part in (self.code, self.message) if part)

    def __post_init__(self) -> None:
        Exception.__init__(
            self, f"The model's provider answered with status {self.status}{self.detail}."
        )


@dataclass(eq=False, kw_only=True)
class ConnectionFailedError(Final):
    """The model's provider could not be reached: {reason}."""

    reason: str
    may_cost: bool = True
    """Whether tokens may have been charged: False where nothing was sent."""


@dataclass(eq=False, kw_only=True)
class StoreError(Retryable):
    """The store failed: {reason}"""

    reason: str


@dataclass(eq=False, kw_only=True)
class EffectError(StoreError):
    """The work in the store's transaction broke its rules: {reason}"""

    may_stay: bool = False
    """Whether what it did may be stored, without a record of it."""


@dataclass(eq=False, kw_only=True)
class RunNotFoundError(Final):
    """The store holds no run {run!r}: look with `remit runs list` and check the store's address."""

    run: str


@dataclass(eq=False, kw_only=True)
class ThreadBusyError(Final):
    """Thread {thread!r} is busy with run {run}, behind which {waiting} wait: wait for it, cancel
    it, or use another thread."""

    thread: str
    run: str
    waiting: int = 0


@dataclass(eq=False, kw_only=True)
class StartKeyError(Final):
    """Start key {key!r} has made run {run} for something else that was asked: one key stands for
    one message; use another for another."""

    key: str
    run: str


@dataclass(eq=False, kw_only=True)
class RunEndedError(Final):
    """Run {run} is {status}: nobody reads what is sent to it. Start another."""

    run: str
    status: str


@dataclass(eq=False, kw_only=True)
class NotPausedError(Final):
    """Run {run} is {status} and waits for no decision{detail}."""

    run: str
    status: str
    detail: str = ""


@dataclass(eq=False, kw_only=True)
class AlreadyDecidedError(Final):
    """Call {call} of run {run} was already decided by {by}: only the first decision counts."""

    run: str
    call: str
    by: str
    caller: Caller | None = None


@dataclass(eq=False, kw_only=True)
class EditRefusedError(Final):
    """The edited arguments of call {call} do not fit the tool {tool!r}: {problem}
    The run stays paused; decide again with arguments that fit."""

    call: str
    tool: str
    problem: str


@dataclass(eq=False, kw_only=True)
class UserIdError(Final):
    """{kind} {value!r} is not an id: give the app's own id, 1 to 64 of A-Z a-z 0-9 . _ : -
    and never an e-mail address or a name, since it stands in every usage record."""

    kind: str
    value: object


class ToolError(Refused):
    """What a tool raises to tell the model, word for word, what to do next."""


@dataclass(eq=False, kw_only=True)
class StepFailedError(Final):
    """Step {step!r} failed: {error}"""

    step: str
    error: str


@dataclass(eq=False, kw_only=True)
class DefinitionChangedError(Final):
    """The code does not fit what is recorded of run {run}. Recorded, at entry {seq}: {recorded}.
    This code: {driven}. The run waits for code that fits: deploy what it began with, or keep
    both ways apart with `await run.patched(name)`."""

    run: str
    seq: int
    recorded: str
    driven: str


@dataclass(eq=False, kw_only=True)
class AnswerRefusedError(Final):
    """The answer to question {question!r} of run {run} does not fit: {problem}
    The run stays paused; answer again with a value that fits."""

    run: str
    question: str
    problem: str


@dataclass(eq=False, kw_only=True)
class ToolBusyError(Retryable):
    """The tool could not take the call: {reason}. The same call is made again later, after
    `retry_after` seconds where they are given, until the tool's timeout; the model is not told."""

    reason: str = "it is busy"
    retry_after: float | None = None
