"""A saved history goes on from its last completed step, with the keys that its calls had."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit import Budget, ModelRequest, ToolContext, tool
from remit.agent.state import AgentInput, Decision, derive
from remit.errors import ConfigError
from remit.kernel.facts import Answered, AnyFact, Ask, Asked, Paused
from remit.messages import (
    AssistantMessage,
    Call,
    Message,
    Reasoning,
    Text,
    ToolMessage,
    UserMessage,
    dump,
    load,
)
from remit.testing.model import Call as Asks
from remit.testing.model import Say, ScriptedModel
from remit.values.events import ToolResultEvent
from remit.values.results import Pending
from tests.journeys.clerk import Desk, check_request, clerk, cut_short, soon


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def asking(*numbers: int, tool: str = "look") -> AssistantMessage:
    calls = (Call(f"c{n}", tool, {"number": n}, f"old/{n}") for n in numbers)
    return AssistantMessage(tuple(calls), "scripted:model")


def seen(number: int) -> ToolMessage:
    return ToolMessage(f"c{number}", "look", f"seen {number}")


async def test_a_history_comes_before_the_message_and_is_not_given_back() -> None:
    model = ScriptedModel([[Say("Looking."), Asks("look", number=7)], Say("It is 7.")])
    first = await clerk(model, Desk().tools()).run("What is it?")
    again = ScriptedModel([Say("As I said.")])
    second = await clerk(again, Desk().tools()).run("Again?", history=load(dump(first.messages)))
    (request,) = again.requests
    assert request.messages == (*first.messages, user("Again?"))
    assert second.messages == (user("Again?"), *second.messages[1:])
    assert len(second.messages) == 2


async def test_a_saved_history_goes_on_without_its_finished_calls() -> None:
    desk = Desk()
    model = ScriptedModel([[Asks("look", number=9)], Say("Done.")])
    history: list[Message] = [user("?"), asking(1, 2, 3), seen(2)]
    result = await clerk(model, desk.tools()).run(None, history=history)
    assert result.finish == "answer"
    assert sorted(desk.ran[:2]) == [("look", 1), ("look", 3)]
    assert sorted(desk.keys[:2]) == ["old/1", "old/3"]
    assert desk.ran[2:] == [("look", 9)]
    assert len(set(desk.keys)) == 3
    assert result.messages[:2] == (seen(1), seen(3))
    asked = model.requests[0]
    check_request(asked)
    assert asked.messages == (user("?"), asking(1, 2, 3), seen(1), seen(2), seen(3))
    assert len(result.turns) == 2
    for request in model.requests:
        check_request(request)


@pytest.mark.parametrize("history", [[user("?")], [user("?"), asking(1), seen(1)]])
async def test_a_history_that_waits_for_the_model_asks_it(history: list[Message]) -> None:
    desk = Desk()
    model = ScriptedModel([Say("Yes.")])
    result = await clerk(model, desk.tools()).run(None, history=history)
    assert model.requests[0].messages == tuple(history)
    assert (result.text, desk.ran) == ("Yes.", [])


async def test_a_gated_call_of_a_history_pauses_and_does_not_run() -> None:
    desk = Desk()
    pay = Call("c9", "pay_out", {"amount": 5}, "old/9")
    history: list[Message] = [
        user("?"),
        AssistantMessage((*asking(1).content, pay), "scripted:model"),
    ]
    told: list[Any] = []
    result = await clerk(ScriptedModel([]), desk.tools()).run(
        None, history=history, on_event=told.append
    )
    assert result.finish == "approval"
    assert [(pending.id, pending.tool) for pending in result.pending] == [("c9", "pay_out")]
    assert desk.ran == [("look", 1)]
    assert result.messages == (seen(1),)
    assert [event.turn for event in told if isinstance(event, ToolResultEvent)] == [-1]
    # Saved and given back, it waits again, and what ran does not run again.
    saved = load(dump([*history, *result.messages]))
    once_more = await clerk(ScriptedModel([]), desk.tools()).run(None, history=saved)
    assert once_more.finish == "approval"
    assert desk.ran == [("look", 1)]


async def test_every_gate_stands_before_a_call_of_a_history() -> None:
    desk = Desk()

    @tool(needs={"money"})
    async def pay(number: int) -> str:
        """Pays."""
        raise AssertionError("nobody may")

    calls = (
        Call("c1", "pay", {"number": 1}, "old/1"),
        Call("c2", "look", {"number": "many"}, "old/2"),
        Call("c3", "nothing", {}, "old/3"),
        Call("c4", "look", {"number": 4}, "old/4"),
    )
    agent = clerk(
        ScriptedModel([]),
        [*desk.tools(), pay],
        budget=Budget(turns=3, tool_calls=3),
    )
    result = await agent.run(None, history=[user("?"), AssistantMessage(calls)])
    statuses = [m.status for m in result.messages if isinstance(m, ToolMessage)]
    assert statuses == ["refused", "error", "refused", "not_run"]
    assert desk.ran == []
    assert result.finish == "tool_calls"


async def test_a_new_message_leaves_old_open_calls_undone() -> None:
    desk = Desk()
    model = ScriptedModel([Say("All right.")])
    await clerk(model, desk.tools()).run("Never mind", history=[user("?"), asking(1)])
    (request,) = model.requests
    check_request(request)
    assert desk.ran == []
    result = request.messages[2]
    assert isinstance(result, ToolMessage)
    assert result.status == "not_run"


async def test_the_key_in_the_message_is_the_one_the_tool_sees() -> None:
    keys: list[tuple[str, int]] = []

    @tool
    async def look(number: int, ctx: ToolContext[Any]) -> str:
        """Looks."""
        keys.append((ctx.idempotency_key, ctx.turn))
        return f"seen {number}"

    history: list[Message] = [user("?"), asking(1)]
    for _ in range(2):
        await clerk(ScriptedModel([Say("Yes.")]), [look]).run(None, history=history)
    assert keys == [("old/1", -1), ("old/1", -1)]


@pytest.mark.parametrize(
    ("message", "history", "mend"),
    [
        (None, [], "neither a message nor a history"),
        (None, [user("?"), AssistantMessage((Text("Yes."),))], "ends with an answer"),
        (None, [user("?"), AssistantMessage((Text("Yes."),)), seen(1)], "ends with an answer"),
        (None, [seen(1)], "nothing in the history can be answered"),
        (None, [user("?"), asking(1, 1)], "calls of one id"),
        (None, "text", "takes a list of messages"),
        ("x", ["text"], "is no message"),
    ],
)
async def test_a_history_with_nothing_to_do_is_refused(
    message: str | None, history: Any, mend: str
) -> None:
    with pytest.raises(ConfigError, match=mend):
        await clerk(ScriptedModel([])).run(message, history=history)


def test_an_edit_of_a_call_stands_where_the_model_will_read_it() -> None:
    """A person's edit of a call that a history left open reaches the history, and no other."""
    asked = AgentInput(history=(user("?"), asking(1, 2), seen(1)))
    shown = Pending(id="c2", tool="look", arguments={"number": 2}, why="it pays", digest="d")
    decision = Decision(verdict="edit", digest="d", arguments={"number": 5})
    facts: list[AnyFact] = [
        Asked(at=1, input=asked),
        Paused(at=2, asks=(Ask("history/call:0", shown),)),
        Answered(at=3, key="history/call:0", value=decision),
    ]
    state = derive("run", enumerate(facts, 1))
    first, second = state.history[1].calls  # type: ignore[union-attr]  # it asks
    assert (first.arguments, second.arguments) == ({"number": 1}, {"number": 5})
    assert [(call.id, call.arguments) for call in state.open_calls] == [("c2", {"number": 5})]
    assert second.key == "old/2"
    assert asked.history[1] == asking(1, 2)


