"""Values as the app's functions are given them: what those change in them changes no run."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy

import msgspec

from remit.values.content import Call
from remit.values.messages import AssistantMessage, Message
from remit.values.results import Turn

_replace = msgspec.structs.replace


def lent_call(call: Call) -> Call:
    """The call, with arguments of its own."""
    arguments = call.arguments
    # Most arguments hold no other values inside them, and a plain copy takes a tenth of the time.
    deep = any(isinstance(value, dict | list) for value in arguments.values())
    return _replace(call, arguments=deepcopy(arguments) if deep else dict(arguments))


def lent_turn(turn: Turn) -> Turn:
    """The turn, with calls of its own."""
    return _replace(turn, calls=tuple(map(lent_call, turn.calls))) if turn.calls else turn


def lent_messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages, those with calls each as one of its own."""
    return tuple(map(_lent, messages))


def _lent(message: Message) -> Message:
    if not isinstance(message, AssistantMessage) or not message.calls:
        return message
    content = [lent_call(part) if isinstance(part, Call) else part for part in message.content]
    return _replace(message, content=tuple(content))
