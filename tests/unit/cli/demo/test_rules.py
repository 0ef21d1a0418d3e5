"""The demo's model: a pure function of the request, which sees nothing else."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from remit import ModelRequest
from remit.cli.demo import amounts, reading, replies, rules
from remit.cli.demo.agent import ASK_ABOVE, INSTRUCTIONS, help_desk
from remit.cli.demo.rules import Ask, RulesModel, decide
from remit.models.assemble import Assembly, RawCall
from remit.models.request import ToolSpec
from remit.values.content import Call, Text
from remit.values.messages import AssistantMessage, Message, ResultStatus, ToolMessage, UserMessage

ORDER = {
    "number": "A-1045",
    "items": "3 pens",
    "total": "60.00",
    "refunded": "0.00",
    "status": "delivered",
    "tracking": None,
}
TOOLS = tuple(ToolSpec(tool.name, tool.description, tool.schema) for tool in help_desk().tools)


class Talk:
    """A conversation that grows by what the rules ask for and what a test answers."""

    def __init__(self, text: str, *before: Message) -> None:
        self.messages: list[Message] = [*before, UserMessage((Text(text),))]

    def request(self, tools: tuple[ToolSpec, ...] = TOOLS) -> ModelRequest:
        return ModelRequest(instructions=INSTRUCTIONS, messages=tuple(self.messages), tools=tools)

    def moves(self) -> Any:
        return decide(self.request())

    def answered(self, *results: tuple[str, ResultStatus]) -> Talk:
        """The rules' calls, each with its result."""
        number = len(self.messages)
        calls = [
            Call(id=f"c{number}_{index}", name=ask.name, arguments=ask.arguments, key="k")
            for index, ask in enumerate(self.moves())
        ]
        self.messages.append(AssistantMessage(tuple(calls)))
        for call, (text, status) in zip(calls, results, strict=True):
            self.messages.append(ToolMessage(call.id, call.name, text, status))
        return self


def found(**changes: Any) -> tuple[str, ResultStatus]:
    return json.dumps({**ORDER, **changes}), "ok"


def reply_in(move: Any) -> str:
    (ask,) = move
    assert ask.name == "send_reply"
    return str(ask.arguments["text"])


def test_an_order_is_looked_up_then_refunded_then_replied_about() -> None:
    talk = Talk("pls refund 20 euros on A-1045")

    assert talk.moves() == [Ask("find_order", {"number": "A-1045"})]
    assert talk.answered(found()).moves() == [Ask("refund", {"order": "A-1045", "amount": "20.00"})]
    reply = reply_in(talk.answered(("Refunded 20.00 euros on A-1045.", "ok")).moves())
    assert "We refunded 20.00 euros on A-1045." in reply
    assert talk.answered(("Sent.", "ok")).moves() == (
        "Refunded 20.00 on A-1045; replied about A-1045."
    )


def test_all_that_is_left_is_refunded_where_no_sum_is_named() -> None:
    talk = Talk("money back for A-1045").answered(found(refunded="15.50"))

    assert talk.moves() == [Ask("refund", {"order": "A-1045", "amount": "44.50"})]


@pytest.mark.parametrize(
    ("text", "order", "words"),
    [
        ("refund 500 euros on A-1045", found(), "at most 60.00 euros"),
        ("refund A-1045", found(refunded="60.00"), "refunded in full already"),
        ("refund A-1045", ("This customer has no order A-1045.", "ok"), "cannot find A-1045"),
        ("refund A-1045", ("The tool failed.", "error"), "cannot find A-1045"),
        ("refund A-1045", ('{"number": 1}', "ok"), "cannot find A-1045"),
    ],
)
def test_no_refund_is_tried_that_the_order_cannot_bear(
    text: str, order: tuple[str, ResultStatus], words: str
) -> None:
    assert words in reply_in(Talk(text).answered(order).moves())


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (("A person refused this call: not covered", "denied"), "refused it: not covered."),
        (("At most 10 euros can be refunded.", "error"), "did not go through"),
        (("Not run: the run was cancelled.", "not_run"), "did not go through"),
    ],
)
def test_a_refund_that_was_not_made_is_not_said_to_be(
    result: tuple[str, ResultStatus], words: str
) -> None:
    talk = Talk("refund 20 euros on A-1045").answered(found()).answered(result)

    assert words in reply_in(talk.moves())
    assert "No refund on A-1045" in str(talk.answered(("Sent.", "ok")).moves())


def test_a_reply_that_could_not_be_sent_is_told() -> None:
    talk = Talk("where is my parcel").answered(("The tool failed.", "error"))

    assert talk.moves() == "No reply could be sent."


def test_only_the_newest_message_counts() -> None:
    old = Talk("refund 20 euros on A-1045").answered(found()).answered(("Refunded.", "ok"))

    assert Talk("where is A-1042", *old.messages).moves() == [
        Ask("find_order", {"number": "A-1042"})
    ]


def test_nothing_is_called_that_is_not_offered() -> None:
    without = tuple(tool for tool in TOOLS if tool.name != "refund")
    talk = Talk("refund A-1045").answered(found())

    assert reply_in(decide(talk.request(without)))
    assert isinstance(decide(talk.request(())), str)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "?", "💥" * 1000, "A-1042 " * 200, "9" * 5000, "a" * 20000])
def test_any_text_at_all_gets_a_move(text: str) -> None:
    assert Talk(text).moves()


async def test_a_move_streams_with_its_estimated_usage() -> None:
    talk = Talk("A-1042 and A-1043, where are they")
    assembly = Assembly()
    async for chunk in RulesModel().stream(talk.request()):
        assembly.add(chunk)
    assembly.close()

    assert assembly.parts == [
        RawCall("find_order", {"number": "A-1042"}),
        RawCall("find_order", {"number": "A-1043"}),
    ]
    assert assembly.stop == "calls"
    assert assembly.usage is not None
    assert assembly.usage.estimated


def test_the_rules_reach_neither_files_nor_databases() -> None:
    imported = {
        line
        for module in (amounts, reading, replies, rules)
        for line in inspect.getsource(module).splitlines()
        if line.startswith(("import ", "from "))
    }

    forbidden = ("sqlite3", "orders", "pathlib", "importlib", "os", "subprocess", "store")
    assert not [line for line in imported if line.split()[1].rpartition(".")[2] in forbidden]


def test_refunds_over_the_bound_ask_a_person() -> None:
    (refund,) = [tool for tool in help_desk().tools if tool.name == "refund"]
    assert callable(refund.approval)

    asks = [
        refund.approval(refund.check({"order": "A-1", "amount": amount}))
        for amount in (ASK_ABOVE, f"{ASK_ABOVE}.01")
    ]

    assert asks == [False, True]
