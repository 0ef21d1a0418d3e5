"""Whatever a server that speaks Responses answers goes back to it as the same items."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remit.models.assemble import Assembly, RawCall
from remit.models.openai_responses.reading import Reader
from remit.testing import Call, Quirks, Reply, Say, Think, check_responses
from remit.testing.provider import Sent
from remit.testing.provider.responses_wire import events, whole
from remit.testing.provider.signing import MAKER
from remit.values import content
from remit.values.content import Reasoning
from remit.values.messages import AssistantMessage, Message, ToolMessage
from tests.unit.models.asking import asked
from tests.unit.models.responses import body_of
from tests.unit.models.test_responses_request import ASK
from tests.unit.models.test_responses_request import MAKER as MODEL

PARTS = st.lists(
    st.one_of(
        st.builds(Think, st.sampled_from(["Hm.", "né 👩‍🚀", "a\n\nb"])),
        st.builds(Say, st.sampled_from(["Here.", "\n\nIt is", "7 "])),
        st.builds(lambda: Call("find_order", number="A-1")),
    ),
    min_size=1,
    max_size=6,
)


def answer_of(sent: Any, reply: Reply, ids: list[str | None], turn: int) -> AssistantMessage:
    """The answer to a request as an agent keeps it."""
    reader, assembly = Reader(["find_order"]), Assembly()
    for event in events(reply, sent, ids, MAKER):
        for chunk in reader.take(json.loads(json.dumps(event))):
            assembly.add(chunk)
    for chunk in reader.close():
        assembly.add(chunk)
    assembly.close()
    kept: list[Any] = []
    for part in assembly.parts:
        if isinstance(part, RawCall):
            id = f"call_{turn}_{len(kept)}"
            call = content.Call(id, part.name, part.arguments, id, signature=part.signature)
            kept.append(call)
        elif isinstance(part, Reasoning):
            kept.append(Reasoning(part.text, part.signature, MODEL, part.form))
        else:
            kept.append(part)
    return AssistantMessage(tuple(kept), MODEL)


@given(turns=st.lists(PARTS, min_size=1, max_size=3), reset=st.booleans())
def test_an_answers_items_go_back_as_they_came(turns: list[list[Any]], reset: bool) -> None:
    messages: list[Message] = [ASK]
    expected: list[dict[str, Any]] = []
    for turn, parts in enumerate(turns):
        body = body_of(asked(*messages))
        check_responses(body)
        sent = Sent("/v1/responses", {}, json.dumps(body))
        reply = Reply(*parts, quirks=Quirks(index="reset" if reset else "counted"))
        ids: list[str | None] = [f"c{n}" for n, p in enumerate(parts) if isinstance(p, Call)]
        message = answer_of(sent, reply, ids, turn)
        messages += [message, *(ToolMessage(c.id, c.name, "sent") for c in message.calls)]
        messages.append(ASK)
        expected += _back(whole(reply, sent, ids, MAKER)["output"])

    body = body_of(asked(*messages))

    check_responses(body)
    answered = [item for item in body["input"] if _is_answer(item)]
    assert [_plain(item) for item in answered] == [_plain(item) for item in expected]


def _back(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that can go back: reasoning at the end led to nothing."""
    while items and items[-1]["type"] == "reasoning":
        items = items[:-1]
    return items


def _is_answer(item: dict[str, Any]) -> bool:
    return item["type"] in ("reasoning", "function_call") or item.get("role") == "assistant"


def _plain(item: dict[str, Any]) -> Any:
    """Reasoning as it is; of all else what it says, and its id where it came of reasoning."""
    if item["type"] == "reasoning":
        return item
    if item["type"] == "function_call":
        return item["name"], json.loads(item["arguments"])
    said = item["content"]
    return said if isinstance(said, str) else "".join(part["text"] for part in said)
