"""A saved history, and what of it is still to be done."""

from __future__ import annotations

from collections.abc import Iterable

from remit.agent.history import mend
from remit.values.content import Call
from remit.values.errors import ConfigError
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage

_MESSAGES = frozenset({UserMessage, AssistantMessage, ToolMessage})


def history_of(messages: object, *, asked: bool) -> tuple[Message, ...]:
    """`messages` as a history that a run can begin with; unless it is `asked` something too, there
    must be something left to do in it. Raises ConfigError."""
    if isinstance(messages, str | bytes) or not isinstance(messages, Iterable):
        raise ConfigError("history= takes a list of messages: read saved ones with messages.load()")
    found = tuple(messages)
    if not _MESSAGES.issuperset(map(type, found)):
        other = next(each for each in found if type(each) not in _MESSAGES)
        raise ConfigError(f"history= holds {other!r:.80}, which is no message")
    if asked:
        return found
    if not found:
        raise ConfigError("there is neither a message nor a history: give one of them")
    left = open_calls(found)
    # What is said of no call, or says nothing, is shown to no model.
    shown = mend(found, maker="")[0]
    if not shown:
        raise ConfigError("nothing in the history can be answered: give a message to go on with")
    last = found[-1] if isinstance(found[-1], AssistantMessage) else shown[-1]
    if isinstance(last, AssistantMessage) and not left:
        raise ConfigError("the history ends with an answer: give a message to go on with")
    if len({call.id for call in left}) < len(left):
        raise ConfigError("the history ends with calls of one id: give each an id of its own")
    return found


def open_calls(messages: Iterable[Message]) -> tuple[Call, ...]:
    """The calls that a history ends with and that have no result yet, in their order."""
    calls: list[Call] = []
    answered: set[str] = set()
    for message in messages:
        match message:
            case UserMessage():
                calls = []
            case AssistantMessage():
                calls, answered = list(message.calls), set()
            case ToolMessage():
                answered.add(message.call_id)
    return tuple(call for call in calls if call.id not in answered)
