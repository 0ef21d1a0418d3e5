"""What a run tells while it goes on.

Facts come from the journal: they carry its sequence number `seq` and, since one entry can give
several events, an `index` within it. Passing events (deltas, progress) carry a `delta_id`
instead; they are never replayed.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from remit.values.content import Call
from remit.values.messages import ToolMessage
from remit.values.results import Result, Turn, Waiting
from remit.values.usage import Usage


class FactEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """An event that the journal holds. `id` is where a reader goes on after a reconnect."""

    seq: int
    index: int = 0
    turn: int = 0

    @property
    def id(self) -> str:
        """The event's place in the run: `"12.0"` is the first event of entry 12."""
        return f"{self.seq}.{self.index}"


class PassingEvent(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", gc=False
):
    """An event that is shown once, live. A higher `attempt` starts the turn's text anew. Its
    `id` is None: a reader goes on after the last one that is not."""

    id: ClassVar[None] = None
    turn: int
    attempt: int
    delta_id: int


class TextEvent(PassingEvent, frozen=True, tag="text", gc=False):
    """A piece of the answer's text. Of an answer of a type `partial` is what can be read of it so
    far, as plain data, now and then: it takes the place of the one before, and its last text may
    go on. Where the model does not give the answer as text, `text` is then empty."""

    kind: ClassVar[str] = "text"
    text: str
    partial: Any = None


def has_partial(event: object) -> bool:
    """Whether `event` tells what can be read so far of an answer of a type."""
    return type(event) is TextEvent and event.partial is not None


def without_partial(event: TextEvent) -> TextEvent:
    """`event` as it is kept for a reader whom a newer one waits for, too: the value of that one
    takes its place."""
    return msgspec.structs.replace(event, partial=None)


class ReasoningEvent(PassingEvent, frozen=True, tag="reasoning", gc=False):
    """A piece of the model's reasoning."""

    kind: ClassVar[str] = "reasoning"
    text: str


class ToolProgressEvent(PassingEvent, frozen=True, tag="tool_progress", gc=False):
    """What a running tool tells of itself: `text`, or a `fraction` from 0 to 1."""

    kind: ClassVar[str] = "tool_progress"
    call_id: str
    text: str | None = None
    fraction: float | None = None


class ToolCallEvent(FactEvent, frozen=True, tag="tool_call"):
    """The model asked for a call."""

    kind: ClassVar[str] = "tool_call"
    call: Call


class ToolResultEvent(FactEvent, frozen=True, tag="tool_result"):
    """A call has its result."""

    kind: ClassVar[str] = "tool_result"
    call: Call
    result: ToolMessage


class UsageEvent(FactEvent, frozen=True, tag="usage"):
    """What one model call used."""

    kind: ClassVar[str] = "usage"
    model: str
    usage: Usage


class TurnEvent(FactEvent, frozen=True, tag="turn"):
    """The model's part of a turn is recorded; `record.text` is its final text."""

    kind: ClassVar[str] = "turn"
    record: Turn


class BrakeEvent(FactEvent, frozen=True, tag="brake"):
    """The run goes in circles: the model is told to change course, or the run is `stopped`.
    `brake` is `repeated_calls`, `failing_tool` (its name is `tool`) or `repeated_text`."""

    kind: ClassVar[str] = "brake"
    brake: str
    stopped: bool = False
    tool: str | None = None


class FoldEvent(FactEvent, frozen=True, tag="fold"):
    """The history was made shorter: the results of the calls `cleared` are shown to the model no
    more, those of `kept` are. With a `brief` that stands in for the first `covers` messages of the
    conversation; `usage_id` is of what writing it used."""

    kind: ClassVar[str] = "fold"
    number: int
    cleared: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    covers: int = 0
    brief: str | None = None
    usage: Usage | None = None
    usage_id: str | None = None


class SubagentEvent(FactEvent, frozen=True, tag="subagent"):
    """A fact of `agent`, which works in the call `call_id`: an `event` of its own run, to its
    `done`. What it waits with stands in the `pending` of the run that a person is asked by."""

    kind: ClassVar[str] = "subagent"
    call_id: str
    agent: str
    event: InnerEvent


class SubagentDeltaEvent(PassingEvent, frozen=True, tag="subagent_delta"):
    """What passes in `agent`, which works in the call `call_id`: an `event` of its own run."""

    kind: ClassVar[str] = "subagent_delta"
    call_id: str
    agent: str
    event: InnerPassing


class FallbackEvent(FactEvent, frozen=True, tag="fallback"):
    """The `model` failed, and `next` takes over for the rest of the run. `failure` is the sort of
    it, like `busy`, and `error` its words."""

    kind: ClassVar[str] = "fallback"
    model: str
    next: str
    failure: str
    status: int | None = None
    error: str = ""


class RetryEvent(FactEvent, frozen=True, tag="retry"):
    """The `model` is asked again after `wait` seconds, and what it had given stands no more.
    `failure` says why. Where it failed before its first token that is the sort of it, like `busy`,
    and `error` its words; where it may have charged something, a `usage` event with the estimate
    comes first. An answer was none with `invalid_output`, which is no value of the agent's type,
    and `malformed_output`, a call written as text."""

    kind: ClassVar[str] = "retry"
    model: str
    wait: float
    failure: str
    status: int | None = None
    error: str = ""


class PendingEvent(FactEvent, frozen=True, tag="pending"):
    """The run waits for people's decisions."""

    kind: ClassVar[str] = "pending"
    pending: tuple[Waiting, ...]


class DoneEvent(FactEvent, frozen=True, tag="done"):
    """The run has stopped for good; the last event. `error` is set where it has no finish."""

    kind: ClassVar[str] = "done"
    result: Result | None = None
    error: str | None = None


Event = (
    TextEvent
    | ReasoningEvent
    | ToolProgressEvent
    | ToolCallEvent
    | ToolResultEvent
    | UsageEvent
    | TurnEvent
    | BrakeEvent
    | FoldEvent
    | FallbackEvent
    | RetryEvent
    | SubagentEvent
    | SubagentDeltaEvent
    | PendingEvent
    | DoneEvent
)
InnerEvent = (
    ToolCallEvent
    | ToolResultEvent
    | UsageEvent
    | TurnEvent
    | BrakeEvent
    | FoldEvent
    | FallbackEvent
    | RetryEvent
    | SubagentEvent
    | DoneEvent
)
InnerPassing = TextEvent | ReasoningEvent | ToolProgressEvent | SubagentDeltaEvent
