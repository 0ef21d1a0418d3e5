"""Any model of pydantic-ai answers as remit's own do, and what it wants back it gets back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import pytest
from pydantic_ai import messages as theirs
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UserError
from pydantic_ai.models.function import (
    AgentInfo,
    DeltaThinkingPart,
    DeltaToolCall,
    FunctionModel,
)
from pydantic_ai.models.test import TestModel as Testing

from remit import Agent, App, Budget, Card, Catalogue, Pricing, tool
from remit.models.assemble import Assembly, RawCall
from remit.models.bridge import Bridge
from remit.models.bridge.history import conversation, keep
from remit.models.request import Chunk, ModelRequest, TextChunk
from remit.values.content import Call, Image, Pdf, Reasoning, Text
from remit.values.errors import ConfigError, ConnectionFailedError, ProviderError
from remit.values.messages import AssistantMessage, ToolMessage, UserMessage
from tests.unit.models.asking import asked
from tests.unit.models.asking import tool as spec

Piece = Any
Seen = list[tuple[list[theirs.ModelMessage], AgentInfo]]
PNG = b"\x89PNG\r\n\x1a\n"


def scripted(*pieces: Piece, seen: Seen | None = None) -> Bridge:
    """A bridge to a function that streams `pieces`; an error among them is raised."""

    async def answer(messages: list[theirs.ModelMessage], info: AgentInfo) -> AsyncIterator[Piece]:
        if seen is not None:
            seen.append((messages, info))
        for piece in pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    return Bridge(FunctionModel(stream_function=answer, model_name="scripted"))


async def chunks_of(bridge: Bridge, request: ModelRequest | None = None) -> list[Chunk]:
    async with aclosing(bridge.stream(request or asked())) as stream:  # type: ignore[type-var]
        return [chunk async for chunk in stream]


async def assembled(bridge: Bridge, request: ModelRequest | None = None) -> Assembly:
    assembly = Assembly()
    for chunk in await chunks_of(bridge, request):
        assembly.add(chunk)
    assembly.close()
    return assembly


@tool
async def find_order(number: str) -> str:
    """Finds an order."""
    return f"The order {number} was shipped on Monday."


async def test_text_streams_as_it_comes() -> None:
    chunks = await chunks_of(scripted("One ", "two ", "three"))

    assert [c.text for c in chunks if isinstance(c, TextChunk)] == ["One ", "two ", "three"]


async def test_parts_come_in_order_with_reasoning_apart_from_text() -> None:
    found = await assembled(
        scripted(
            {0: DeltaThinkingPart(content="Hm. ")},
            {0: DeltaThinkingPart(content="So.", signature="SIG")},
            "I look it up.",
            {2: DeltaToolCall(name="find_order", json_args='{"num')},
            {3: DeltaToolCall(name="find_order", json_args='{"number": "B"}')},
            {2: DeltaToolCall(json_args='ber": "A"}')},
        ),
        asked(tools=[spec(number={"type": "string"})]),
    )

    thought, text, *calls = found.parts
    assert isinstance(thought, Reasoning)
    assert (thought.text, text) == ("Hm. So.", Text("I look it up."))
    assert thought.signature is not None
    assert "SIG" in thought.signature
    assert calls == [RawCall("find_order", {"number": "A"}), RawCall("find_order", {"number": "B"})]
    assert found.stop == "calls"


async def test_arguments_that_are_no_json_are_kept_as_they_came() -> None:
    found = await assembled(
        scripted({0: DeltaToolCall(name="find_order", json_args='{"number": ')}),
        asked(tools=[spec(number={"type": "string"})]),
    )

    assert found.parts == [RawCall("find_order", {}, '{"number": ')]


async def test_a_whole_run_goes_through_the_bridge() -> None:
    rates = Card(pricing=Pricing(input=1, output=2))
    bridge = Bridge(Testing(), card=rates)
    desk = Agent(name="desk", model=bridge, tools=[find_order], budget=Budget(turns=4))

    async with App(agents=[desk], store="memory:") as app:
        run = await app.run("desk", "Where is it?")

    assert run.status == "succeeded"
    assert "shipped on Monday" in run.text
    assert [turn.model for turn in run.turns] == ["bridge:test:test"] * 2
    assert run.usage.input_tokens > 50
    assert run.usage.cost == rates.pricing.cost(run.usage)  # type: ignore[union-attr]  # declared


async def test_a_conversation_is_told_in_their_terms() -> None:
    seen: Seen = []
    call = Call("call_1", "find_order", {"number": "A"}, "k")
    request = asked(
        UserMessage((Text("Look at "), Image(PNG), Pdf(b"%PDF-1"), Image(url="https://a.b/c.png"))),
        AssistantMessage((Text("I do."), call), "m"),
        ToolMessage("call_1", "find_order", "", "error"),
        UserMessage((Text("And?"),)),
        instructions="Help.",
        tools=[spec(number={"type": "string"})],
        max_output=77,
        tool_choice="find_order",
    )

    await chunks_of(scripted("Done", seen=seen), request)

    ((messages, info),) = seen
    first, answer, last = messages
    assert isinstance(first, theirs.ModelRequest)
    assert isinstance(last, theirs.ModelRequest)
    (prompt,) = first.parts
    assert isinstance(prompt, theirs.UserPromptPart)
    kinds = [type(part).__name__ for part in prompt.content]
    assert kinds == ["str", "BinaryContent", "BinaryContent", "ImageUrl"]
    text, asked_for = answer.parts
    assert isinstance(text, theirs.TextPart)
    assert isinstance(asked_for, theirs.ToolCallPart)
    assert (text.content, asked_for.tool_call_id, asked_for.args) == (
        "I do.",
        "call_1",
        {"number": "A"},
    )
    result, more = last.parts
    assert isinstance(result, theirs.ToolReturnPart)
    assert isinstance(more, theirs.UserPromptPart)
    assert (result.content, result.outcome, result.tool_call_id) == ("(empty)", "failed", "call_1")
    assert more.content == "And?"
    assert last.instructions == "Help."
    (described,) = info.function_tools
    assert (described.name, described.parameters_json_schema["required"]) == (
        "find_order",
        ["number"],
    )
    assert info.model_settings == {
        "max_tokens": 77,
        "max_retries": 0,
        "tool_choice": ["find_order"],
    }


async def test_reasoning_is_given_back_with_its_signature() -> None:
    seen: Seen = []

    async def answer(messages: list[theirs.ModelMessage], info: AgentInfo) -> AsyncIterator[Piece]:
        seen.append((messages, info))
        if len(messages) > 1:
            yield "Done."
            return
        yield {0: DeltaThinkingPart(content="Hm.", signature="SIG+/=")}
        yield {1: DeltaToolCall(name="find_order", json_args='{"number": "A"}')}

    bridge = Bridge(FunctionModel(stream_function=answer))
    desk = Agent(name="desk", model=bridge, tools=[find_order], budget=Budget(turns=3))
    result = await desk.run("Where is it?")

    thought = seen[1][0][1].parts[0]
    assert isinstance(thought, theirs.ThinkingPart)
    assert (thought.content, thought.signature) == ("Hm.", "SIG+/=")
    assert thought.provider_name == "function"
    assert result.text == "Done."


def test_what_a_call_came_with_is_given_back_as_it_was() -> None:
    details = {"thought_signature": "AB==", "deep": [1, {"a": None}]}
    part = theirs.ToolCallPart(
        "find_order", {}, id="fc_1", provider_name="google", provider_details=details
    )
    call = Call("call_1", "find_order", {}, "k", signature=keep(part))

    (response,) = conversation(asked(AssistantMessage((call,), "m")))

    (again,) = response.parts
    assert isinstance(again, theirs.ToolCallPart)
    assert (again.id, again.provider_name) == ("fc_1", "google")
    assert again.provider_details == details


ERRORS: dict[str, tuple[Callable[[], Exception], type[Exception], str]] = {
    "a status": (
        lambda: ModelHTTPError(429, "m", {"error": {"message": "Slow down", "code": "rate"}}),
        ProviderError,
        "status 429: rate: Slow down",
    ),
    "no status": (lambda: ModelAPIError("m", "it broke"), ProviderError, "it broke"),
    "wrong use": (lambda: UserError("Set the key"), ConfigError, "Set the key"),
    "no connection": (lambda: ConnectionResetError("reset"), ConnectionFailedError, "reset"),
    "a limit of time": (lambda: TimeoutError(), ConnectionFailedError, "nothing came"),
    "anything else": (lambda: KeyError("x"), ProviderError, "KeyError"),
}


@pytest.mark.parametrize(("make", "kind", "told"), ERRORS.values(), ids=ERRORS.keys())
async def test_their_errors_are_remits(
    make: Callable[[], Exception], kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind, match=told) as caught:
        await chunks_of(scripted("One", make()))

    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


async def test_how_long_a_provider_wants_to_be_left_alone_is_told() -> None:
    error = ModelHTTPError(503, "m", {"error": {"message": "Busy"}}, retry_after=7.5)

    with pytest.raises(ProviderError) as caught:
        await chunks_of(scripted(error))

    assert caught.value.retry_after == 7.5


def test_names_are_those_of_records() -> None:
    assert scripted().name == "bridge:function:scripted"
    assert Bridge("groq:llama-3.3").name == "bridge:groq:llama-3.3"


def test_a_name_of_the_catalogue_is_a_bridge_under_its_card() -> None:
    card = Card(pricing=Pricing(input=1, output=2))

    found = Catalogue({"bridge:groq:llama-3.3": card}).model("bridge:groq:llama-3.3")

    assert isinstance(found, Bridge)
    assert (found.model, found.name, found.card) == (
        "groq:llama-3.3",
        "bridge:groq:llama-3.3",
        card,
    )


@pytest.mark.parametrize("name", ["nobody:large", "large", "groq:llama-3.3"])
async def test_what_cannot_be_made_is_told_when_it_is_needed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)

    with pytest.raises(ConfigError, match=r"[Uu]nknown model|[Pp]lease install"):
        await Bridge(name).prepare()


async def test_without_the_package_the_mend_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)

    with pytest.raises(ConfigError, match=r"pip install '\.\[bridge\]'"):
        await Bridge("groq:llama-3.3").prepare()


def test_making_one_by_name_loads_nothing_of_theirs() -> None:
    program = (
        "import sys\nfrom remit import Catalogue\n"
        "Catalogue().model('bridge:groq:llama-3.3').name\n"
        "assert 'pydantic_ai' not in sys.modules"
    )

    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("", {}),
        (5, {}),
        (object(), {}),
        ("a:b", {"timeout": 0}),
        ("a:b", {"settings": {"max_tokens": 5}}),
        ("a:b", {"settings": {"max_retries": 5}}),
    ],
)
def test_options_that_are_none_are_refused(model: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="Bridge"):
        Bridge(model, **options)
