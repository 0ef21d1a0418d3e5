"""However the network cuts an answer of Responses, it is the same answer, or an error that says
whether it may have cost anything, and never a hang."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.models.assemble import Assembly, RawCall
from remit.models.openai_responses.reading import Reader
from remit.values.content import Reasoning, Text
from remit.values.errors import ConnectionFailedError
from tests.loopback import Reply, events
from tests.unit.models.responses import (
    added,
    answer_to,
    call,
    done,
    ended,
    event,
    message,
    thought,
)

pytestmark = pytest.mark.slow

TEXT = "你好👩‍🚀 a\u2028b\u0085c\x1cd"
THOUGHT = thought(text="né")
ASKED = '{"q":"né"}'
SENT: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"status": "in_progress"}},
    added(thought(encrypted_content="unfinished")),
    event("reasoning_summary_text.delta", delta="né", summary_index=0),
    done(THOUGHT),
    added(message(), 1),
    event("output_text.delta", 1, delta=TEXT[:3], content_index=0),
    event("output_text.delta", 1, delta=TEXT[3:], content_index=0),
    done(message(TEXT), 1),
    added(call(""), 2),
    event("function_call_arguments.delta", 2, delta='{"q":"n'),
    event("function_call_arguments.delta", 2, delta='é"}'),
    done(call(ASKED), 2),
    ended(),
]
PARTS = [
    Reasoning("né", json.dumps(THOUGHT, separators=(",", ":"))),
    Reasoning("", '{"id":"msg_1"}', form="message"),
    Text(TEXT),
    RawCall("find_order", {"q": "né"}, None, "fc_1"),
]


def body(newline: str = "\n") -> bytes:
    """The answer with its characters as they are, and with comments in between."""
    lines = ["\ufeff: hello"]
    for each in SENT:
        lines += [f"event: {each['type']}", f"data: {json.dumps(each, ensure_ascii=False)}"]
        lines += ["", ": still here", ""]
    return newline.join([*lines, ""]).encode()


def cut(whole: bytes, places: set[int]) -> list[bytes]:
    ends = sorted({0, len(whole)} | {place for place in places if place < len(whole)})
    return [whole[one:other] for one, other in pairwise(ends)]


@settings(max_examples=25, deadline=None)
@given(
    places=st.sets(st.integers(1, len(body())), max_size=60),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_an_answer_is_the_same_wherever_the_network_cuts_it(places: set[int], newline: str) -> None:
    answer = asyncio.run(answer_to(Reply(cut(body(newline), places)), tools=["find_order"]))

    assert answer.parts == PARTS


async def test_an_answer_is_the_same_one_byte_at_a_time() -> None:
    whole = body()

    answer = await answer_to(Reply(cut(whole, set(range(len(whole))))), tools=["find_order"])

    assert answer.parts == PARTS
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (9, 5)


@pytest.mark.parametrize("ending", ["cut", "end", "close"])
@pytest.mark.parametrize("count", range(len(SENT)))
async def test_an_answer_cut_at_any_event_is_an_error_that_may_have_cost(
    count: int, ending: Any
) -> None:
    sent = [events(each, done=False) for each in SENT[:count]]

    with pytest.raises(ConnectionFailedError) as caught:
        async with asyncio.timeout(5):
            await answer_to(Reply(sent, ending=ending), tools=["find_order"])

    assert caught.value.may_cost


@pytest.mark.slow
@pytest.mark.parametrize("count", range(len(SENT)))
async def test_an_answer_that_falls_silent_is_an_error_that_may_have_cost(count: int) -> None:
    sent = [events(each, done=False) for each in SENT[:count]]

    with pytest.raises(ConnectionFailedError, match=r"for 0\.2 seconds") as caught:
        await answer_to(Reply(sent, ending="hang"), tools=["find_order"], timeout=0.2)

    assert caught.value.may_cost


@pytest.mark.parametrize("ending", ["cut", "end", "close", "hang"])
async def test_an_answer_that_has_ended_is_whole_whatever_comes_of_the_connection(
    ending: Any,
) -> None:
    sent = [events(each, done=False) for each in SENT]

    answer = await answer_to(Reply(sent, ending=ending), tools=["find_order"], timeout=0.5)

    assert answer.parts == PARTS


async def test_half_an_emoji_in_text_and_arguments_survives() -> None:
    said = event("output_text.delta", 1, delta="\udcaf!")
    asks = done(call('{"s":"\\ud83d"}', name="q"), 2)

    answer = await answer_to(Reply([events(said, asks, ended())]), tools=["q"])

    assert answer.parts == [Text("\udcaf!"), RawCall("q", {"s": "\ud83d"}, None, "fc_1")]


KEYS = st.sampled_from(["type", "id", "item", "text", "content", "summary", "arguments", "delta"])
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["", "é", "fc_1", "message"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2),
    max_leaves=4,
)


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a value, the value itself left out."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, inner in inside:
        found.append((*place, key))
        found += places(inner, (*place, key)) if isinstance(inner, dict | list) else []
    return found


def changed(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """`value` with what stands at the place replaced, where there is such a place."""
    if not place:
        return new
    key, *rest = place
    if isinstance(value, dict) and key in value:
        return value | {key: changed(value[key], tuple(rest), new)}
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return [*value[:key], changed(value[key], tuple(rest), new), *value[key + 1 :]]
    return value


PLACES = places(SENT)


@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=6))
def test_whatever_stands_in_an_events_field_it_is_an_answer_or_none(changes: Any) -> None:
    sent: Any = SENT
    for place, value in changes:
        sent = changed(sent, place, value)
    reader, assembly = Reader(["find_order"]), Assembly()

    for each in sent:
        for chunk in reader.take(each):
            assembly.add(chunk)
    for chunk in reader.close():
        assembly.add(chunk)
    assembly.close()

    assert assembly.usage is not None
    assert assembly.usage.input_tokens >= 0
