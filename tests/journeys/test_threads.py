"""Threads: a conversation of an agent's and a user's own, one run at a time, never half told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from remit import App, Budget, ModelRequest
from remit.errors import ConfigError, ProviderError, ThreadBusyError
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Answer, Call, Given, Item, Say, ScriptedModel
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from tests.journeys.clerk import (
    STAFF,
    Desk,
    app_of,
    check_request,
    clerk,
    cut_short,
    ended,
    ended_past,
    soon,
)


def texts(messages: Any) -> list[str]:
    return [message.text for message in messages]


async def say(app: App, message: str, agent: str = "clerk", **options: Any) -> str:
    """The id of a run on the thread t_1 that has come to its end or its pause."""
    run = await app.start(agent, message, **({"thread": "t_1", "user": "u_1"} | options))
    await ended(app, run)
    return run


async def history(app: App, agent: str = "clerk", **options: Any) -> list[Message]:
    return await app.history(agent, "t_1", **({"user": "u_1"} | options))


async def test_the_next_run_reads_the_earlier_ones_whole(store: Store, clock: ManualClock) -> None:
    script: list[Item] = [
        [Say("Looking."), Call("look", number=1), Call("look", number=2)],
        Say("It is 1."),
        Say("As I said."),
        Say("Bye."),
    ]
    model = ScriptedModel(script)
    async with app_of(clerk(model, Desk().tools()), store, clock) as app:
        await say(app, "What is it?")
        first = await history(app)
        await say(app, "Again?")
        await say(app, "Bye")
        whole = await history(app)
    assert [type(message) for message in first] == [
        UserMessage,
        AssistantMessage,
        ToolMessage,
        ToolMessage,
        AssistantMessage,
    ]
    assert texts(whole) == [
        *["What is it?", "Looking.", "seen 1", "seen 2", "It is 1."],
        *["Again?", "As I said.", "Bye", "Bye."],
    ]
    assert list(model.requests[2].messages) == [*first, whole[5]]
    assert list(model.requests[3].messages) == whole[:8]
    for request in model.requests:
        check_request(request)


async def test_a_run_gives_back_only_what_it_added(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([Say("a"), Say("b")]), store, clock) as app:
        await say(app, "one")
        run = await app.get(await say(app, "two"))
    assert texts(run.messages) == ["two", "b"]
    assert run.thread == "t_1"


@pytest.mark.parametrize("state", ["queued", "running", "paused"])
async def test_a_busy_thread_refuses_and_says_who_is_on_it(
    store: Store, clock: ManualClock, state: str
) -> None:
    desk = Desk()
    call = Call("hold", number=1) if state == "running" else Call("pay_out", amount=1)
    agent = clerk([] if state == "queued" else [call], desk.tools())
    async with app_of(agent, store, clock, work=state != "queued") as app:
        run = await app.start("clerk", "one", thread="t_1", user="u_1")
        if state == "running":
            await soon(desk.held.wait())
        if state == "paused":
            await ended(app, run)
        with pytest.raises(ThreadBusyError, match=rf'(?s){run}.*if_busy="enqueue"') as caught:
            await app.start("clerk", "two", thread="t_1", user="u_1")
        assert (caught.value.thread, caught.value.run) == ("t_1", run)
        assert await history(app) == []
        await app.cancel(run)
        await ended(app, run)
        assert len(await app.runs()) == 1


async def test_a_thread_is_free_once_its_run_has_ended(store: Store, clock: ManualClock) -> None:
    script: list[Item] = [ProviderError(status=400), Say("b")]
    async with app_of(clerk(script), store, clock) as app:
        assert (await app.get(await say(app, "one"))).status == "failed"
        assert (await app.get(await say(app, "two"))).status == "succeeded"
        assert texts(await history(app)) == ["one", "two", "b"]


async def test_threads_are_an_agents_a_users_and_a_tenants_own(
    store: Store, clock: ManualClock
) -> None:
    other = clerk([Say("d")], name="other")
    script: list[Item] = [Say("a"), Say("b"), Say("c"), Say("e")]
    async with app_of([clerk(script), other], store, clock) as app:
        await say(app, "one")
        await say(app, "two", user="u_2")
        await say(app, "three", tenant="x")
        await say(app, "four", agent="other")
        await say(app, "five", user=None)
        assert texts(await history(app)) == ["one", "a"]
        assert texts(await history(app, user="u_2")) == ["two", "b"]
        assert texts(await history(app, tenant="x")) == ["three", "c"]
        assert texts(await history(app, agent="other")) == ["four", "d"]
        assert texts(await history(app, user=None)) == ["five", "e"]


async def test_users_whose_names_could_be_mistaken_have_threads_of_their_own(
    store: Store, clock: ManualClock
) -> None:
    script: list[Item] = [Say(text) for text in "abcd"]
    people: list[dict[str, Any]] = [
        {"tenant": "a", "user": "b.c"},
        {"tenant": "a.b", "user": "c"},
        {"tenant": None, "user": "a"},
        {"tenant": "a", "user": None},
    ]
    async with app_of(clerk(script), store, clock) as app:
        for person in people:
            await say(app, "x", **person)
        found = [texts(await history(app, **person)) for person in people]
    assert found == [["x", "a"], ["x", "b"], ["x", "c"], ["x", "d"]]


async def test_runs_without_a_thread_know_nothing_of_each_other(
    store: Store, clock: ManualClock
) -> None:
    model = ScriptedModel([Say("a"), Say("b")])
    async with app_of(clerk(model), store, clock) as app:
        for message in ("one", "two"):
            await ended(app, await app.start("clerk", message, user="u_1"))
    assert [len(request.messages) for request in model.requests] == [1, 1]


@pytest.mark.parametrize("thread", ["", "a/b", "t 1", "t\n", "t" * 65, 5])
async def test_a_thread_of_another_shape_is_refused(
    store: Store, clock: ManualClock, thread: Any
) -> None:
    async with app_of(clerk([]), store, clock) as app:
        with pytest.raises(ConfigError, match="thread"):
            await app.start("clerk", "x", thread=thread)
        with pytest.raises(ConfigError, match="thread"):
            await app.history("clerk", thread)
        assert await app.runs() == []


async def test_a_thread_that_nobody_began_has_no_history(store: Store, clock: ManualClock) -> None:
    async with app_of(clerk([]), store, clock) as app:
        assert await history(app) == []
        with pytest.raises(ConfigError, match="clerk"):
            await history(app, agent="other")


async def cancelled_in_a_tool(app: App, desk: Desk) -> None:
    run = await app.start("clerk", "one", thread="t_1", user="u_1")
    await soon(desk.held.wait())
    await app.cancel(run)
    await ended(app, run)


async def cancelled_in_a_pause(app: App, desk: Desk) -> None:
    assert await app.cancel(await say(app, "one")) == "cancelled"


async def cancelled_after_a_decision(app: App, desk: Desk) -> None:
    run = await app.get(await say(app, "one"))
    await app.decide(run.id, approve=[run.pending[0].id], by=STAFF)
    await soon(desk.held.wait())
    await app.cancel(run.id)
    await ended(app, run.id)


async def failed(app: App, desk: Desk) -> None:
    assert (await app.get(await say(app, "one"))).status == "failed"


LOOK, HOLD, PAY = Call("look", number=1), Call("hold", number=2), Call("pay_out", amount=3)
CUTS: dict[str, tuple[list[Given], Any, dict[str, Any]]] = {
    "cancelled in a tool": ([[LOOK, HOLD, LOOK]], cancelled_in_a_tool, {}),
    "cancelled in a pause": ([[LOOK, PAY, PAY]], cancelled_in_a_pause, {}),
    "cancelled after a decision": ([PAY, [HOLD, LOOK]], cancelled_after_a_decision, {}),
    "a provider's error": ([[LOOK, LOOK], ProviderError(status=400)], failed, {}),
    "no turns left": ([[LOOK, LOOK]], failed, {"budget": Budget(turns=1)}),
    "no calls left": ([[LOOK, LOOK]], failed, {"budget": Budget(turns=3, tool_calls=1)}),
    "no time left": ([[LOOK, HOLD]], failed, {"budget": Budget(turns=3, seconds=0.05)}),
    "an empty answer": ([Answer(stop="refusal")], failed, {}),
}


@pytest.mark.parametrize(("script", "cut", "options"), CUTS.values(), ids=CUTS)
async def test_whatever_cut_a_run_the_next_one_has_a_valid_conversation(
    store: Store, clock: ManualClock, script: list[Given], cut: Any, options: dict[str, Any]
) -> None:
    desk, model = Desk(), ScriptedModel([*script, Say("Here.")])
    agent = clerk(model, desk.tools(), **options)
    async with app_of(agent, store, clock) as app:
        await cut(app, desk)
        before = await history(app)
        check_request(ModelRequest(instructions="", messages=tuple(before)))
        await say(app, "two")
        assert texts(await history(app))[-2:] == ["two", "Here."]
    check_request(model.requests[-1])
    assert list(model.requests[-1].messages[:-1]) == before


async def test_a_run_that_was_given_up_leaves_a_valid_conversation(
    store: Store, clock: ManualClock
) -> None:
    """Its process died in the middle of a call, again and again."""
    desk = Desk()
    async with app_of(clerk([[LOOK, HOLD]], desk.tools()), store, clock) as app:
        run = await app.start("clerk", "one", thread="t_1", user="u_1")
        await soon(desk.held.wait())
    for number in range(3):
        await store.beat(f"dead{number}", 20.0, join=True)
        assert await store.claim(f"dead{number}", ["clerk@1"], format=1)
        clock.advance(21)
        await store.sweep()
    model = ScriptedModel([Say("Here.")])
    async with app_of(clerk(model, desk.tools()), store, clock) as app:
        assert (await ended_past(app, run)).status == "failed"
        await say(app, "two")
    check_request(model.requests[0])
    assert [
        message.status for message in model.requests[0].messages if isinstance(message, ToolMessage)
    ] == ["ok", "not_run"]


async def test_of_fifty_starts_at_once_one_wins(
    store: Store, other_store: Store, clock: ManualClock
) -> None:
    async with (
        app_of(clerk([]), store, clock, work=False) as app,
        app_of(clerk([]), other_store, clock, work=False) as other,
    ):
        outcomes = await asyncio.gather(
            *(
                (app, other)[number % 2].start("clerk", str(number), thread="t_1", user="u_1")
                for number in range(50)
            ),
            return_exceptions=True,
        )
        won = [outcome for outcome in outcomes if isinstance(outcome, str)]
        assert len(won) == 1
        lost = [outcome for outcome in outcomes if not isinstance(outcome, str)]
        assert all(isinstance(error, ThreadBusyError) and error.run == won[0] for error in lost)
        assert [run.id for run in await app.runs()] == won


async def test_messages_that_take_turns_stand_in_turns(store: Store, clock: ManualClock) -> None:
    """Two speakers on one thread who try until they are heard."""

    def answer(request: ModelRequest) -> Given:
        return Say(f"to {request.messages[-1].text}")

    async with app_of(clerk(cut_short([answer] * 40)), store, clock) as app:

        async def speak(name: str) -> None:
            for number in range(10):
                while True:
                    try:
                        await say(app, f"{name}{number}")
                        break
                    except ThreadBusyError as busy:
                        await ended(app, busy.run)

        await asyncio.gather(speak("a"), speak("b"))
        found = texts(await history(app))
    assert len(found) == 40
    for asked, told in zip(found[::2], found[1::2], strict=True):
        assert told == f"to {asked}"
    for name in "ab":
        said = [text for text in found if text.startswith(name)]
        assert said == [f"{name}{number}" for number in range(10)]
