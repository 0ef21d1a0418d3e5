"""What was decided on a run's way is kept, and older readers are told that they do not know it."""

from __future__ import annotations

from typing import Any

import pytest

from remit.agent.recorded.steps import ModelAnswer, step_value
from remit.agent.recorded.verdicts import Braked, Closing, Judged, Noted, Prepared, Verdict
from remit.kernel.facts import AnyFact, Finished, Stepped, decode, format_of
from remit.values import codec
from remit.values.content import Text
from remit.values.messages import AssistantMessage, ToolMessage
from remit.values.usage import Usage

ANSWER = ModelAnswer(AssistantMessage((Text("no "),), "m"), Usage(estimated=True))
CUT = ModelAnswer(ANSWER.message, ANSWER.usage, "end", True)
VALUES: list[Any] = [
    Braked(brake="failing_tool", stops=True, tool="look", count=6),
    Prepared(instructions="Count.", tools=(), model="a:b", tool_choice="none"),
    Prepared(),
    Verdict(ToolMessage("call_1", "look", "Not today.", "refused")),
    Verdict(),
    Noted(),
    Judged(reason="Say sorry.", last=True),
    Closing("turns"),
    CUT,
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_verdict_is_read_as_it_was_written_and_raises_the_format(value: Any) -> None:
    fact = Stepped(at=1, name="turn:0/x", value=value)
    read = decode(codec.encode(fact))

    assert isinstance(read, Stepped)
    assert step_value(read) == step_value(fact) == value
    assert format_of(fact) == 2


@pytest.mark.parametrize(
    ("fact", "format"),
    [
        (Stepped(at=1, name="turn:0/think", value=ANSWER), 1),
        (Finished(at=1, status="failed", finish="stuck"), 2),
        (Finished(at=1, status="failed", finish="exhausted"), 2),
        (Finished(at=1, status="failed", finish="turns"), 1),
    ],
)
def test_what_every_reader_knows_keeps_the_first_format(fact: AnyFact, format: int) -> None:
    assert format_of(fact) == format


@pytest.mark.parametrize(
    "value", [{"t": "of a later day"}, {"t": 5}, {"t": ["a"]}, {}, "braked", None]
)
def test_what_is_not_known_is_no_step_of_an_agent(value: Any) -> None:
    assert step_value(Stepped(at=1, name="turn:0/x", value=value)) is None
