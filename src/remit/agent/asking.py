"""What somebody asks of an agent, checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import get_args

from remit.agent.parts import Content, check_accepted, user_message
from remit.agent.resuming import history_of
from remit.agent.state import AgentInput
from remit.kernel.facts import Asked
from remit.models.protocol import Card
from remit.values.errors import ConfigError, UserIdError
from remit.values.identity import Caller, is_id
from remit.values.messages import Message
from remit.values.results import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A message for an agent, for whom it is, and who asks. `history` is what was said before it;
    without a message the run goes on where that ends.

    Raises ConfigError for a message without text and for a history that leaves nothing to do,
    UserIdError for ids of another shape.
    """

    message: Content | None
    history: Iterable[Message] = ()
    user: str | None = None
    tenant: str | None = None
    thread: str | None = None
    by: Caller | None = None
    input: AgentInput = field(init=False)

    def __post_init__(self) -> None:
        said = None if self.message is None else user_message(self.message)
        history = history_of(self.history, asked=said is not None)
        object.__setattr__(self, "input", AgentInput(message=said, history=history))
        for kind in ("user", "tenant"):
            value = getattr(self, kind)
            if value is not None and not is_id(value):
                raise UserIdError(kind=kind, value=value)
        if self.thread is not None and not is_id(self.thread):
            raise ConfigError(
                f"thread {self.thread!r} is no id: use 1 to 64 of A-Z a-z 0-9 . _ : -"
            )
        if self.by is not None:
            check_caller(self.by)

    def check(self, card: Card) -> None:
        """Raise ConfigError for a part that the model of this card does not take."""
        said = self.input.message
        check_accepted(card, [*self.input.history, *([said] if said else [])])

    def fact(self, at: int) -> Asked:
        """The first fact of the run."""
        return Asked(
            at=at,
            input=self.input,
            user=self.user,
            tenant=self.tenant,
            thread=self.thread,
            by=self.by,
        )


def check_caller(by: object) -> None:
    """Raise ConfigError unless `by` is a Caller, UserIdError unless its ids are of their shape."""
    if not isinstance(by, Caller):
        raise ConfigError(f"by= must be a Caller, like Caller(user='u_17'), not {by!r:.80}")
    for kind, value in (("user", by.user), ("tenant", by.tenant)):
        if value is not None and not is_id(value):
            raise UserIdError(kind=f"by.{kind}", value=value)


def check_decider(by: object) -> None:
    """`check_caller`, for one who decides: ConfigError where nobody could say who that was."""
    check_caller(by)
    if isinstance(by, Caller) and by.user is None:
        raise ConfigError("who decides stands in the record: give by=Caller(user=…) a user")


def check_page(status: object, limit: object, ids: Mapping[str, object]) -> None:
    """Raise ConfigError or UserIdError for what no list of runs can be asked for by."""
    statuses = get_args(Status)
    if status is not None and status not in statuses:
        raise ConfigError(f"there is no status {status!r:.80}: use one of {', '.join(statuses)}")
    if type(limit) is not int or not 1 <= limit <= 1000:
        raise ConfigError(f"limit must be a whole number from 1 to 1,000, not {limit!r:.80}")
    for kind, value in ids.items():
        if value is not None and not is_id(value):
            raise UserIdError(kind=kind, value=value)
