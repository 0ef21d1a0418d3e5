"""Tool calls survive every way in which servers number, name and cut them."""

from __future__ import annotations

from typing import Any

import pytest

from remit.models.assemble import RawCall
from tests.loopback import delta, events, plain, stream
from tests.unit.models.asking import answer_to

pytestmark = pytest.mark.slow

TOOLS = ["q", "add", "now", "query_dataset", "list_mail", "find", "find_order"]


def entry(
    index: Any = None, id: Any = None, name: Any = None, arguments: Any = None, **more: Any
) -> dict[str, Any]:
    """An entry of `tool_calls`; what is None is left out."""
    function = {"name": name, "arguments": arguments}
    whole = {"index": index, "id": id, **more}
    found = {key: value for key, value in whole.items() if value is not None}
    return found | {"function": {k: v for k, v in function.items() if v is not None}}


def null(index: Any, **fields: Any) -> dict[str, Any]:
    """An entry whose empty fields are null instead of left out."""
    return {"index": index, "id": None, "type": None} | {
        "function": {"name": None, "arguments": None} | fields
    }


BULL, WOOLF = '{"s":"Bull"}', '{"s":"Woolf"}'
TWO = [("q", {"s": "Bull"}), ("q", {"s": "Woolf"})]
SUMS = [("add", {"a": 1}), ("add", {"a": 2})]
ONE = [("find_order", {"number": "A-1042"})]
PIECES = ['{"num', 'ber":', '"A-1042"', "}"]

