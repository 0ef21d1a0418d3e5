"""A conversation that grows keeps its beginning, and the marks that cache it move along."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remit.values.content import Text
from remit.values.messages import AssistantMessage, Message
from tests.unit.models.anthropic.talk import CALLED, body, call, result, said, thought, user
from tests.unit.models.asking import asked, tool


def marks(found: dict[str, Any]) -> list[str]:
    """Where the marks stand, as the paths of their blocks."""
    holders = {"tools": found.get("tools", []), "system": found.get("system", [])}
    turns = {f"messages.{at}": turn["content"] for at, turn in enumerate(found["messages"])}
    return [
        f"{place}.{number}"
        for place, blocks in (holders | turns).items()
        for number, block in enumerate(blocks)
        if "cache_control" in block
    ]


def test_at_most_four_marks_move_with_the_conversation() -> None:
    tools = [tool("a"), tool("b")]

    assert marks(body(asked(tools=tools))) == ["tools.1", "system.0", "messages.0.0"]
    assert marks(body(asked(*CALLED, tools=tools))) == [
        "tools.1",
        "system.0",
        "messages.0.0",
        "messages.2.1",
    ]
    longer = [*CALLED, said(call("c3")), result("c3"), user("And?")]
    assert marks(body(asked(*longer, tools=tools)))[2:] == ["messages.2.1", "messages.4.1"]


def test_the_marks_say_how_long_to_keep() -> None:
    def control(**options: Any) -> Any:
        return body(asked(), **options)["system"][0].get("cache_control")

    assert control() == {"type": "ephemeral"}
    assert control(cache="1h") == {"type": "ephemeral", "ttl": "1h"}
    assert control(cache=None) is None


ASKED = st.builds(lambda n: [user("?"), said(Text(f"Answer {n}."))], st.integers())
LOOKED = st.builds(
    lambda n, think: [
        *([user(f"Do {n}.")] if n % 2 else []),
        said(*([thought("Hm.")] if think else []), call(f"c{n}", n=n)),
        result(f"c{n}"),
    ],
    st.integers(0, 10**6),
    st.booleans(),
)


@given(st.lists(ASKED | LOOKED, min_size=1, max_size=6))
def test_a_conversation_that_grows_keeps_its_beginning(stretches: list[list[Message]]) -> None:
    whole = [user("Begin."), *(message for stretch in stretches for message in stretch)]
    requests = [
        asked(*whole[:end], tools=[tool()])
        for end in range(1, len(whole) + 1)
        if not isinstance(whole[end - 1], AssistantMessage)
    ]
    before: list[Any] = []

    for request in requests:
        found = flat(body(request))
        assert found[: len(before)] == before
        before = found


def flat(found: dict[str, Any]) -> list[Any]:
    """Everything that a cache goes by, in its order, without the marks."""
    blocks = [*found["tools"], *found["system"]]
    for turn in found["messages"]:
        blocks += [(turn["role"], block) for block in turn["content"]]
    plain = json.dumps(blocks).replace(', "cache_control": {"type": "ephemeral"}', "")
    return list(json.loads(plain))
