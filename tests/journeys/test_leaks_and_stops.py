"""Laws of what is kept of an answer, by the tools, the form and the stop that it has."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import BaseModel

from remit import Agent, App, Budget, Result, tool
from remit.agent.hooks import Hooks, TurnPlan
from remit.models.protocol import Card
from remit.models.request import CallChunk, Chunk, ModelRequest, Stop
from remit.store.protocol import Store
from remit.testing.model import Answer, Call, Item, Say, ScriptedModel

LEAK = '<tool_call>\n{"name": "look", "arguments": {"number": 1}}\n</tool_call>'
BARE = '{"name": "look", "arguments": {"number": 1}}'


class Note(BaseModel):
    text: str


class Spec(BaseModel):
    name: str
    arguments: dict[str, int]


@tool
async def look(number: int) -> str:
    """Looks."""
    return "seen"


@tool
async def count() -> str:
    """Counts."""
    return "one"


def final(**arguments: Any) -> Call:
    return Call("final_answer", **arguments)


async def run(script: list[Item], **options: Any) -> tuple[Result, ScriptedModel, list[Any]]:
    model = ScriptedModel(script)
    seen: list[Any] = []
    agent: Agent[Any, Any] = Agent(
        name="desk",
        model=model,
        tools=[look, count],
        **({"budget": Budget(turns=5)} | options),
    )
    return await agent.run("go", on_event=seen.append), model, seen


def shown(seen: list[Any]) -> str:
    return "".join(event.text for event in seen if event.kind == "text")


@pytest.mark.parametrize("leak", [BARE, "look(number=1)", "[look(number=1)]", "[look]\n{}"])
async def test_a_call_of_a_tool_that_the_last_turn_lacks_is_no_answer(leak: str) -> None:
    script: list[Item] = [Call("count"), Say(leak)]
    result, _, seen = await run(script, budget=Budget(turns=2), on_limit="answer")
    assert (result.finish, result.output, shown(seen)) == ("turns", None, "")


async def test_a_call_of_a_tool_that_a_turn_was_not_offered_is_no_answer() -> None:
    hooks = Hooks(prepare_turn=lambda context: TurnPlan(tools=["count"]))
    result, _, seen = await run([Say(BARE), Say("Done.")], hooks=hooks)
    assert (result.text, shown(seen)) == ("Done.", "Done.")


@pytest.mark.parametrize("said", [final(text=LEAK), Say(json.dumps({"text": LEAK}))])
async def test_a_value_whose_text_is_a_call_is_no_answer(said: Item) -> None:
    result, model, _ = await run([said, final(text="good")], output=Note)
    assert result.output == Note(text="good")
    assert "written as text" in getattr(model.requests[1].messages[-1], "text", "")


async def test_a_value_that_looks_like_a_call_is_an_answer_of_the_form_it_fits() -> None:
    result, model, _ = await run([Say(BARE)], output=Spec)
    assert result.output == Spec(name="look", arguments={"number": 1})
    assert len(model.requests) == 1


@pytest.mark.parametrize("bad", [{"body": LEAK}, {"body": BARE}, {LEAK: 1}])
async def test_a_misfit_that_holds_a_call_is_not_repeated_to_the_model(bad: Any) -> None:
    result, model, _ = await run([final(**bad), final(text="good")], output=Note)
    told = getattr(model.requests[1].messages[-1], "text", "")
    assert result.output == Note(text="good")
    assert "does not fit" in told
    assert "text: Field required" in told
    assert "look" not in told


@pytest.mark.parametrize("stop", ["length", "refusal"])
async def test_a_final_answer_that_was_cut_or_refused_ends_the_run(stop: Stop) -> None:
    result, model, seen = await run([Answer(final(text="abc"), stop=stop)], output=Note)
    assert (result.finish, result.output, len(model.requests)) == (stop, None, 1)
    assert [turn.calls for turn in result.turns] == [()]
    assert not any(event.kind == "tool_call" for event in seen)
    assert result.text == '{"text":"abc"}'


@pytest.mark.parametrize("output", [None, Note])
async def test_a_refusal_is_final_whatever_it_was_written_as(store: Store, output: Any) -> None:
    model = ScriptedModel([Answer(Say(f"I cannot. {LEAK}"), stop="refusal")])
    agent: Agent[Any, Any] = Agent(
        name="desk", model=model, tools=[look], output=output, budget=Budget(turns=5)
    )
    async with App(agents=[agent], store=store) as app:
        run = await app.run("desk", "go")
        assert await app.replay(run.id) is None
    assert (run.finish, run.text, len(model.requests)) == ("refusal", "I cannot. ", 1)


class Circling:
    """A model whose final answer repeats itself."""

    name, card = "own:circling", Card()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        yield CallChunk(0, "final_answer", '{"text": "')
        for _ in range(2000):
            yield CallChunk(0, "", "la la la la ")


async def test_a_final_answer_that_goes_in_circles_is_no_call() -> None:
    agent = Agent(name="desk", model=Circling(), output=Note, budget=Budget(turns=5))
    result = await agent.run("go")
    assert (result.finish, result.reason) == ("stuck", "repeated_text")
    assert [turn.calls for turn in result.turns] == [()]