CASES: dict[str, tuple[list[list[Any]], list[tuple[str, dict[str, Any]]]]] = {
    "as OpenAI does it": (
        [
            [entry(0, "a", "q", "", type="function")],
            [entry(0, arguments='{"s":')],
            [entry(0, arguments='"Bull"}')],
            [entry(1, "b", "q", "", type="function")],
            [entry(1, arguments='{"s":"Woolf"}')],
        ],
        TWO,
    ),
    "with nulls for what is left out": (
        [
            [null(0, name="q", arguments="")],
            [null(0, arguments='{"s":')],
            [null(0, arguments='"Bull"}')],
            [null(1, name="q", arguments="")],
            [null(1, arguments=WOOLF)],
        ],
        TWO,
    ),
    "every call whole and at index 0": (
        [[entry(0, "a", "q", BULL)], [entry(0, "b", "q", WOOLF)]],
        TWO,
    ),
    "every call at index 0, in one chunk": (
        [[entry(0, "a", "q", BULL), entry(0, "b", "q", WOOLF)]],
        TWO,
    ),
    "every call at index 0, cut": (
        [
            [entry(0, "a", "q", "")],
            [entry(0, arguments='{"s":"Bu')],
            [entry(0, arguments='ll"}')],
            [entry(0, "b", "q", "")],
            [entry(0, arguments='{"s":"Wo')],
            [entry(0, arguments='olf"}')],
        ],
        TWO,
    ),
    "calls at index 0 take turns, told apart by id": (
        [
            [entry(0, "a", "q", "")],
            [entry(0, "b", "q", "")],
            [entry(0, "a", arguments=BULL)],
            [entry(0, "b", arguments=WOOLF)],
        ],
        TWO,
    ),
    "index 0 and no ids": ([[entry(0, name="q", arguments=a)] for a in (BULL, WOOLF)], TWO),
    "index 0, no ids, cut": (
        [
            [entry(0, name="q", arguments="")],
            [entry(0, arguments=BULL)],
            [entry(0, name="q", arguments="")],
            [entry(0, arguments=WOOLF)],
        ],
        TWO,
    ),
    "no index": ([[entry(id="a", name="q", arguments=BULL)], [entry(None, "b", "q", WOOLF)]], TWO),
    "no index, cut": (
        [
            [entry(id="a", name="q", arguments='{"s":')],
            [entry(arguments='"Bull"}')],
            [entry(id="b", name="q", arguments='{"s":')],
            [entry(arguments='"Woolf"}')],
        ],
        TWO,
    ),
    "no index, in one chunk": (
        [[entry(id="", name="q", arguments=BULL), entry(id="", name="q", arguments=WOOLF)]],
        TWO,
    ),
    "no index, no id, no arguments, in one chunk": (
        [[entry(name="now", arguments=""), entry(name="now", arguments="")]],
        [("now", {}), ("now", {})],
    ),
    "one id for two calls": (
        [[entry(0, "call_1", "add", '{"a":1}')], [entry(1, "call_1", "add", '{"a":2}')]],
        SUMS,
    ),
    "one id for two calls without arguments": (
        [[entry(0, "call_1", "now", "")], [entry(1, "call_1", "now", "")]],
        [("now", {}), ("now", {})],
    ),
    "one id and one index for two calls": (
        [[entry(0, "call_1", "add", '{"a":1}')], [entry(0, "call_1", "add", '{"a":2}')]],
        SUMS,
    ),
    "empty ids": (
        [[entry(0, "", "add", '{"a":1}')], [entry(1, "", "add", '{"a":2}')]],
        SUMS,
    ),
    "null ids": (
        [[null(0, name="add", arguments='{"a":1}')], [null(1, name="add", arguments='{"a":2}')]],
        SUMS,
    ),
    "indexes that begin at 1": (
        [[entry(1, "a", "q", BULL)], [entry(2, "b", "q", WOOLF)]],
        TWO,
    ),
    "an index that counts pieces": (
        [[entry(0, "a", "find_order", PIECES[0])]]
        + [[entry(n, arguments=PIECES[n])] for n in (1, 2, 3)],
        ONE,
    ),
    "a new id for each piece": (
        [[entry(0, "a0", "find_order", "")]]
        + [[entry(0, f"a{n + 1}", arguments=PIECES[n])] for n in range(4)],
        ONE,
    ),
    "the name in every piece": (
        [[entry(0, "a", "find_order", piece)] for piece in PIECES],
        ONE,
    ),
    "the name in every piece, without index and id": (
        [[entry(name="find_order", arguments=piece)] for piece in PIECES],
        ONE,
    ),
    "the whole call once more at the end": (
        [[entry(0, "a", "find_order", piece)] for piece in PIECES]
        + [[entry(0, "a", "find_order", "".join(PIECES))]],
        ONE,
    ),
    "the name cut in two, of which the first is a tool too": (
        [
            [entry(0, "a", "find", "")],
            [entry(0, name="_order")],
            [entry(0, arguments="".join(PIECES))],
        ],
        ONE,
    ),
    "the name growing": (
        [
            [entry(0, "a", "find_ord", "")],
            [entry(0, name="find_order")],
            [entry(0, arguments="".join(PIECES))],
        ],
        ONE,
    ),
    "the id before the name": (
        [[entry(0, "a")], [entry(0, name="find_order")], [entry(0, arguments="".join(PIECES))]],
        ONE,
    ),
    "arguments as an object": (
        [[entry(0, "a", "find_order", {"number": "A-1042"})]],
        ONE,
    ),
    "an empty object first, then the arguments as text": (
        [[entry(0, "a", "find_order", {})], [entry(0, arguments="".join(PIECES))]],
        ONE,
    ),
    "an empty object as text first, then the arguments": (
        [[entry(0, "a", "find_order", "{}")], [entry(0, arguments="".join(PIECES))]],
        ONE,
    ),
    "arguments, then an empty object": (
        [[entry(0, "a", "find_order", "".join(PIECES))], [entry(0, arguments="{}")]],
        ONE,
    ),
    "no arguments: nothing": ([[entry(0, "t1", "now", "")]], [("now", {})]),
    "no arguments: {}": ([[entry(0, "t1", "now", "{}")]], [("now", {})]),
    "no arguments: nothing and {}": (
        [[entry(0, "t1", "now", "")], [entry(0, arguments="{}")]],
        [("now", {})],
    ),
    "no arguments: null": ([[null(0, name="now")]], [("now", {})]),
    "a channel's marker on the name": (
        [[entry(0, "a", "query_dataset<|channel|>commentary", "{}")]],
        [("query_dataset", {})],
    ),
    "a closing tag on the name": (
        [[entry(0, "a", "list_mail</arg_value>", "{}")]],
        [("list_mail", {})],
    ),
    "a marker that comes in a piece of its own": (
        [[entry(0, "a", "list_mail", "")], [entry(0, name="<|channel|>commentary")]],
        [("list_mail", {})],
    ),
    "a namespace before and a number after the name": (
        [[entry(0, "functions.find_order:0", "functions.find_order:0", "".join(PIECES))]],
        ONE,
    ),
    "two different tools at one index": (
        [[entry(0, name="find", arguments="")], [entry(0, name="now", arguments="")]],
        [("find", {}), ("now", {})],
    ),
    "entries that are none": ([["", None, 3, entry(0, "a", "now", "")]], [("now", {})]),
}


