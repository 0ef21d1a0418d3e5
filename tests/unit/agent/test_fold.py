"""When and what a fold cuts, and that what is left is always valid."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.agent.fold import Fold
from remit.agent.fold.cut import decide, told
from remit.agent.fold.measure import tokens
from remit.agent.history import is_valid
from remit.agent.recorded.folds import CLEARED, Brief, Cleared, Folds, view
from remit.errors import ConfigError
from remit.messages import AssistantMessage, Call, Message, Text, ToolMessage, UserMessage
from remit.values.usage import Usage

MAKER = "m"
SIZE = 400


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def turns(count: int, size: int = SIZE) -> list[Message]:
    """A task and `count` turns, each of two calls."""
    messages: list[Message] = [user("The task.")]
    for n in range(count):
        calls = [Call(f"c{n}_{k}", "look", {}, f"r/{n}/{k}") for k in range(2)]
        messages.append(AssistantMessage((Text(f"Turn {n}."), *calls), MAKER))
        messages += [ToolMessage(call.id, "look", "x" * size) for call in calls]
    return messages


def estimate(messages: Any) -> int:
    return sum(map(tokens, messages))


def brief(covers: int, number: int = 0) -> Brief:
    return Brief(number=number, covers=covers, text="So far.", model=MAKER, usage=Usage())


@pytest.mark.parametrize(
    ("options", "window", "room", "starts"),
    [
        ({}, None, 140_000, 112_000),
        ({}, 1_000_000, 140_000, 112_000),
        ({}, 60_000, 52_500, 42_000),
        ({"max_tokens": 60_000}, None, 52_500, 42_000),
        ({"max_tokens": 60_000}, 200_000, 52_500, 42_000),
    ],
)
def test_thresholds_are_those_of_the_ceiling(
    options: dict[str, Any], window: int | None, room: int, starts: int
) -> None:
    fold = Fold(**options)
    assert (fold.room(window), fold.starts(window)) == (room, starts)


def test_a_run_goes_on_to_the_window_where_one_is_known() -> None:
    assert Fold().end(None) is None
    assert Fold().end(1_000_000) == 875_000
    assert Fold(max_tokens=60_000).end(None) == 52_500
    assert Fold(max_tokens=60_000).end(200_000) == 175_000


@pytest.mark.parametrize(
    "options",
    [{"max_tokens": 999}, {"max_tokens": "1000"}, {"keep_turns": 0}, {"times": -1}],
)
def test_a_fold_that_cannot_work_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"Fold\."):
        Fold(**options)


def test_old_results_are_cleared_first_and_the_oldest_first() -> None:
    messages = turns(12)
    size = estimate(messages)
    found = decide(messages, Folds(), 0, Fold(keep_turns=2), (size, size), size * 3 // 2)
    assert found is not None
    assert found.covers == 0
    results = [m.call_id for m in messages if isinstance(m, ToolMessage)]
    assert found.calls == tuple(results[: len(found.calls)])
    assert found.kept == tuple(results[len(found.calls) :])
    assert set(results[-4:]) <= set(found.kept)
    folds = Folds()
    folds.add(found, 12)
    shown = view(messages, folds, 0)
    assert next(m.text for m in shown if isinstance(m, ToolMessage)) == CLEARED
    assert shown[-6:] == tuple(messages[-6:])
    assert estimate(shown) <= size * 3 // 4


def test_a_brief_is_wanted_only_where_clearing_is_not_enough() -> None:
    messages = turns(12, size=1)
    size = estimate(messages)
    found = decide(messages, Folds(), 0, Fold(), (size, size), size)
    assert found is not None
    assert (found.calls, found.covers) == ((), 31)
    folds = Folds()
    folds.add(found, 12)
    assert folds.due == found
    folds.add(brief(31), 12)
    assert folds.due is None
    shown = view(messages, folds, 0)
    assert shown[0] == messages[0]
    assert "So far." in shown[1].text
    assert shown[2:] == tuple(messages[31:])


def test_nothing_is_folded_where_only_the_newest_turns_are_left() -> None:
    messages = turns(2)
    assert decide(messages, Folds(), 0, Fold(keep_turns=2), (9_999, 999), 500) is None
    folds = Folds()
    folds.add(brief(1), 2)
    assert decide(messages, folds, 0, Fold(keep_turns=2), (9_999, 999), 500) is None


def test_the_first_task_and_the_runs_own_stay_word_for_word() -> None:
    messages = [*turns(3), AssistantMessage((Text("Done."),), MAKER), user("Own task."), *turns(5)]
    own = 11
    folds = Folds()
    folds.add(brief(20), 8)
    shown = view(messages, folds, own)
    assert shown[:2] == (messages[0], messages[own])
    assert shown[3:] == tuple(messages[20:])


def test_a_brief_is_asked_for_with_text_alone_of_a_bounded_size() -> None:
    messages = turns(40, size=10_000)
    text = told(messages, Folds(), 100, 1_000)
    assert len(text) < 20_000
    assert "CALL look" in text
    assert text.startswith("USER: The task.")
    folds = Folds()
    folds.add(brief(31), 1)
    assert told(messages, folds, 61, 1_000).startswith("EARLIER BRIEF: So far.")


@pytest.mark.parametrize("room", range(0, 8_000, 40))
def test_at_each_of_200_thresholds_what_is_left_is_valid(room: int) -> None:
    """40 messages; each fold that is wanted is made, at most two."""
    messages = turns(13)
    assert len(messages) == 40
    folds = Folds()
    for number in range(2):
        size = estimate(view(messages, folds, 0))
        found = decide(messages, folds, 0, Fold(), (size, size), room)
        if found is None:
            break
        assert found.number == number
        folds.add(found, 13)
        if found.covers:
            folds.add(brief(found.covers, number), 13)
        shown = view(messages, folds, 0)
        assert is_valid(shown, MAKER)
        assert shown[0] == messages[0]
        assert shown[-6:] == tuple(messages[-6:])


@given(
    st.lists(st.sampled_from(["user", "calls", "answer"]), max_size=20),
    st.integers(0, 3_000),
    st.integers(1, 4),
)
def test_any_valid_history_stays_valid(kinds: list[str], room: int, keep: int) -> None:
    messages: list[Message] = [user("Task.")]
    for n, kind in enumerate(kinds):
        if kind == "user" or isinstance(messages[-1], AssistantMessage):
            messages.append(user(f"U{n}"))
        elif kind == "answer":
            messages.append(AssistantMessage((Text(f"A{n}"),), MAKER))
        else:
            messages += [
                AssistantMessage((Call(f"c{n}", "look", {}, "k"),), MAKER),
                ToolMessage(f"c{n}", "look", "x" * 300),
            ]
    folds = Folds()
    found = decide(messages, folds, 0, Fold(keep_turns=keep), (2_000, 1_000), room)
    if found is None:
        return
    folds.add(found, 1)
    if found.covers:
        folds.add(brief(found.covers), 1)
    assert is_valid(view(messages, folds, 0), MAKER)
    assert isinstance(found, Cleared)
