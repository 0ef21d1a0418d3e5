"""A run that goes in circles is told so once, and then it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

import pytest

from remit import Agent, App, Budget, Pricing, Result, Usage, tool
from remit.agent.brakes import Brakes
from remit.agent.hooks import Hooks
from remit.agent.loop import AgentProgram
from remit.agent.recorded.streaks import Streaks
from remit.host.readers import facts_of
from remit.kernel.facts import Stepped
from remit.kernel.replay import replay
from remit.models.protocol import Card
from remit.models.request import CallChunk, Chunk, ModelRequest, TextChunk, UsageChunk
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.crash import Crash, CrashStore
from remit.testing.model import Call, Item, Say, ScriptedModel
from remit.values.errors import ConfigError, ToolError
from remit.values.events import BrakeEvent, Event
from remit.values.messages import ToolMessage, UserMessage

LOOK = Call("look", number=1)
TOLD = "Change course"


@tool
async def look(number: int) -> str:
    """Looks at a number."""
    return f"nothing at {number}"


@tool
async def fails(number: int) -> str:
    """Fails."""
    raise ToolError("It is closed.")


def ticking() -> Any:
    counter = iter(range(1000))

    @tool(polls=True)
    async def poll(changes: bool) -> str:
        """Tells how far the job is."""
        return f"{next(counter)} of 1000" if changes else "queued"

    return poll


def agent(items: Sequence[Item] | Any, **changes: Any) -> Agent[Any, Any]:
    model = ScriptedModel(items) if isinstance(items, list) else items
    options: dict[str, Any] = {
        "name": "a",
        "model": model,
        "tools": [look, fails, ticking()],
        "budget": Budget(turns=40),
    }
    return Agent(**(options | changes))


def told(model: ScriptedModel) -> list[int]:
    """In which turns the model was told to change course."""
    return [
        turn
        for turn, request in enumerate(model.requests)
        for message in request.messages
        if isinstance(message, UserMessage) and TOLD in message.text
    ]


async def ran(
    items: Sequence[Item], **changes: Any
) -> tuple[Result, ScriptedModel, list[BrakeEvent]]:
    model, brakes = ScriptedModel(items), list[BrakeEvent]()

    def hear(event: Event) -> None:
        if isinstance(event, BrakeEvent):
            brakes.append(event)

    result = await agent(model, **changes).run("Go.", on_event=hear)
    return result, model, brakes


async def test_three_turns_of_equal_calls_are_told_once_and_two_more_stop_the_run() -> None:
    result, model, brakes = await ran([LOOK] * 5)

    assert (result.finish, result.reason, len(result.turns)) == ("stuck", "repeated_calls", 5)
    assert told(model) == [3]
    assert [(event.turn, event.stopped) for event in brakes] == [(2, False), (4, True)]


async def test_what_the_model_is_told_stays_out_of_the_conversation() -> None:
    result, _, _ = await ran([LOOK] * 3 + [Say("Nothing there.")])

    assert (result.finish, result.text) == ("answer", "Nothing there.")
    assert not any(TOLD in m.text for m in result.messages if isinstance(m, UserMessage))


async def test_calls_side_by_side_are_equal_in_any_order() -> None:
    one, other = Call("look", number=1), Call("look", number=2)

    turns: list[Item] = [[one, other], [other, one]]

    result, _, _ = await ran([*turns, *turns, turns[0]])

    assert result.finish == "stuck"


async def test_a_model_that_changes_course_is_let_go_on() -> None:
    other = Call("look", number=2)
    script: list[Item] = [LOOK, LOOK, LOOK, other, LOOK, LOOK, other, other, Say("Done")]

    result, model, brakes = await ran(script)

    assert result.finish == "answer"
    assert told(model) == [3]
    assert len(brakes) == 1


async def test_a_tool_that_fails_four_times_in_a_row_is_told_once_and_then_stops_the_run() -> None:
    result, model, brakes = await ran([Call("fails", number=n) for n in range(6)])

    assert (result.finish, result.reason, len(result.turns)) == ("stuck", "failing_tool", 6)
    assert told(model) == [4]
    assert [(event.tool, event.stopped) for event in brakes] == [("fails", False), ("fails", True)]


async def test_failures_in_one_turn_are_told_before_they_stop_anything() -> None:
    many: Item = [Call("fails", number=n) for n in range(8)]

    result, model, _ = await ran([many, Say("It is closed.")])

    assert result.finish == "answer"
    assert told(model) == [1]


async def test_a_success_and_other_tools_between_failures() -> None:
    failing = [Call("fails", number=n) for n in range(6)]
    between = [Call("look", number=n) for n in range(6)]
    turns: list[Item] = [call for pair in zip(failing, between, strict=True) for call in pair]

    result, _, _ = await ran(turns[:11])

    assert (result.finish, result.reason) == ("stuck", "failing_tool")


async def test_calls_of_a_tool_that_is_not_there_count_as_its_failures() -> None:
    result, _, _ = await ran([Call("nope", number=n) for n in range(6)])

    assert (result.finish, result.reason) == ("stuck", "failing_tool")


async def test_a_tool_that_polls_may_be_asked_for_as_long_as_its_results_change() -> None:
    result, _, brakes = await ran([Call("poll", changes=True)] * 30 + [Say("Done")])

    assert result.finish == "answer"
    assert not brakes


async def test_a_tool_that_polls_counts_where_ten_results_are_equal() -> None:
    result, model, _ = await ran([Call("poll", changes=False)] * 12)

    assert (result.finish, len(result.turns)) == ("stuck", 12)
    assert told(model) == [10]


async def test_a_tool_beside_one_that_polls_is_braked_like_any_other() -> None:
    beside: list[Item] = [[Call("poll", changes=True), LOOK]] * 5

    result, model, _ = await ran(beside)

    assert (result.finish, result.reason, len(result.turns)) == ("stuck", "repeated_calls", 5)
    assert told(model) == [3]


async def test_the_same_long_answer_that_is_sent_back_again_and_again_stops_the_run() -> None:
    hooks = Hooks(on_answer=lambda ctx, answer: "No.", send_backs=40)

    result, _, brakes = await ran([Say("I have nothing to add. " * 40)] * 3, hooks=hooks)

    assert (result.finish, result.reason, len(result.turns)) == ("stuck", "repeated_text", 3)
    assert [(event.turn, event.stopped) for event in brakes] == [(2, True)]


async def test_the_same_long_answer_that_stands_at_last_is_the_run_s() -> None:
    verdicts = iter(["No.", "No.", None])
    hooks = Hooks(on_answer=lambda ctx, answer: next(verdicts), send_backs=40)

    result, _, brakes = await ran([Say("I have nothing to add. " * 40)] * 3, hooks=hooks)

    assert (result.finish, len(result.turns)) == ("answer", 3)
    assert not brakes


def test_what_is_said_again_after_a_message_has_a_reason_of_its_own() -> None:
    streaks = Streaks()
    for _ in range(3):
        streaks.say("I have nothing to add.")
        streaks.hear()
    streaks.say("I have nothing to add.")

    assert streaks.texts.count == 1


async def test_the_same_long_text_in_turn_after_turn_stops_the_run_before_its_calls() -> None:
    text = "I will look at the next number, since the one before held nothing of use. " * 4
    script: list[Item] = [[Say(text), Call("look", number=n)] for n in range(3)]

    result, _, brakes = await ran(script)

    assert (result.finish, result.reason, len(result.turns)) == ("stuck", "repeated_text", 3)
    assert [(event.turn, event.stopped) for event in brakes] == [(2, True)]
    last = result.messages[-1]
    assert isinstance(last, ToolMessage)
    assert (last.status, last.text) == ("not_run", "Not run: the run ended (stuck).")


async def test_short_words_before_each_call_are_no_circle() -> None:
    script: list[Item] = [[Say("Next one."), Call("look", number=n)] for n in range(30)]

    result, _, _ = await ran([*script, Say("Done")])

    assert result.finish == "answer"


class Endless:
    """Streams without an end, and knows whether it was closed."""

    name = "test:endless"
    card = Card(pricing=Pricing(input=3, output=15))

    def __init__(self, *, usage: Usage | None = None, call: bool = False) -> None:
        self.usage, self.call = usage, call
        self.pieces, self.closed = 0, False

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        try:
            if self.usage is not None:
                yield UsageChunk(self.usage)
            while True:
                self.pieces += 1
                if self.call:
                    yield CallChunk(0, "" if self.pieces > 1 else "look", "\n")
                else:
                    yield TextChunk("I am on it. ")
        finally:
            self.closed = True


async def test_an_answer_that_goes_in_circles_is_cut_and_paid_for_as_far_as_it_came() -> None:
    model = Endless()

    result = await agent(model).run("Go.")

    assert (result.finish, result.reason) == ("stuck", "repeated_text")
    assert model.closed
    assert model.pieces < 400
    assert result.text == "I am on it. " * model.pieces
    assert result.usage.estimated
    assert result.usage.output_tokens >= len(result.text) // 4
    assert result.usage.cost


async def test_what_a_cut_answer_told_of_its_usage_is_no_less() -> None:
    result = await agent(Endless(usage=Usage(input_tokens=5000, cache_read_tokens=4000))).run("Go.")

    assert (result.usage.input_tokens, result.usage.cache_read_tokens) == (5000, 4000)
    assert result.usage.output_tokens > 700
    assert result.usage.estimated


async def test_a_call_that_goes_in_circles_is_cut_and_does_not_run() -> None:
    result = await agent(Endless(call=True)).run("Go.")

    assert (result.finish, result.reason) == ("stuck", "repeated_text")
    assert [m.status for m in result.messages if isinstance(m, ToolMessage)] == ["not_run"]


async def test_without_brakes_nothing_is_stopped() -> None:
    script: list[Item] = [*[LOOK] * 9, Say("no " * 5000)]

    result, _, brakes = await ran(script, brakes=None)

    assert result.finish == "answer"
    assert not brakes


async def test_thresholds_are_the_agent_s_own() -> None:
    result, model, _ = await ran([LOOK] * 3, brakes=Brakes(turns=2, leeway=1))

    assert (result.finish, len(result.turns)) == ("stuck", 3)
    assert told(model) == [2]


@pytest.mark.parametrize(
    "wrong", [{"turns": 1}, {"failures": 0}, {"loop_times": 2}, {"polls": True}, {"texts": 2.5}]
)
def test_a_threshold_that_would_stop_anything_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Brakes(**wrong)


@pytest.mark.parametrize("wrong", [True, 3, {}])
def test_brakes_that_are_none_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match=r"brakes=?.*Brakes\(…\)"):
        agent([], brakes=wrong)


def by_turns(request: ModelRequest) -> Item:
    """Fails until it is told of it; looks until it is stopped."""
    done = [m for m in request.messages if isinstance(m, ToolMessage)]
    if len(done) < 4:
        return Call("fails", number=len(done))
    return Call("look", number=1)


def endless(seen: list[tuple[int, bool]]) -> ScriptedModel:
    def answer(request: ModelRequest) -> Any:
        done = sum(isinstance(m, ToolMessage) for m in request.messages)
        warned = any(isinstance(m, UserMessage) and TOLD in m.text for m in request.messages)
        seen.append((done, warned))
        return by_turns(request)

    model = ScriptedModel([answer] * 200)
    model.assert_used = lambda: None  # type: ignore[method-assign]  # a script of any length
    return model


async def live(store: Store, clock: ManualClock, user: str, seen: list[tuple[int, bool]]) -> Any:
    async with App([agent(endless(seen))], store=store, clock=clock) as app:
        found = await app.runs(user=user)
        run = found[0].id if found else await app.start("a", "Go.", user=user)
        return await asyncio.wait_for(app.wait(run), 10)


async def lives(
    store: Store, clock: ManualClock, user: str, crash: CrashStore
) -> tuple[Any, list[tuple[int, bool]]]:
    seen: list[tuple[int, bool]] = []
    try:
        return await live(crash, clock, user, seen), seen
    except BaseException as error:
        if not (isinstance(error, Crash | BaseExceptionGroup | asyncio.CancelledError)):
            raise
    clock.advance(60)
    return await live(store, clock, user, seen), seen


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_run_killed_at_any_write_is_braked_at_the_same_turns(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    counting = CrashStore(store, at=None)
    whole, seen = await lives(store, clock, "u_0", counting)
    assert (whole.finish, whole.reason) == ("stuck", "repeated_calls")
    for number in range(1, counting.writes + 1):
        run, again = await lives(
            store, clock, f"u_{number}", CrashStore(store, at=number, when=when)
        )
        assert (run.finish, run.reason) == (whole.finish, whole.reason)
        assert [m.text for m in run.messages] == [m.text for m in whole.messages]
        assert set(again) == set(seen)
        facts = await facts_of(store, run.id)
        assert await replay(AgentProgram(agent([]).plan(frozenset())), facts) is None


async def test_a_brake_is_a_fact_that_readers_see_again(store: Store, clock: ManualClock) -> None:
    async with App([agent([LOOK] * 5)], store=store, clock=clock) as app:
        run = await app.run("a", "Go.")
        events = [event async for event in app.events(run.id)]
        facts = await facts_of(store, run.id)

    assert (run.status, run.finish, run.reason) == ("failed", "stuck", "repeated_calls")
    brakes = [event for event in events if isinstance(event, BrakeEvent)]
    assert [event.stopped for event in brakes] == [False, True]
    recorded = [seq for seq, fact in facts if isinstance(fact, Stepped) and "brake" in fact.name]
    assert [event.seq for event in brakes] == recorded
