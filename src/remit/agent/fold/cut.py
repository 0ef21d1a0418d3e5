"""What a fold cuts of a history: pure decisions."""

from __future__ import annotations

from collections.abc import Sequence

from remit.agent.fold.measure import tokens
from remit.agent.fold.options import Fold
from remit.agent.recorded.folds import CLEARED, Cleared, Folds, cleared, tasks_of
from remit.values.messages import AssistantMessage, Message, ToolMessage


def decide(  # all that a fold depends on
    messages: Sequence[Message],
    folds: Folds,
    own: int,
    fold: Fold,
    size: tuple[int, int],
    room: int,
) -> Cleared | None:
    """The fold that brings a request down to half of `room`, or as far as it goes; None where
    there is nothing to fold.

    `size` is what the request reads and what it is estimated at. Old results are cleared first,
    the oldest first; if that is not enough, a brief is to stand in for all but the newest turns.
    """
    read, estimate = size
    start = folds.brief.covers if folds.brief else 0
    newest = _newest(messages, fold.keep_turns, own)
    goal = room // 2 * estimate // max(read, 1)
    calls: list[str] = []
    kept: list[str] = []
    for at, message in enumerate(messages[start:], start):
        if not isinstance(message, ToolMessage) or message.call_id in folds.cleared:
            continue
        spared = tokens(message.text) - tokens(CLEARED)
        if at >= newest or spared <= 0 or estimate <= goal:
            kept.append(message.call_id)
        else:
            estimate -= spared
            calls.append(message.call_id)
    tasks = tasks_of(messages, own)
    old = [at for at in range(start, newest) if at not in tasks]
    covers = newest if estimate > goal and old else 0
    if not calls and not covers:
        return None
    return Cleared(
        number=folds.count,
        calls=tuple(calls),
        kept=tuple(kept),
        covers=covers,
        read=max(read, 1),
        estimate=max(size[1], 1),
    )


def _newest(messages: Sequence[Message], turns: int, own: int) -> int:
    """Where the newest turns begin; a call and its result are never on two sides of it."""
    answers = [at for at, one in enumerate(messages) if isinstance(one, AssistantMessage)]
    return answers[-turns] if len(answers) > turns else 0


def told(messages: Sequence[Message], folds: Folds, covers: int, room: int) -> str:
    """The messages that a brief is to stand in for, as text of at most about `room` tokens. No
    call in it is one that a provider could want the result of."""
    start = folds.brief.covers if folds.brief else 0
    said = [_told(cleared(message, folds.cleared)) for message in messages[start:covers]]
    if folds.brief:
        said.insert(0, f"EARLIER BRIEF: {folds.brief.text}")
    most = max(room * 3 // max(len(said), 1), 80)
    return "\n\n".join(_cut(one, most) for one in said)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} … ({len(text)} characters)"


def _told(message: Message) -> str:
    match message:
        case ToolMessage():
            return f"RESULT of {message.tool} ({message.status}): {message.text}"
        case AssistantMessage():
            calls = [f"CALL {call.name} {call.arguments}" for call in message.calls]
            return "\n".join([f"ASSISTANT: {message.text}", *calls])
        case _:
            files = [repr(file) for file in message.files]
            return " ".join([f"USER: {message.text}", *files])
