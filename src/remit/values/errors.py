"""Errors, grouped by what the runtime does with them; a class's docstring is its message."""

from __future__ import annotations

from dataclasses import dataclass

from remit.values.identity import Caller
from remit.values.kinds import ConfigError as ConfigError
from remit.values.kinds import Final, Retryable
from remit.values.kinds import LetGo as LetGo
from remit.values.kinds import Refused as Refused
from remit.values.kinds import RemitError as RemitError


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
    answered: bool = True
    """Whether it was a model's server that answered, as far as can be told: a page is of none."""

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
    """The connection to the model's provider failed: {reason}."""

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
    """Thread {thread!r} is busy with run {run}, behind which {waiting} wait: start with
    if_busy="enqueue" to wait in line (up to 100 do), cancel that run, or use another thread."""

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
