"""What a type checker knows of answers: `make check` checks these as it checks all tests."""

from __future__ import annotations

from typing import Any, assert_type

from pydantic import BaseModel

from remit import Agent, Budget, Result
from remit.testing.model import Call, Say, ScriptedModel


class Order(BaseModel):
    number: str


async def test_a_typed_agents_output_is_of_its_type_or_none() -> None:
    model = ScriptedModel([Call("final_answer", number="A-1")])
    agent = Agent(name="desk", model=model, output=Order, budget=Budget(turns=1))

    result = await agent.run("go")

    assert_type(agent, Agent[Any, Order])
    assert_type(result, Result[Order | None])
    assert_type(result.output, Order | None)
    assert result.output == Order(number="A-1")


async def test_an_agent_without_a_type_answers_with_text() -> None:
    agent = Agent(name="desk", model=ScriptedModel([Say("Hello.")]), budget=Budget(turns=1))

    result = await agent.run("go")

    assert_type(result.output, str | None)
    assert result.output == "Hello."


async def test_an_agent_that_is_replaced_keeps_its_type() -> None:
    agent = Agent(name="desk", model=ScriptedModel([]), output=list[int], budget=Budget(turns=1))
    model = ScriptedModel([Call("final_answer", answer=[1])])

    result = await agent.replace(model=model).run("go")

    assert_type(result.output, list[int] | None)
    assert result.output == [1]


async def test_a_result_of_no_type_in_particular_has_any_output() -> None:
    async def finalize(result: Result) -> str:
        assert_type(result.output, Any)
        return str(result.output.number)

    model = ScriptedModel([Call("final_answer", number="A-1")])
    agent = Agent[Any, Any](
        name="desk", model=model, output=Order, finalize=finalize, budget=Budget(turns=1)
    )

    assert (await agent.run("go")).output == "A-1"
