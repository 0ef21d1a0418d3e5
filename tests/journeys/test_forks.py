"""A fork goes on from a recorded point, and leaves what it builds on as it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from remit import Budget, Card, Catalogue, Pricing
from remit.errors import ConfigError, RunNotFoundError, StartKeyError
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Item, Say, ScriptedModel
from remit.values.messages import AssistantMessage, ToolMessage, UserMessage
from tests.journeys.clerk import Desk, app_of, check_request, clerk, cut_short, ended

SCRIPT: list[Item] = [
    [Say("Looking."), Call("look", number=1), Call("look", number=2)],
    Call("look", number=3),
    Say("Three."),
]


def texts(messages: Any) -> list[str]:
    return [message.text for message in messages]


async def test_a_fork_sees_what_was_said_until_its_turn_and_no_more(
    store: Store, clock: ManualClock
) -> None:
    model = ScriptedModel([*SCRIPT, Say("Forked.")])
    async with app_of(clerk(model, Desk().tools()), store, clock) as app:
        run = await ended(app, await app.start("clerk", "How many?", user="u_1", tenant="acme"))
        fork = await ended(app, await app.fork(run.id, after_turn=0))
        assert fork.text == "Forked."
        assert (fork.user, fork.tenant) == ("u_1", "acme")
        assert texts(fork.messages) == ["Forked."]
        assert await app.get(run.id) == run
    request = model.requests[-1]
    assert texts(request.messages) == ["How many?", "Looking.", "seen 1", "seen 2"]
    check_request(request)


async def test_a_fork_may_be_asked_something_else(store: Store, clock: ManualClock) -> None:
    model = ScriptedModel([*SCRIPT, Say("Four.")])
    async with app_of(clerk(model, Desk().tools()), store, clock) as app:
        run = await ended(app, await app.start("clerk", "How many?", thread="t_1"))
        fork = await ended(app, await app.fork(run.id, message="Sure?", thread="t_2"))
        assert texts(fork.messages) == ["Sure?", "Four."]
        assert texts(await app.history("clerk", "t_1"))[-1] == "Three."
        assert texts(await app.history("clerk", "t_2")) == [*texts(run.messages), "Sure?", "Four."]
    check_request(model.requests[-1])


async def test_a_fork_of_a_fork_keeps_the_whole_line(store: Store, clock: ManualClock) -> None:
    model = ScriptedModel([*SCRIPT, Say("b"), Say("c")])
    async with app_of(clerk(model, Desk().tools()), store, clock) as app:
        run = await ended(app, await app.start("clerk", "one"))
        second = await ended(app, await app.fork(run.id, after_turn=0, message="two"))
        await ended(app, await app.fork(second.id, message="three"))
    assert texts(model.requests[-1].messages) == [
        *["one", "Looking.", "seen 1", "seen 2", "two", "b", "three"]
    ]


async def test_a_forks_calls_have_keys_and_a_spend_of_their_own(
    store: Store, clock: ManualClock
) -> None:
    desk = Desk()
    model = ScriptedModel([*SCRIPT, Call("look", number=3), Say("Again.")])
    agent = clerk(model, desk.tools(), budget=Budget(turns=3))
    async with app_of(agent, store, clock) as app:
        run = await ended(app, await app.start("clerk", "How many?"))
        fork = await ended(app, await app.fork(run.id, after_turn=1))
        assert fork.finish == "answer"
        assert len(fork.turns) == 2
        assert fork.usage.input_tokens == 200
    assert len(set(desk.keys)) == len(desk.keys) == 4


async def test_a_fork_may_have_another_agent_and_model(store: Store, clock: ManualClock) -> None:
    cheap, dear = ScriptedModel(SCRIPT), ScriptedModel([Say("As an auditor.")])
    catalogue = Catalogue(
        {"own:dear": Card(pricing=Pricing(input=1, output=1))},
        providers={"own": lambda name, card: dear},
    )
    clerks = clerk(cheap, Desk().tools(), catalogue=catalogue)
    auditor = clerk(cut_short([]), name="auditor", catalogue=catalogue)
    async with app_of([clerks, auditor], store, clock) as app:
        run = await ended(app, await app.start("clerk", "How many?"))
        fork = await ended(
            app, await app.fork(run.id, agent="auditor", model="own:dear", message="Why?")
        )
        assert (fork.agent, fork.text) == ("auditor", "As an auditor.")
    assert [tool.name for tool in dear.requests[0].tools] == []


async def test_a_fork_of_a_run_that_still_waits_builds_on_its_complete_turns(
    store: Store, clock: ManualClock
) -> None:
    model = ScriptedModel([Call("look", number=1), Call("pay_out", amount=5), Say("Not paid.")])
    async with app_of(clerk(model, Desk().tools()), store, clock) as app:
        run = await ended(app, await app.start("clerk", "Pay"))
        assert run.status == "paused"
        fork = await ended(app, await app.fork(run.id, message="Do not."))
        assert fork.text == "Not paid."
        assert (await app.get(run.id)).status == "paused"
    assert [type(message) for message in model.requests[-1].messages] == [
        *[UserMessage, AssistantMessage, ToolMessage, UserMessage]
    ]


async def test_what_cannot_be_forked_is_refused(store: Store, clock: ManualClock) -> None:
    catalogue = Catalogue(providers={"own": lambda name, card: ScriptedModel([])})
    agent = clerk(
        ScriptedModel([*SCRIPT, Say("x")]),
        Desk().tools(),
        catalogue=catalogue,
        budget=Budget(turns=5, cost=Decimal(1)),
    )
    async with app_of(agent, store, clock) as app:
        run = await ended(app, await app.start("clerk", "How many?"))
        await ended(app, await app.start("clerk", "x", thread="t_1"))
        wrong: list[dict[str, Any]] = [
            {"after_turn": 3},
            {"after_turn": -1},
            {"after_turn": True},
            {"after_turn": "1"},
            {"after_turn": 2},
            {},
            {"message": " "},
            {"message": "x", "agent": "nobody"},
            {"message": "x", "model": "own:unpriced"},
            {"message": "x", "thread": "t_1"},
        ]
        for options in wrong:
            with pytest.raises(ConfigError):
                await app.fork(run.id, **options)
        with pytest.raises(RunNotFoundError):
            await app.fork("nobody")
        assert len(await app.runs()) == 2


@pytest.mark.parametrize("if_busy", ["reject", "enqueue", "cancel"])
async def test_a_fork_leaves_a_thread_alone_on_which_a_run_goes_on(
    store: Store, clock: ManualClock, if_busy: Any
) -> None:
    model = ScriptedModel([*SCRIPT, Call("pay_out", amount=5)])
    async with app_of(clerk(model, Desk().tools()), store, clock) as app:
        run = await ended(app, await app.start("clerk", "How many?"))
        live = await ended(app, await app.start("clerk", "Pay", thread="t_1"))
        assert live.status == "paused"

        with pytest.raises(ConfigError, match=live.id):
            await app.fork(run.id, message="x", thread="t_1", if_busy=if_busy)

        assert await app.get(live.id) == live
        assert len(await app.runs()) == 2


async def test_a_fork_with_a_key_is_found_again_on_its_thread(
    store: Store, clock: ManualClock
) -> None:
    model = ScriptedModel([*SCRIPT, Say("Four.")])
    async with app_of(clerk(model, Desk().tools()), store, clock) as app:
        run = await ended(app, await app.start("clerk", "How many?"))
        forks = []
        for _ in range(2):
            fork = await app.fork(run.id, message="Sure?", thread="t_2", key="k")
            forks.append((await ended(app, fork)).id)
        assert forks[0] == forks[1]


async def test_a_key_stands_for_one_point_of_a_fork(store: Store, clock: ManualClock) -> None:
    model = cut_short(SCRIPT)
    async with app_of(clerk(model, Desk().tools()), store, clock) as app:
        run = await ended(app, await app.start("clerk", "How many?"))
    async with app_of(clerk([]), store, clock, work=False) as app:
        fork = await app.fork(run.id, after_turn=0, key="k")
        assert await app.fork(run.id, after_turn=0, key="k") == fork
        with pytest.raises(StartKeyError):
            await app.fork(run.id, after_turn=1, key="k")


@pytest.mark.parametrize("on_limit", ["stop", "answer"])
async def test_a_fork_that_has_nothing_left_to_answer_fails_without_a_model_call(
    store: Store, clock: ManualClock, on_limit: Any
) -> None:
    model = ScriptedModel([*SCRIPT, Say("Sure.")])
    agent = clerk(model, Desk().tools(), budget=Budget(turns=5))
    async with app_of(agent, store, clock) as app:
        run = await ended(app, await app.start("clerk", "How many?", user="u_1"))
        asked = len(model.requests)
    at = datetime.fromtimestamp(clock.wall(), UTC) + timedelta(seconds=2)
    once = agent.replace(budget=Budget(turns=1), on_limit=on_limit)
    async with app_of(once, store, clock) as app:
        mute = await app.fork(run.id, after_turn=0, user="u_2", at=at)
        asking = await app.fork(run.id, after_turn=0, user="u_2", at=at, message="Sure?")
        assert await app.forget("u_1") == 1
        clock.advance(2)
        failed = await ended(app, mute)
        assert (failed.status, failed.turns) == ("failed", ())
        assert "was deleted" in (failed.error or "")
        assert (await ended(app, asking)).text == "Sure."
        assert len(model.requests) == asked + 1


async def test_a_fork_that_went_on_is_replayed_after_its_base_was_deleted(
    store: Store, clock: ManualClock
) -> None:
    model = ScriptedModel([*SCRIPT, Say("Forked.")])
    async with app_of(clerk(model, Desk().tools()), store, clock) as app:
        run = await ended(app, await app.start("clerk", "How many?", user="u_1"))
        fork = await ended(app, await app.fork(run.id, after_turn=0, user="u_2"))
        assert await app.forget("u_1") == 1
        assert await app.replay(fork.id) is None
