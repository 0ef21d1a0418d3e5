"""Long histories are folded: durable, paid, bounded, and never in a loop."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

import pytest

from remit import Agent, Budget, Card, ModelRequest, Pricing, tool
from remit.agent.fold import Fold
from remit.agent.recorded.folds import CLEARED
from remit.errors import ConfigError
from remit.messages import AssistantMessage, Message, Text, ToolMessage, UserMessage
from remit.messages import Call as Asked
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import CrashStore
from remit.testing.model import Answer, Call, Item, Say, ScriptedModel
from remit.tools.tool import Tool
from remit.values.events import FoldEvent
from remit.values.usage import Usage
from tests.journeys.clerk import app_of, check_request, clerk, cut_short, dies, ended

RATES = Card(pricing=Pricing(input=1, output=2))


@tool
async def look(number: int) -> str:
    """Looks a number up."""
    return f"seen {number} " + "x" * 2_000


@tool
async def peek(number: int) -> str:
    """Looks a number up, shortly."""
    return f"seen {number}"


def turn(number: int, reads: int = 1_000, name: str = "look") -> Answer:
    return Answer(Call(name, number=number), usage=Usage(input_tokens=reads, output_tokens=10))


def agent(script: Any, tools: Any = (look, peek), **options: Any) -> Agent[Any, Any]:
    return clerk(script, list[Tool](tools), **({"budget": Budget(turns=20)} | options))


def is_brief(request: ModelRequest) -> bool:
    return "brief" in request.instructions


def cleared_of(request: ModelRequest) -> list[bool]:
    return [m.text == CLEARED for m in request.messages if isinstance(m, ToolMessage)]


@pytest.mark.parametrize(
    ("reads", "options", "window", "folds"),
    [
        (111_999, {}, None, False),
        (112_000, {}, None, True),
        (41_999, {"max_tokens": 60_000}, None, False),
        (42_000, {"max_tokens": 60_000}, None, True),
        (41_999, {}, 60_000, False),
        (42_000, {}, 60_000, True),
    ],
)
async def test_a_fold_starts_at_its_threshold_to_the_token(
    reads: int, options: dict[str, Any], window: int | None, folds: bool
) -> None:
    model = ScriptedModel(
        [turn(1), turn(2), turn(3), turn(4, reads), Say("Done.")], card=Card(window=window)
    )
    told: list[Any] = []
    result = await agent(model, fold=Fold(**options)).run("Go", on_event=told.append)
    assert result.text == "Done."
    found = [event for event in told if isinstance(event, FoldEvent)]
    assert bool(found) == folds
    assert cleared_of(model.requests[-1]) == [folds, folds, False, False]
    for event in found:
        calls = [call.id for one in result.turns for call in one.calls]
        assert (list(event.cleared), list(event.kept)) == (calls[:2], calls[2:])
        assert (event.brief, event.usage_id) == (None, None)
    # Whatever the model is shown, the run has every message as it was.
    assert CLEARED not in [m.text for m in result.messages if isinstance(m, ToolMessage)]


async def test_a_brief_is_a_paid_call_and_stands_in_for_the_older_messages() -> None:
    script: list[Item] = [turn(n, name="peek") for n in range(5)]
    script += [
        turn(5, 112_000, "peek"),
        Answer(Say("Seen 0 to 3."), usage=Usage(input_tokens=500, output_tokens=100)),
        Say("Done."),
    ]
    model = ScriptedModel(script, card=RATES)
    told: list[Any] = []
    result = await agent(model, budget=Budget(turns=7)).run("The task", on_event=told.append)
    assert result.finish == "answer"
    asked, last = model.requests[-2:]
    assert is_brief(asked)
    assert asked.tools == ()
    assert len(result.turns) == 7
    assert result.usage.input_tokens == 5_000 + 112_000 + 500 + 100
    costs = [one.cost for one in result.turns if one.cost is not None]
    assert result.usage.cost == sum(costs) + Decimal("0.0007")
    assert last.instructions == "Help."
    assert last.messages[0] == UserMessage((Text("The task"),))
    assert "Seen 0 to 3." in last.messages[1].text
    assert len(last.messages) == 6
    one, other = [event for event in told if isinstance(event, FoldEvent)]
    assert one.brief is None
    assert (other.brief, other.covers) == ("Seen 0 to 3.", 9)
    assert other.usage_id == f"{result.run_id}/fold:0/brief"
    assert other.usage is not None
    for request in model.requests:
        check_request(request)


async def test_a_brief_is_not_written_where_the_budget_is_spent() -> None:
    script: list[Item] = [turn(n, name="peek") for n in range(5)]
    model = ScriptedModel([*script, turn(5, 112_000, "peek")], card=RATES)
    result = await agent(model, budget=Budget(cost="0.1")).run("Go")
    assert result.finish == "budget"
    assert not any(map(is_brief, model.requests))


async def test_after_two_folds_the_run_goes_on_to_the_window_and_ends() -> None:
    def answer(request: ModelRequest) -> Any:
        check_request(request)
        if is_brief(request):
            return Say("So far.")
        return turn(len(model.requests), reads.pop(0), "peek")

    reads = [1_000] * 3 + [113_000, 120_000] + [113_000] * 3 + [139_000, 139_990, 999]
    model = cut_short([answer] * 30)
    model.card = Card(window=160_000)
    result = await agent(model, budget=Budget(turns=30)).run("Go")
    assert (result.finish, result.reason) == ("exhausted", "context")
    assert sum(map(is_brief, model.requests)) == 2
    assert reads == [999]


async def test_a_run_that_cannot_be_folded_ends_before_its_call() -> None:
    model = ScriptedModel([])
    result = await agent(model, fold=Fold(max_tokens=1_000)).run("x" * 5_000)
    assert (result.finish, result.reason, result.turns) == ("exhausted", "context", ())


async def test_a_history_with_an_orphan_call_is_folded_all_the_same() -> None:
    orphan = AssistantMessage((Asked("c1", "peek", {"number": 1}, "old/1"),), "scripted:model")
    history: list[Message] = []
    for n in range(6):
        history += [UserMessage((Text(f"{n} " + "x" * 1_000),)), orphan]
    model = ScriptedModel([Say("So far."), Say("Done.")])
    result = await agent(model, fold=Fold(max_tokens=1_500)).run("Go on", history=history)
    assert result.text == "Done."
    brief, last = model.requests
    assert is_brief(brief)
    for request in model.requests:
        check_request(request)
    assert "So far." in last.messages[1].text


async def test_without_a_fold_nothing_is_folded() -> None:
    model = ScriptedModel([*[turn(n, 500_000) for n in range(6)], Say("Done.")])
    result = await agent(model, fold=None).run("Go")
    assert result.finish == "answer"
    assert True not in cleared_of(model.requests[-1])
    with pytest.raises(ConfigError, match="Fold"):
        agent(model, fold=5)


async def test_the_next_run_of_a_thread_reads_the_brief_and_the_thread_keeps_all(
    store: Store, clock: ManualClock
) -> None:
    script: list[Item] = [turn(n, name="peek") for n in range(5)]
    script += [turn(5, 112_000, "peek"), Say("Seen 0 to 3."), Say("Done."), Say("Again.")]
    model = ScriptedModel(script)
    async with app_of(agent(model), store, clock) as app:
        first = await app.run("clerk", "First task", thread="t_1", user="u_1")
        second = await app.run("clerk", "Second task", thread="t_1", user="u_1")
        kept = await app.history("clerk", "t_1", user="u_1")
        assert await app.replay(first.id) is None
        assert await app.replay(second.id) is None
    assert tuple(kept) == (*first.messages, *second.messages)
    assert len(first.messages) == 14
    last = model.requests[-1]
    check_request(last)
    texts = [m.text for m in last.messages]
    assert texts[0] == "First task"
    assert "Seen 0 to 3." in texts[1]
    assert texts[-1] == "Second task"
    assert len(texts) == 8


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_run_killed_at_any_write_shows_the_same_history(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    def script() -> ScriptedModel:
        def answer(request: ModelRequest) -> Any:
            check_request(request)
            if is_brief(request):
                return Say("So far.")
            asked = [m for m in request.messages if isinstance(m, ToolMessage)]
            newest = int(asked[-1].text.split()[1]) + 1 if asked else 0
            shown.setdefault(newest, []).append([m.text for m in request.messages])
            if newest == 7:
                return Say("Done.")
            return turn(newest, 112_000 if newest == 5 else 1_000, "peek" if newest % 2 else "look")

        return cut_short([answer] * 30)

    async def live(store: Store, user: str) -> Any:
        async with app_of(agent(script()), store, clock) as app:
            rows = await app.runs(user=user)
            run = rows[0].id if rows else await app.start("clerk", "Go", user=user)
            return await ended(app, run)

    shown: dict[int, list[list[str]]] = {}
    counting = CrashStore(store, at=None, when=when)
    whole = await live(counting, "u_whole")
    assert whole.text == "Done."
    wanted = {number: requests[0] for number, requests in shown.items()}
    assert any(CLEARED in text for text in wanted[6])
    deaths = 0
    for at in range(1, counting.writes + 1):
        shown.clear()
        user = f"u_{when}_{at}"

        async def life(at: int = at, user: str = user) -> None:
            await live(CrashStore(store, at=at, when=when), user)

        try:
            await dies(life)
            deaths += 1
        except AssertionError as error:
            # A store that writes together what comes together may need fewer writes.
            assert "it lives" in str(error)  # noqa: PT017  # which error it was
        clock.advance(60)
        run = await live(store, user)
        assert run.text == "Done."
        for number, requests in shown.items():
            assert all(request == wanted[number] for request in requests), (at, number)
    assert deaths > 12
