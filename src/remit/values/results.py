"""What a run gives back, while it goes on and when it has stopped."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar, Generic, Literal

import msgspec
from typing_extensions import TypeVar

from remit.values.content import Call
from remit.values.identity import Caller
from remit.values.messages import Message
from remit.values.usage import Usage

Output = TypeVar("Output", default=Any)
Status = Literal["queued", "running", "paused", "succeeded", "failed", "cancelled"]
Finish = Literal[
    "answer",
    "turns",
    "tool_calls",
    "tokens",
    "seconds",
    "budget",
    "stuck",
    "exhausted",
    "approval",
    "length",
    "refusal",
    "cancelled",
]
ENDED: frozenset[Status] = frozenset({"succeeded", "failed", "cancelled"})


class Turn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One model call of a run and the tool calls that it asked for."""

    number: int
    model: str
    usage: Usage
    usage_id: str
    calls: tuple[Call, ...] = ()
    text: str = ""

    @property
    def cost(self) -> Decimal | None:
        """What the model call cost, in the app's currency unit; None without declared rates."""
        return self.usage.cost


class Pending(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that waits for a person's decision. `digest` binds the decision to the arguments.

    With `doubt` it may have happened already: its process died while it ran. Approving it says
    that it did not, and it runs again, with the same idempotency key. Denying it says that it is
    not to run again, and the model reads the reason. Its arguments cannot be edited, since they
    are those of what may have happened.

    `within` are the tools by which agents were let work, the outermost first, where one of those
    made the call.
    """

    kind: ClassVar[Literal["call"]] = "call"
    id: str
    tool: str
    arguments: dict[str, Any]
    why: str
    digest: str
    doubt: bool = False
    within: tuple[str, ...] = ()


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question that a workflow waits with. `schema` is the JSON Schema that an answer must
    fit; None takes any JSON value."""

    kind: ClassVar[Literal["question"]] = "question"
    id: str
    question: str
    schema: dict[str, Any] | None = None


Waiting = Pending | Question
"""What a run waits with: a call for `app.decide`, or a workflow's question for `app.answer`. Their
`kind` tells them apart."""


class Result(msgspec.Struct, Generic[Output], frozen=True, kw_only=True):
    """How a run stopped, and all that it did until then.

    `reason` says of an `exhausted` run what it could not come to: `malformed_output` after two
    answers in a row that were tool calls written as text, `invalid_output` after three that were
    no value of the agent's type.

    `messages` is what the run added to its conversation. `Agent.run` gives a `Result[T | None]`
    where the agent's answers are of type T. `output` is the answer of an answered
    run, None otherwise. `state` is None, since nothing fills it yet: a paused
    run is resumed through an App's store.
    """

    run_id: str
    finish: Finish
    reason: str | None = None
    text: str = ""
    output: Output = None  # type: ignore[assignment]  # whoever gives no output names a type with None
    messages: tuple[Message, ...] = ()
    turns: tuple[Turn, ...] = ()
    usage: Usage = Usage()
    pending: tuple[Pending, ...] = ()
    state: str | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A durable run as it stands in the store.

    `finish` is None while it goes on. `error` is the message of what ended it without a finish.
    `due` is when a waiting run may go on by itself; `blocked_reason` why a queued one does not.
    """

    id: str
    agent: str
    status: Status
    finish: Finish | None = None
    reason: str | None = None
    error: str | None = None
    text: str = ""
    output: Any = None
    messages: tuple[Message, ...] = ()
    turns: tuple[Turn, ...] = ()
    usage: Usage = Usage()
    pending: tuple[Waiting, ...] = ()
    user: str | None = None
    tenant: str | None = None
    thread: str | None = None
    by: Caller | None = None
    due: datetime | None = None
    blocked_reason: str | None = None
    created: datetime | None = None
    ended: datetime | None = None
