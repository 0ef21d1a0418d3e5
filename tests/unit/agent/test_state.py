"""What is known of a run is a function of its facts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.agent.projection import Projector
from remit.agent.recorded.steps import ModelAnswer
from remit.agent.state import AgentInput, AgentState, Decision, conversation, derive
from remit.kernel.facts import Answered, AnyFact, Ask, Asked, Finished, Paused, Stepped, decode
from remit.values import codec
from remit.values.content import Call, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from remit.values.results import Pending
from remit.values.usage import Usage
from tests.unit.agent.journals import RUN, journals


def known(state: AgentState) -> dict[str, Any]:
    return dict(vars(state))


def numbered(facts: Sequence[AnyFact], start: int = 1) -> list[tuple[int, AnyFact]]:
    return list(enumerate(facts, start))


def is_whole(messages: Sequence[Message]) -> bool:
    """Whether each message's calls have their results right behind it, in call order, once."""
    left = list(messages)
    while left:
        message = left.pop(0)
        if isinstance(message, ToolMessage):
            return False
        calls = message.calls if isinstance(message, AssistantMessage) else ()
        results, left = left[: len(calls)], left[len(calls) :]
        found = [result.call_id for result in results if isinstance(result, ToolMessage)]
        if found != [call.id for call in calls]:
            return False
    return True


@pytest.mark.slow
@given(journals(), st.integers(min_value=0))
def test_a_state_is_the_same_however_its_facts_were_handed_on(
    facts: list[AnyFact], cut: int
) -> None:
    cut %= len(facts) + 1
    state = derive(RUN, numbered(facts[:cut]))
    for seq, fact in numbered(facts[cut:], cut + 1):
        state.advance(seq, fact)
    assert known(state) == known(derive(RUN, numbered(facts)))


@pytest.mark.slow
@given(journals())
def test_a_state_is_the_same_live_and_read_from_a_store(facts: list[AnyFact]) -> None:
    stored = [decode(codec.encode(fact)) for fact in facts]
    live, read = derive(RUN, numbered(facts)), derive(RUN, numbered(stored))
    ends = {"finished": None}
    assert known(live) | ends == known(read) | ends
    assert codec.encode(live.result()) == codec.encode(read.result())


@pytest.mark.slow
@given(journals(ended=True))
def test_an_ended_run_leaves_no_call_without_its_result(facts: list[AnyFact]) -> None:
    state = derive(RUN, numbered(facts))
    assert is_whole(state.messages)
    assert not state.open_calls
    assert not state.pending
    assert tuple(state.messages) == state.all_messages() == tuple(conversation(RUN, facts))


@given(journals(ended=True))
def test_what_is_closed_says_so_and_nothing_else_does(facts: list[AnyFact]) -> None:
    state = derive(RUN, numbered(facts))
    recorded = {
        fact.value.call_id
        for fact in facts
        if isinstance(fact, Stepped) and isinstance(fact.value, ToolMessage)
    }
    results = [message for message in state.messages if isinstance(message, ToolMessage)]
    for result in results:
        assert (result.status == "not_run") == (result.call_id not in recorded)
        assert (
            result.text.startswith(("Not run: ", "Not run to its end: "))
            or result.call_id in recorded
        )
    assert len(state.closed) == len(results) - len(recorded)


@pytest.mark.slow
@given(journals())
def test_usage_is_the_sum_of_its_turns(facts: list[AnyFact]) -> None:
    state = derive(RUN, numbered(facts))
    assert state.usage == sum((turn.usage for turn in state.turns), Usage())
    assert len({turn.usage_id for turn in state.turns}) == len(state.turns)
    assert [turn.number for turn in state.turns] == list(range(len(state.turns)))


@pytest.mark.slow
@given(journals())
def test_time_at_work_is_each_answer_and_each_turns_longest_call(facts: list[AnyFact]) -> None:
    longest: dict[str, int] = {}
    for fact in facts:
        if isinstance(fact, Stepped):
            turn = fact.name.partition("/")[0]
            part = fact.name if fact.name.endswith("think") else turn
            longest[part] = max(longest.get(part, 0), fact.took)
    assert derive(RUN, numbered(facts)).seconds == sum(longest.values()) / 1000


def events_of(facts: Sequence[AnyFact]) -> list[Any]:
    projector = Projector(RUN)
    return [event for seq, fact in numbered(facts) for event in projector.advance(seq, fact)]


