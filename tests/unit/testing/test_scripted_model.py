"""The scripted model streams what it is told, and a test cannot pass beside its script."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from remit import Agent, Budget, ModelRequest, Usage
from remit.errors import ProviderError
from remit.models.assemble import Assembly, RawCall
from remit.models.request import CallChunk, TextChunk
from remit.testing.model import Answer, Call, Item, Say, ScriptedModel
from remit.values.content import Text
from remit.values.messages import UserMessage

REQUEST = ModelRequest(instructions="Help.", messages=(UserMessage((Text("Hello"),)),))


def unchecked(*items: Item) -> ScriptedModel:
    """A model whose script this test checks by itself."""
    model = ScriptedModel(items)
    model.assert_used = lambda: None  # type: ignore[method-assign]  # the plugin asks it
    return model


async def answered(model: ScriptedModel, request: ModelRequest = REQUEST) -> Assembly:
    assembly = Assembly()
    async for chunk in model.stream(request):
        assembly.add(chunk)
    assembly.close()
    return assembly


async def pieces(say: Say) -> list[str]:
    chunks = [chunk async for chunk in ScriptedModel([say]).stream(REQUEST)]
    return [chunk.text for chunk in chunks if isinstance(chunk, TextChunk)]


async def test_items_answer_in_their_order() -> None:
    model = ScriptedModel(
        [
            Call("find_order", number="A-1042"),
            [Say("One moment."), Call("a", x=1), Call("b", x=2)],
            Answer(Say("done"), usage=Usage(input_tokens=900, output_tokens=12), stop="length"),
            lambda request: Say(f"I saw {len(request.messages)} messages"),
        ]
    )
    first, second, third, fourth = [await answered(model) for _ in range(4)]
    assert (first.parts, first.stop) == ([RawCall("find_order", {"number": "A-1042"})], "calls")
    assert first.usage == Usage(input_tokens=100, output_tokens=20)
    assert second.parts == [Text("One moment."), RawCall("a", {"x": 1}), RawCall("b", {"x": 2})]
    assert third.parts == [Text("done")]
    assert third.usage == Usage(input_tokens=900, output_tokens=12)
    assert third.stop == "length"
    assert (fourth.parts, fourth.stop) == ([Text("I saw 1 messages")], "end")
    assert model.requests == [REQUEST] * 4


async def test_an_error_is_raised_instead_of_an_answer() -> None:
    error = ProviderError(status=529)
    model = ScriptedModel([error, lambda request: error])
    for _ in range(2):
        with pytest.raises(ProviderError) as caught:
            await answered(model)
        assert caught.value is error


async def test_an_argument_may_be_called_name() -> None:
    assert (await answered(ScriptedModel([Call("find", name="Ann", self=1)]))).parts == [
        RawCall("find", {"name": "Ann", "self": 1})
    ]


async def test_a_text_streams_in_words_or_as_it_is_cut() -> None:
    assert await pieces(Say("two  words")) == ["two ", " ", "words"]
    assert await pieces(Say("abcde", pieces=2)) == ["abc", "de"]
    assert await pieces(Say("ab", pieces=9)) == ["a", "b"]
    assert await pieces(Say("abc", pieces=["a", "bc"])) == ["a", "bc"]
    assert await pieces(Say()) == []


@pytest.mark.parametrize("cut", [0, -1, ["a", "x"]])
def test_a_cut_that_is_none_of_the_text_is_refused(cut: Any) -> None:
    with pytest.raises(ValueError, match="pieces"):
        Say("abc", pieces=cut)


async def test_a_delay_comes_before_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    chunks = ScriptedModel([[Call("a"), Say("late", delay=30)]]).stream(REQUEST)
    assert isinstance(await anext(chunks), CallChunk)
    assert waited == []
    assert await anext(chunks) == TextChunk("late")
    assert waited == [30]


async def test_a_script_that_runs_out_says_what_was_asked() -> None:
    model = unchecked(Say("one"))
    await answered(model)
    with pytest.raises(AssertionError, match=r"script of 1 answers ran out.*Hello"):
        await answered(model)
    with pytest.raises(AssertionError, match="ran out"):
        ScriptedModel.assert_used(model)


async def test_what_an_item_can_not_be_is_an_error_of_the_test() -> None:
    with pytest.raises(TypeError, match="no scripted answer"):
        await answered(ScriptedModel([5]))  # type: ignore[list-item]  # this is what is refused
    with pytest.raises(TypeError, match="no scripted answer"):
        await answered(ScriptedModel([lambda request: None]))  # type: ignore[list-item, return-value]


def test_unused_items_fail() -> None:
    with pytest.raises(AssertionError, match="2 scripted answers were not used"):
        ScriptedModel.assert_used(unchecked(Say("one"), Say("two")))


async def test_every_request_is_kept_as_sent() -> None:
    model = ScriptedModel([Say("hi")])
    agent: Agent[None, str] = Agent(
        name="desk", model=model, instructions="Help.", budget=Budget(turns=1)
    )
    await agent.run("Hello")
    (request,) = model.requests
    assert (request.instructions, request.tools) == ("Help.", ())
    assert request.messages == (UserMessage((Text("Hello"),)),)
