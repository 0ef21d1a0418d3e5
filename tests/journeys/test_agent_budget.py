"""A run stops at whichever bound comes first, with all that was done so far."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

from remit import App, Budget, Card, ModelRequest, Pricing, ToolContext, Usage, tool
from remit.models.request import CallChunk, Chunk, TextChunk, UsageChunk
from remit.store.protocol import Store
from remit.testing.model import FREE, Answer, Call, Item, Say, ScriptedModel
from remit.values.messages import AssistantMessage, UserMessage
from tests.journeys.clerk import Desk, check_request, clerk, results, soon


def looks(number: int, **usage: Any) -> list[Item]:
    """So many turns that each ask for a look."""
    used = Usage(**({"input_tokens": 10, "output_tokens": 0} | usage))
    return [Answer(Call("look", number=turn), usage=used) for turn in range(number)]


async def test_turns() -> None:
    desk = Desk()
    result = await clerk(looks(3), desk.tools(), budget=Budget(turns=3)).run("x")
    assert (result.finish, result.text, result.output) == ("turns", "", None)
    assert len(result.turns) == len(desk.ran) == 3
    assert len(result.messages) == 7


async def test_an_answer_in_the_last_turn_is_an_answer() -> None:
    result = await clerk([*looks(1), Say("done")], Desk().tools(), budget=Budget(turns=2)).run("x")
    assert (result.finish, result.text) == ("answer", "done")


async def test_tokens_in_and_out_together() -> None:
    agent = clerk(looks(3, output_tokens=5), Desk().tools(), budget=Budget(turns=9, tokens=45))
    result = await agent.run("x")
    assert (result.finish, len(result.turns), result.usage.tokens) == ("tokens", 3, 45)


async def test_cost_is_met_exactly() -> None:
    """Three calls of a tenth each: the third is made, and a fourth is not."""
    model = ScriptedModel(looks(3), card=Card(pricing=Pricing(input=10_000, output=0)))
    result = await clerk(model, Desk().tools(), budget=Budget(cost=0.3)).run("x")
    assert (result.finish, len(result.turns)) == ("budget", 3)
    assert result.usage.cost == Decimal("0.3")


async def test_the_first_bound_ends_the_run() -> None:
    budget = Budget(turns=2, tokens=1000, tool_calls=100, cost=1000)
    result = await clerk(looks(2), Desk().tools(), budget=budget).run("x")
    assert result.finish == "turns"


async def test_calls_beyond_the_bound_are_not_run_and_read_so() -> None:
    desk = Desk()
    two, three = [[Call("look", number=n) for n in range(many)] for many in (2, 3)]
    model = ScriptedModel([two, three])
    agent = clerk(model, desk.tools(), budget=Budget(turns=9, tool_calls=3))
    result = await agent.run("x")
    assert result.finish == "tool_calls"
    assert [number for _, number in desk.ran] == [0, 1, 0]
    statuses = [message.status for message in results(result.messages)]
    assert statuses == ["ok", "ok", "ok", "not_run", "not_run"]
    assert results(result.messages)[-1].text.startswith("Not run")


async def test_who_uses_all_calls_and_no_more_may_still_answer() -> None:
    budget = Budget(turns=9, tool_calls=2)
    result = await clerk([*looks(2), Say("done")], Desk().tools(), budget=budget).run("x")
    assert result.finish == "answer"


async def test_nobody_is_asked_about_a_call_beyond_the_bound() -> None:
    desk = Desk()
    agent = clerk([Call("pay_out", amount=5)], desk.tools(), budget=Budget(turns=9, tool_calls=0))
    result = await agent.run("x")
    assert (result.finish, result.pending, desk.ran) == ("tool_calls", (), [])


class Hanging:
    """A model that begins an answer and never ends it."""

    name, card = "own:hanging", FREE

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        try:
            yield TextChunk("Hel")
            await asyncio.Event().wait()
        finally:
            self.closed.set()


async def test_the_time_ends_a_model_that_hangs() -> None:
    model = Hanging()
    result = await soon(clerk(model, budget=Budget(turns=9, seconds=0.02)).run("x"))
    assert (result.finish, result.text, model.closed.is_set()) == ("seconds", "Hel", True)
    assert result.output is None
    assert [type(message) for message in result.messages] == [UserMessage, AssistantMessage]


PAID = Card(pricing=Pricing(input=10, output=10))


class Late:
    """A model that is never done: it gives `pieces`, and then says nothing more."""

    name, card = "own:late", PAID

    def __init__(self, *pieces: Chunk) -> None:
        self.pieces = pieces

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        for piece in self.pieces:
            yield piece
        await asyncio.Event().wait()


async def test_what_a_model_gave_until_the_time_ended_it_counts_as_an_estimate() -> None:
    used = UsageChunk(Usage(input_tokens=500))
    model = Late(used, *[TextChunk(f"{number} ") for number in range(50)])
    result = await soon(clerk(model, budget=Budget(turns=9, seconds=0.02)).run("x"))
    (turn,) = result.turns
    assert result.text.startswith("0 1 2 ")
    assert result.text.endswith(" 49 ")
    assert (turn.usage.estimated, turn.usage.input_tokens) == (True, 500)
    assert turn.usage.output_tokens >= 20
    assert result.usage.cost == turn.cost
    assert turn.cost is not None
    assert turn.cost > 0


@pytest.mark.parametrize(
    "pieces",
    [
        (CallChunk(0, "look", '{"number": 1}'),),
        (CallChunk(0, "final_answer", '{"text": "a'),),
        (TextChunk('<tool_call>{"name": "look", "arguments": {}}'),),
    ],
)
@pytest.mark.parametrize("output", [None, dict[str, str]])
async def test_no_call_of_an_answer_that_the_time_ended_is_made(
    store: Store, pieces: tuple[Chunk, ...], output: Any
) -> None:
    desk = Desk()
    budget = Budget(turns=9, seconds=0.02)
    agent = clerk(Late(*pieces), desk.tools(), budget=budget).replace(output=output)
    async with App(agents=[agent], store=store) as app:
        run = await soon(app.run(agent.name, "x"))
        assert await app.replay(run.id) is None
    assert (run.finish, run.output, len(run.turns), desk.ran) == ("seconds", None, 1, [])
    assert run.turns[0].calls == ()


async def test_a_model_that_gave_nothing_until_the_time_ended_it_has_no_turn() -> None:
    result = await soon(clerk(Late(), budget=Budget(turns=9, seconds=0.02)).run("x"))
    assert (result.finish, result.turns) == ("seconds", ())


async def test_the_time_ends_a_tool_that_hangs_and_keeps_what_ran_beside_it() -> None:
    desk = Desk()
    calls = [Call("hold", number=1), Call("look", number=2), Call("hold", number=3)]
    agent = clerk([calls], desk.tools(), budget=Budget(turns=9, seconds=0.05))
    result = await soon(agent.run("x"))
    assert (result.finish, desk.cut.is_set()) == ("seconds", True)
    found = [(message.status, message.text) for message in results(result.messages)]
    assert found[1] == ("ok", "seen 2")
    assert [status for status, _ in found] == ["not_run", "ok", "not_run"]
    next_request = ModelRequest(instructions="", messages=result.messages)
    check_request(next_request)


async def test_the_time_ends_a_tool_on_a_thread_that_hangs() -> None:

    @tool
    def hang(ctx: ToolContext[Any]) -> str:
        """Hangs until it is cancelled."""
        while not ctx.cancelled:
            never.wait(0.005)
        return "late"

    never = threading.Event()
    agent = clerk([Call("hang")], [hang], budget=Budget(turns=9, seconds=0.02))
    result = await soon(agent.run("x"))
    assert result.finish == "seconds"
    assert [message.status for message in results(result.messages)] == ["not_run"]


async def test_a_bound_that_is_far_away_ends_nothing() -> None:
    budget = Budget(turns=9, cost=1000, tokens=10**9, tool_calls=10**6, seconds=float("inf"))
    result = await clerk([*looks(1), Say("done")], Desk().tools(), budget=budget).run("x")
    assert result.finish == "answer"


@pytest.mark.parametrize("budget", [Budget(turns=1), Budget(turns=9, tokens=1)])
async def test_what_was_done_until_the_bound_is_a_conversation_that_can_go_on(
    budget: Budget,
) -> None:
    result = await clerk(looks(1), Desk().tools(), budget=budget).run("x")
    check_request(ModelRequest(instructions="", messages=result.messages))
    assert isinstance(result.messages[1], AssistantMessage)