@pytest.mark.slow
@given(journals())
def test_events_are_the_same_live_and_read_from_a_store_and_numbered_without_a_gap(
    facts: list[AnyFact],
) -> None:
    events = events_of(facts)
    stored = events_of([decode(codec.encode(fact)) for fact in facts])
    assert [codec.encode(event) for event in events] == [codec.encode(event) for event in stored]
    places = [(event.seq, event.index) for event in events]
    assert places == sorted(set(places))
    for seq in {event.seq for event in events}:
        indices = [index for at, index in places if at == seq]
        assert indices == list(range(len(indices)))


@pytest.mark.slow
@given(journals(ended=True))
def test_events_end_with_the_only_done(facts: list[AnyFact]) -> None:
    kinds = [event.kind for event in events_of(facts)]
    assert kinds.count("done") == 1
    assert kinds[-1] == "done"
    assert kinds.count("tool_call") == kinds.count("tool_result")
    assert kinds.count("turn") == kinds.count("usage")
    assert kinds.count("pending") == sum(isinstance(fact, Paused) for fact in facts)


def a_call(number: int, **arguments: Any) -> Call:
    return Call(f"call_{number}", "pay", arguments, f"{RUN}/0/{number}")


def asked_about(*calls: Call) -> list[AnyFact]:
    """A run that waits for decisions about its calls."""
    answer = ModelAnswer(
        message=AssistantMessage((Text("Paying."), *calls), "a:b"), usage=Usage(input_tokens=1)
    )
    asks = tuple(
        Ask(
            f"turn:0/call:{number}",
            Pending(
                id=call.id, tool="pay", arguments=call.arguments, why="it asks", digest=f"d{number}"
            ),
        )
        for number, call in enumerate(calls)
    )
    return [
        Asked(at=1, input=AgentInput(message=UserMessage((Text("Pay"),)))),
        Stepped(at=2, name="turn:0/think", value=answer),
        Paused(at=3, asks=asks),
    ]


def decided(number: int, **decision: Any) -> Answered:
    value = Decision(**({"digest": f"d{number}"} | decision))
    return Answered(at=4, key=f"turn:0/call:{number}", value=value)


def test_an_edit_stands_wherever_the_call_is_read() -> None:
    edited = decided(1, verdict="edit", arguments={"amount": 5})
    state = derive(RUN, numbered([*asked_about(a_call(0, amount=1), a_call(1, amount=10)), edited]))
    assert [call.arguments for call in state.open_calls] == [{"amount": 1}, {"amount": 5}]
    assert state.turns[-1].calls == state.open_calls
    message = state.messages[-1]
    assert isinstance(message, AssistantMessage)
    assert message.calls == state.open_calls
    assert message.text == "Paying."


def test_an_edit_that_was_made_for_other_arguments_changes_nothing() -> None:
    forged = decided(0, verdict="edit", arguments={"amount": 5}, digest="another")
    state = derive(RUN, numbered([*asked_about(a_call(0, amount=10)), forged]))
    assert [call.arguments for call in state.open_calls] == [{"amount": 10}]


def test_what_was_decided_is_pending_no_more() -> None:
    facts = asked_about(a_call(0), a_call(1))
    state = derive(RUN, numbered(facts))
    assert [pending.id for pending in state.pending] == ["call_0", "call_1"]
    result = state.result()
    assert result is not None
    assert (result.finish, result.pending) == ("approval", state.pending)
    state.advance(4, decided(0, verdict="approve"))
    assert [pending.id for pending in state.pending] == ["call_1"]


def test_a_run_that_goes_on_has_no_result() -> None:
    facts = asked_about(a_call(0))[:2]
    assert derive(RUN, numbered(facts)).result() is None


def test_an_answer_without_content_leaves_no_message() -> None:
    empty = ModelAnswer(message=AssistantMessage((), "a:b"), usage=Usage())
    facts: list[AnyFact] = [
        Asked(at=1, input=AgentInput(message=UserMessage((Text("Hello"),)))),
        Stepped(at=2, name="turn:0/think", value=empty),
        Finished(at=3, status="succeeded", finish="answer", output=""),
    ]
    state = derive(RUN, numbered(facts))
    assert state.messages == [UserMessage((Text("Hello"),))]
    assert len(state.turns) == 1


def test_calls_of_a_cancelled_run_say_why_they_did_not_run() -> None:
    end = Finished(at=9, status="cancelled", finish="cancelled")
    state = derive(RUN, numbered([*asked_about(a_call(0)), end]))
    assert state.messages[-1] == ToolMessage(
        "call_0", "pay", "Not run: the run was cancelled.", "not_run"
    )
