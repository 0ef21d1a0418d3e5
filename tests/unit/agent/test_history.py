"""Whatever a history holds, what a model is asked with is valid; a valid one is left alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.agent.history import History, Mend, mend
from remit.models.openai_chat import OpenAIChat
from remit.models.protocol import Card
from remit.models.request import ModelRequest
from remit.values.content import Call, Reasoning, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tests.journeys.clerk import check_request
from tests.unit.models import strict

MAKER = "openai:gpt-test"


def user(*texts: str) -> UserMessage:
    return UserMessage(tuple(Text(text) for text in texts))


def said(*parts: Text | Reasoning | Call) -> AssistantMessage:
    return AssistantMessage(parts, MAKER)


def call(id: str, name: str = "look") -> Call:
    return Call(id, name, {}, f"run/{id}")


def seen(id: str, text: str = "seen") -> ToolMessage:
    return ToolMessage(id, "look", text)


def request(messages: Sequence[Message]) -> ModelRequest:
    return ModelRequest(instructions="", messages=tuple(messages))


ids = st.sampled_from(["a", "b", "c", "", "c1", "x" * 50, "ü", "a\nb", "a', 'b", "a'", 'a"', "a\\"])
texts = st.sampled_from(["", " ", "\n", "Hello", "\u2003", "a\ud800"])
parts: st.SearchStrategy[Any] = st.one_of(
    st.builds(Text, texts),
    st.builds(Reasoning, texts, st.none() | texts, st.sampled_from([MAKER, "other:model", None])),
    st.builds(call, ids, st.sampled_from(["look", "", "a b", "y" * 70, "look\nlook"])),
)
messages: st.SearchStrategy[Any] = st.one_of(
    st.builds(lambda content: user(*content), st.lists(texts, max_size=2)),
    st.builds(lambda content: said(*content), st.lists(parts, max_size=4)),
    st.builds(seen, ids, texts),
)


@given(st.lists(messages, max_size=12))
def test_any_list_of_messages_becomes_valid(given: list[Message]) -> None:
    whole, mends = mend(given, MAKER)
    check_request(request(whole))
    if whole:
        assert isinstance(whole[0], UserMessage)
        strict.check(OpenAIChat("gpt-test").body(request(whole)))
    for before, after in pairwise(whole):
        if isinstance(after, AssistantMessage):
            assert not isinstance(before, AssistantMessage)
    assert bool(mends) == (whole is not given)
    assert mend(whole, MAKER) == (whole, ())
    assert mend(whole, MAKER)[0] is whole


@given(st.lists(messages, max_size=12))
def test_results_are_those_of_their_calls_and_reasoning_is_untouched(given: list[Message]) -> None:
    whole, _ = mend(given, MAKER)
    real = [message.text for message in given if isinstance(message, ToolMessage)]
    for message in whole:
        if isinstance(message, ToolMessage) and message.status != "not_run":
            assert message.text in real
    reasonings = [
        part
        for message in whole
        if isinstance(message, AssistantMessage)
        for part in message.content
        if isinstance(part, Reasoning)
    ]
    originals = [
        part
        for message in given
        if isinstance(message, AssistantMessage)
        for part in message.content
        if isinstance(part, Reasoning)
    ]
    assert all(any(part is original for original in originals) for part in reasonings)
    assert all(part.maker == MAKER for part in reasonings)


@given(st.lists(messages, max_size=12), st.integers(min_value=0, max_value=12))
def test_a_history_that_grows_is_mended_like_a_whole_one(given: list[Message], cut: int) -> None:
    history = History(MAKER, Card())
    history.valid(tuple(given[:cut]))
    assert history.valid(tuple(given)) == tuple(mend(given, MAKER)[0])


def test_a_message_that_changes_is_looked_at_again() -> None:
    history = History(MAKER, Card())
    good = (user("?"), said(call("a")), seen("a"))
    assert history.valid(good) is good
    changed = history.valid((user(" "), *good[1:]))
    assert changed == mend((user(" "), *good[1:]), MAKER)[0]
    assert changed[1:] == good[1:]


def test_a_call_without_a_result_is_told_as_not_run() -> None:
    whole, mends = mend([user("?"), said(call("a"), call("b")), seen("b"), user("Go on")], MAKER)
    assert mends == (Mend("moved", 2), Mend("unanswered", 1))
    assert [type(message).__name__ for message in whole] == [
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
        "ToolMessage",
        "UserMessage",
    ]
    assert whole[2] == ToolMessage("a", "look", "Not run: no result was recorded.", "not_run")
    assert whole[3] == seen("b")


def test_results_go_behind_their_calls_and_in_their_order() -> None:
    given: list[Message] = [
        user("?"),
        said(call("a"), call("b")),
        user("And?"),
        seen("b"),
        seen("a"),
        seen("z"),
    ]
    whole, mends = mend(given, MAKER)
    assert whole == (given[0], given[1], given[4], given[3], given[2])
    assert mends == (Mend("moved", 3), Mend("moved", 4), Mend("orphan", 5))


def test_ids_that_repeat_are_renamed_with_their_results() -> None:
    given: list[Message] = [
        user("?"),
        said(call("a")),
        seen("a", "1"),
        said(call("a")),
        seen("a", "2"),
    ]
    whole, mends = mend(given, MAKER)
    second = whole[3]
    assert isinstance(second, AssistantMessage)
    assert second.calls[0].id == "a_2"
    assert second.calls[0].key == "run/a"
    assert whole[2:] == (seen("a", "1"), second, seen("a_2", "2"))
    assert mends == (Mend("renamed", 3),)


@pytest.mark.parametrize("id", ["", "a\nb", "a', 'b", "a'", 'a"', "a\\", "ü", "a\ud800", "x" * 41])
def test_an_id_that_is_not_legal_is_renamed_beside_any_others(id: str) -> None:
    given: list[Message] = [user("?"), said(call("a"), call(id), call("z"))]
    given += [seen("a"), seen(id), seen("z")]
    _, mends = mend(given, MAKER)
    assert mends == (Mend("renamed", 1),)


def test_an_older_call_without_a_result_does_not_take_a_newer_ones() -> None:
    given: list[Message] = [
        user("?"),
        said(call("a")),
        user("Again"),
        said(call("a")),
        seen("a", "2"),
    ]
    whole, _ = mend(given, MAKER)
    results = [message for message in whole if isinstance(message, ToolMessage)]
    assert [(result.call_id, result.status) for result in results] == [
        ("a", "not_run"),
        ("a_2", "ok"),
    ]


def test_reasoning_goes_to_its_own_maker_alone() -> None:
    own, foreign = Reasoning("Hm.", "sig\x00=", MAKER), Reasoning("Well.", "other", "other:model")
    whole, mends = mend([user("?"), said(own, foreign, Text("Yes."))], MAKER)
    assert whole[1] == said(own, Text("Yes."))
    assert mends == (Mend("foreign", 1),)
    elsewhere, _ = mend([user("?"), said(own, foreign, Text("Yes."))], "third:model")
    assert elsewhere[1] == said(Text("Yes."))


def test_a_calls_signature_goes_to_its_own_maker_alone() -> None:
    signed = msgspec.structs.replace(call("a"), signature="sig\x00=")
    given: list[Message] = [user("?"), said(signed), seen("a")]
    assert mend(given, MAKER) == (given, ())
    elsewhere, mends = mend(given, "third:model")
    assert elsewhere[1] == said(call("a"))
    assert mends == (Mend("foreign", 1),)


def test_what_says_nothing_is_left_out() -> None:
    own = Reasoning("Hm.", "sig", MAKER)
    given: list[Message] = [
        user("?"),
        said(own),
        user(" "),
        said(Text("\n")),
        said(),
        said(Text("Yes.")),
    ]
    whole, mends = mend(given, MAKER)
    assert whole == (given[0], given[-1])
    assert {mended.at for mended in mends} == {1, 2, 3, 4}
    assert {mended.what for mended in mends} == {"empty"}


def test_answers_that_follow_each_other_are_one() -> None:
    whole, mends = mend([user("?"), said(Text("One.")), said(Text("Two."), call("a"))], MAKER)
    assert whole[1] == said(Text("One.\n\nTwo."), call("a"))
    assert mends == (Mend("joined", 2), Mend("unanswered", 2))


def test_a_history_that_begins_with_an_answer_is_opened_by_a_user() -> None:
    whole, mends = mend([said(Text("Yes."))], MAKER)
    assert isinstance(whole[0], UserMessage)
    assert whole[1:] == (said(Text("Yes.")),)
    assert mends == (Mend("opened", 0),)


def test_a_long_history_costs_a_turn_next_to_nothing() -> None:
    """A turn looks at what it added: far less than at 400 messages."""
    turns = [
        (user("Where?"), said(Text("Looking."), call(f"c{i}")), seen(f"c{i}"), said(Text("There.")))
        for i in range(100)
    ]
    whole = tuple(message for turn in turns for message in turn)
    anew, grown = [], []
    for _ in range(50):
        history = History(MAKER, Card())
        assert history.valid(whole[:-4]) is not None
        began = time.perf_counter()
        assert history.valid(whole) is whole
        grown.append(time.perf_counter() - began)
        began = time.perf_counter()
        assert mend(whole, MAKER)[0] is whole
        anew.append(time.perf_counter() - began)
    assert median(grown) * 3 < median(anew)