async def test_a_stream_takes_a_history_too() -> None:
    desk = Desk()
    agent = clerk(ScriptedModel([Say("Yes.")]), desk.tools())
    events = [event async for event in agent.stream(None, history=[user("?"), asking(1)])]
    assert events[-1].result is not None  # type: ignore[union-attr]  # it is done
    assert desk.keys == ["old/1"]


@pytest.mark.parametrize("cut", range(1, 7))
async def test_a_history_cut_anywhere_comes_to_the_same_end(cut: int) -> None:
    """Whatever part of a run was saved, what it did is not done again."""
    turns: list[Message] = [user("?"), asking(1, 2), seen(1), seen(2), asking(3), seen(3)]
    whole = turns[:cut]
    done = {m.call_id for m in whole if isinstance(m, ToolMessage)}
    desk = Desk()

    def go_on(request: ModelRequest) -> Any:
        check_request(request)
        results = [m.call_id for m in request.messages if isinstance(m, ToolMessage)]
        if not results:
            return [Asks("look", number=1), Asks("look", number=2)]
        return Say("Done.") if len(results) > 2 else Asks("look", number=3)

    model = cut_short([go_on, go_on, go_on])
    result = await soon(clerk(model, desk.tools()).run(None, history=whole))
    assert result.text == "Done."
    assert sorted({f"c{n}" for _, n in desk.ran} | done) == ["c1", "c2", "c3"]
    assert not {f"c{n}" for _, n in desk.ran} & done


anything = st.text(max_size=5) | st.just("\ud800\x00")
messages: st.SearchStrategy[Any] = st.one_of(
    st.builds(lambda text: UserMessage((Text(text),)), anything),
    st.builds(
        lambda text, key: AssistantMessage(
            (Reasoning(text, text, "m"), Text(text), Call("c", "look", {"a": [text, None]}, key))
        ),
        anything,
        anything,
    ),
    st.builds(ToolMessage, anything, anything, anything, st.sampled_from(["ok", "denied"])),
)


@given(st.lists(messages))
@settings(max_examples=50)
def test_messages_are_read_as_they_were_saved(given: list[Message]) -> None:
    assert load(dump(given)) == given
    assert load(dump(given).encode()) == given


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format":1,"messages":[{"t":"x"}]}'])
def test_what_was_not_saved_here_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="no messages that dump"):
        load(text)


def test_messages_of_a_later_format_are_refused() -> None:
    with pytest.raises(ConfigError, match="of format 7"):
        load('{"format":7,"messages":[]}')