@pytest.mark.parametrize(("chunks", "calls"), CASES.values(), ids=CASES.keys())
async def test_calls_are_told_apart_and_put_together(
    chunks: list[Any], calls: list[tuple[str, dict[str, Any]]]
) -> None:
    reply = stream(*(delta(tool_calls=entries) for entries in chunks), delta("tool_calls"))

    answer = await answer_to(reply, tools=TOOLS)

    assert answer.parts == [RawCall(name, arguments) for name, arguments in calls]
    assert answer.stop == "calls"


async def test_a_single_entry_need_not_be_in_a_list() -> None:
    reply = stream(delta(tool_calls=entry(0, "a", "now", "{}")), delta("stop"))

    assert (await answer_to(reply, tools=TOOLS)).parts == [RawCall("now", {})]


async def test_a_function_call_of_the_old_kind_is_a_call() -> None:
    reply = stream(
        delta(function_call={"name": "find_order", "arguments": ""}),
        *(delta(function_call={"arguments": piece}) for piece in PIECES),
        delta("function_call"),
    )

    assert (await answer_to(reply, tools=TOOLS)).parts == [
        RawCall("find_order", {"number": "A-1042"})
    ]


@pytest.mark.parametrize(
    "name",
    ["delete</arg_value>", "<|channel|>", "my find_order", "find_order.delete", "", "x" * 99],
)
async def test_a_name_that_is_no_tools_is_handed_on_as_it_is(name: str) -> None:
    reply = stream(delta(tool_calls=[entry(0, "a", name, "{}")]), delta("tool_calls"))

    assert (await answer_to(reply, tools=TOOLS)).parts == [RawCall(name, {})]


@pytest.mark.parametrize("text", ['{"a":', "{'a': 1}", "[1]", '"text"', '{"a":1}}', "NaN"])
async def test_arguments_that_are_no_object_are_handed_on_as_malformed(text: str) -> None:
    reply = stream(delta(tool_calls=[entry(0, "a", "add", text)]), delta("tool_calls"))

    assert (await answer_to(reply, tools=TOOLS)).parts == [RawCall("add", {}, text)]


async def test_text_before_calls_keeps_its_place() -> None:
    reply = stream(
        delta(content="Let me look."),
        delta(tool_calls=[entry(0, "a", "now", "")]),
        delta(tool_calls=[entry(1, "b", "find", "")]),
        delta("tool_calls"),
    )

    kinds = [type(part).__name__ for part in (await answer_to(reply, tools=TOOLS)).parts]

    assert kinds == ["Text", "RawCall", "RawCall"]


@pytest.mark.parametrize("finish", ["stop", "other", "end_turn", "eos", "", None])
async def test_calls_count_whatever_the_server_says_why_it_stopped(finish: str | None) -> None:
    calls = [entry(n, f"c{n}", "add", f'{{"a":{n}}}') for n in range(3)]
    reply = stream(delta(content="let me pull up the data…"), delta(finish, tool_calls=calls))

    answer = await answer_to(reply, tools=TOOLS)

    assert [part for part in answer.parts if isinstance(part, RawCall)] == [
        RawCall("add", {"a": n}) for n in range(3)
    ]
    assert answer.stop == "calls"


async def test_a_call_cut_off_by_the_output_limit_says_so() -> None:
    reply = stream(delta(tool_calls=[entry(0, "a", "add", '{"a":')]), delta("length"))

    answer = await answer_to(reply, tools=TOOLS)

    assert answer.stop == "length"
    assert answer.parts == [RawCall("add", {}, '{"a":')]


FAILED = {
    "message": "Tool call validation failed",
    "type": "invalid_request_error",
    "code": "tool_use_failed",
    "failed_generation": '{"name": "find_order", "arguments": {"nr": "A-1042"}}',
}


async def test_a_call_that_the_server_refused_by_its_schema_is_a_call() -> None:
    answer = await answer_to(plain({"error": FAILED}, status=400), tools=TOOLS)

    assert answer.parts == [RawCall("find_order", {"nr": "A-1042"})]
    assert answer.stop == "calls"


async def test_a_call_that_the_server_refused_while_it_streamed_is_a_call() -> None:
    error = f"event: error\ndata: {events({'error': FAILED}, done=False).decode()[6:]}"
    reply = stream(delta(reasoning="Hm."))
    reply.pieces[1:1] = [error.encode()]  # type: ignore[index]

    answer = await answer_to(reply, tools=TOOLS)

    assert answer.parts[1:] == [RawCall("find_order", {"nr": "A-1042"})]
