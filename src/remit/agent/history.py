"""A history made so that every provider takes it, before each model call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from remit.agent.parts import accept, check_accepted
from remit.models.protocol import Card
from remit.values.content import Call, Reasoning, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage

What = Literal[
    "empty", "foreign", "joined", "misnamed", "moved", "opened", "orphan", "renamed", "unanswered"
]

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_IDS = re.compile(rf"\['{_ID.pattern}'(?:, '{_ID.pattern}')*\]")
"""A list of ids as Python shows it, where a quote or a newline in one would stand out."""
_OPENING = UserMessage((Text("(The conversation begins before what follows.)"),))
_replace = msgspec.structs.replace


class Mend(msgspec.Struct, frozen=True):
    """One thing that was mended, and the place of its message in the history that was given.

    `empty`: a message, or a part of one, said nothing and is left out. `foreign`: another
    maker's reasoning, or its signature of a call, is left out. `joined`: an answer followed an
    answer. `misnamed`: a call's name was no legal one. `moved`: a result stood elsewhere than
    behind its call. `opened`: the history did not begin with a user's message. `orphan`: a
    result without a call is left out. `renamed`: a call's id was not legal, or was another's too.
    `unanswered`: a call without a result got one.
    """

    what: What
    at: int


def mend(messages: Sequence[Message], maker: str) -> tuple[Sequence[Message], tuple[Mend, ...]]:
    """`messages` as any provider takes them, and what was mended; the same object if nothing was.

    Each call is followed by its result, in the order of the calls and under an id of its own; no
    message and no text is empty; a user's message comes first, and an answer never follows an
    answer; reasoning stays byte for byte, and goes to its own `maker` only. Users' messages that
    follow each other stay apart: adapters join them where a provider wants that.
    """
    if is_valid(messages, maker):
        return messages, ()
    work = _Work(maker)
    for at, message in enumerate(messages):
        work.take(at, message)
    return work.whole(), tuple(work.mends)


def is_valid(messages: Sequence[Message], maker: str) -> bool:
    """Whether there is nothing to mend."""
    return _Check(maker).passes(messages)


class History:
    """The history of one drive, whose model is `maker` and takes what `card` says: what was found
    valid is not looked at again, so that a turn costs what it adds."""

    def __init__(self, maker: str, card: Card) -> None:
        self._maker = maker
        self._card = card
        self._known: tuple[Message, ...] = ()
        self._check = _Check(maker)

    def valid(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """`mend` of the messages. Raises ConfigError for a part that the model does not take."""
        known = len(self._known)
        if messages[:known] != self._known:
            self._known, self._check, known = (), _Check(self._maker), 0
        added = messages[known:]
        if self._check.passes(added):
            if self._check.files:
                accept(self._card, self._check.files)
            self._known = messages
            return messages
        check_accepted(self._card, added)
        self._known, self._check = (), _Check(self._maker)
        return tuple(mend(messages, self._maker)[0])


class _Check:
    """Whether messages are valid, a stretch at a time. It runs before each model call, hence the
    exact types, and one loop that gathers what is then told of all texts and ids together."""

    def __init__(self, maker: str) -> None:
        self.files: list[Any] = []
        """The images and PDFs of the last stretch, if it passed."""
        self._maker = maker
        self._ids: set[str] = set()
        self._names: set[str] = set()
        # Whether an answer would follow an answer, or begin the history.
        self._answered = True

    def passes(self, messages: Iterable[Any]) -> bool:
        """Whether they are valid behind those that passed before; after one that is not, nothing
        more is asked."""
        answered, due = self._answered, 0
        texts: list[str] = []
        calls: list[Call] = []
        results: list[str] = []
        self.files = []
        for message in messages:
            kind = type(message)
            if kind is ToolMessage:
                due -= 1
                results.append(message.call_id)
                continue
            content = message.content
            if due or not content or (answered and kind is not UserMessage):
                return False
            for part in content:
                if type(part) is Text:
                    texts.append(part.text)
                elif type(part) is Call:
                    due += 1
                    calls.append(part)
                    if part.signature is not None and message.model != self._maker:
                        return False
                elif not self._takes(message, part):
                    return False
            answered = kind is not UserMessage and not due
        self._answered = answered
        ids = [call.id for call in calls]
        are_whole = not due and ids == results and all(map(str.strip, texts))
        return are_whole and (not ids or self._legal(calls, ids))

    def _takes(self, message: Any, part: Any) -> bool:
        """Whether a part that is neither text nor a call may stand in its message."""
        if type(message) is UserMessage:
            self.files.append(part)
            return True
        # Reasoning alone says nothing.
        return part.maker == self._maker and any(
            type(each) is not Reasoning for each in message.content
        )

    def _legal(self, calls: list[Call], ids: list[str]) -> bool:
        """Whether each call has a legal name, and a legal id of its own."""
        own, names = set(ids), {call.name for call in calls} - self._names
        # One match for all is several times faster than one for each.
        if len(own) < len(ids) or own & self._ids or not _IDS.fullmatch(repr(ids)):
            return False
        if names and not all(map(_NAME.fullmatch, names)):
            return False
        self._ids |= own
        self._names |= names
        return True


@dataclass(slots=True)
class _Slot:
    """A call as it is sent, where its result belongs."""

    call: Call
    at: int
    result: ToolMessage | None = None


@dataclass(slots=True)
class _Turn:
    message: Message
    slots: list[_Slot] = field(default_factory=list)


class _Work:
    """A history that is being mended, message by message."""

    def __init__(self, maker: str) -> None:
        self.mends: list[Mend] = []
        self._maker = maker
        self._turns: list[_Turn] = []
        self._ids: set[str] = set()
        self._open: dict[str, list[_Slot]] = {}
        self._next: list[_Slot] = []

    def take(self, at: int, message: Message) -> None:
        """Take the next message."""
        match message:
            case UserMessage():
                self._hear(at, message)
            case AssistantMessage():
                self._answer(at, message)
            case ToolMessage():
                self._result(at, message)

    def whole(self) -> tuple[Message, ...]:
        """All of it, each call with its result."""
        found: list[Message] = []
        for turn in self._turns:
            found.append(turn.message)
            for slot in turn.slots:
                if slot.result is None:
                    self._note("unanswered", slot.at)
                    text = "Not run: no result was recorded."
                    slot.result = ToolMessage(slot.call.id, slot.call.name, text, "not_run")
                found.append(slot.result)
        return tuple(found)

    def _note(self, what: What, at: int) -> None:
        self.mends.append(Mend(what, at))

    def _hear(self, at: int, message: UserMessage) -> None:
        content = tuple([part for part in message.content if not _blank(part)])
        if len(content) < len(message.content) or not content:
            self._note("empty", at)
            message = _replace(message, content=content)
        if content:
            self._next = []
            self._turns.append(_Turn(message))

    def _answer(self, at: int, message: AssistantMessage) -> None:
        parts: list[Text | Reasoning | Call] = []
        slots: list[_Slot] = []
        opened: dict[str, list[_Slot]] = {}
        for part in message.content:
            if isinstance(part, Call):
                slot = _Slot(self._own(at, self._named(at, part), message.model), at)
                opened.setdefault(part.id, []).append(slot)
                slots.append(slot)
                parts.append(slot.call)
            elif isinstance(part, Reasoning) and part.maker != self._maker:
                self._note("foreign", at)
            elif _blank(part):
                self._note("empty", at)
            else:
                parts.append(part)
        if all(isinstance(part, Reasoning) for part in parts):
            self._note("empty", at)
            return
        if not _same(parts, message.content):
            message = _replace(message, content=tuple(parts))
        # A call's result stands behind it, so an earlier call of its id has had its chance.
        self._open.update(opened)
        self._next = list(slots)
        self._place(at, _Turn(message, slots))

    def _place(self, at: int, turn: _Turn) -> None:
        last = self._turns[-1] if self._turns else None
        if last is None:
            self._note("opened", at)
            self._turns.append(_Turn(_OPENING))
        elif isinstance(last.message, AssistantMessage) and not last.slots:
            self._note("joined", at)
            assert isinstance(turn.message, AssistantMessage)
            self._turns.pop()
            content = _joined(last.message.content, turn.message.content)
            turn.message = _replace(turn.message, content=content)
        self._turns.append(turn)

    def _result(self, at: int, message: ToolMessage) -> None:
        waiting = self._open.get(message.call_id)
        if not waiting:
            self._note("orphan", at)
            return
        slot = waiting.pop(0)
        if self._next and slot is self._next[0]:
            self._next.pop(0)
        else:
            self._note("moved", at)
        if slot.call.id != message.call_id:
            message = _replace(message, call_id=slot.call.id)
        slot.result = message

    def _own(self, at: int, call: Call, maker: str) -> Call:
        if call.signature is None or maker == self._maker:
            return call
        self._note("foreign", at)
        return _replace(call, signature=None)

    def _named(self, at: int, call: Call) -> Call:
        if _NAME.fullmatch(call.name) is None:
            self._note("misnamed", at)
            call = _replace(call, name="unknown", misnamed=call.misnamed or call.name[:200])
        stem = free = call.id if _ID.fullmatch(call.id) else "call"
        number = 1
        while free in self._ids:
            number += 1
            free = f"{stem[:30]}_{number}"
        self._ids.add(free)
        if free == call.id:
            return call
        self._note("renamed", at)
        return _replace(call, id=free)


def _blank(part: object) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _same(parts: Sequence[object], others: Sequence[object]) -> bool:
    return len(parts) == len(others) and all(map(lambda a, b: a is b, parts, others))


Parts = tuple[Text | Reasoning | Call, ...]


def _joined(one: Parts, other: Parts) -> Parts:
    """Two answers' parts as one answer's, in which their texts stay paragraphs apart."""
    end, start = one[-1], other[0]
    if isinstance(end, Text) and isinstance(start, Text):
        return (*one[:-1], Text(f"{end.text}\n\n{start.text}"), *other[1:])
    return one + other
