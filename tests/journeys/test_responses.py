"""Whole runs through the official SDK against a provider that refuses what Responses refuse."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from remit import Agent, App, Budget, Caller, Card, Catalogue, Run, tool
from remit.agent.fold import Fold
from remit.messages import ToolMessage, dump, load
from remit.models.openai_responses import OpenAIResponses
from remit.options import Retry
from remit.store.protocol import Store
from remit.testing import (
    Call,
    CrashStore,
    ManualClock,
    Quirks,
    Reply,
    Say,
    StrictProvider,
    Think,
    check_responses,
)
from remit.testing.life import is_crash
from remit.testing.provider import Sent
from remit.values.errors import ProviderError
from remit.values.events import ReasoningEvent
from remit.values.usage import Usage
from tests.journeys.desk import World, desk

pytestmark = pytest.mark.slow

STAFF = Caller(user="staff_1")
GRANT = {"payments:write"}


def outputs(sent: Sent) -> list[str]:
    return [i["output"] for i in sent.body["input"] if i["type"] == "function_call_output"]


def by_conversation(sent: Sent) -> Any:
    """Two lookups side by side, a refund of 150, an answer: decided by what was sent."""
    done = outputs(sent)
    if not done:
        return [
            Think("Two at once."),
            Call("find_order", number="A-1"),
            Call("find_customer", number="A-1"),
        ]
    if len(done) == 2:
        return [Think("Now."), Say("Refunding."), Call("refund", order="A-1", amount=150)]
    return [Think("All is done."), Say(f"Done: {done[-1]}")]


@asynccontextmanager
async def serving(script: Any = by_conversation, *paths: str) -> AsyncIterator[StrictProvider]:
    """A provider that in the end has refused nothing."""
    async with StrictProvider(script) as provider:
        yield provider
    assert provider.refused == []
    for sent in provider.requests:
        assert sent.path in (paths or ["/v1/responses"])
        if sent.path == "/v1/responses":
            check_responses(sent.body)


def asking(provider: StrictProvider, **options: Any) -> OpenAIResponses:
    return OpenAIResponses("gpt-test", base_url=provider.openai_url, api_key="k", **options)


def clerk(provider: StrictProvider, world: World) -> Agent[Any, Any]:
    return desk(world, []).replace(model=asking(provider))


def kinds(sent: Sent) -> list[str]:
    return [item["type"] for item in sent.body["input"]]


def app_on(store: Store, clock: ManualClock, agent: Agent[Any, Any]) -> App:
    return App(agents=[agent], store=store, grant=GRANT, clock=clock)


async def live(app: App, user: str) -> Run:
    """One life of a process that starts the user's run unless it exists, decides and waits."""
    found = await app.runs(user=user)
    run_id = found[0].id if found else await app.start("desk", "Refund A-1", user=user)
    run = await asyncio.wait_for(app.wait(run_id), 10)
    if run.status == "paused":
        await app.decide(run_id, approve=[run.pending[0].id], by=STAFF)
        run = await asyncio.wait_for(app.wait(run_id), 10)
    return run


async def test_reasoning_goes_back_in_place_through_calls_and_an_approval(
    store: Store, clock: ManualClock
) -> None:
    async with serving() as provider, app_on(store, clock, clerk(provider, World())) as app:
        run = await live(app, "u_1")

    assert (run.status, run.text) == ("succeeded", "Done: refunded 150")
    answered = ["reasoning", "function_call", "function_call"]
    told = ["function_call_output"] * 2
    refunding = ["reasoning", "message", "function_call", "function_call_output"]
    assert kinds(provider.requests[-1]) == ["message", *answered, *told, *refunding]


async def test_each_request_begins_with_the_whole_of_the_one_before(
    store: Store, clock: ManualClock
) -> None:
    async with serving() as provider, app_on(store, clock, clerk(provider, World())) as app:
        await live(app, "u_1")

    for before, after in pairwise(provider.requests):
        said = json.dumps(before.body["input"]).removesuffix("]")
        assert json.dumps(after.body["input"]).startswith(said)
        assert before.body | {"input": []} == after.body | {"input": []}


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_run_killed_at_any_write_sends_nothing_that_is_refused(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    async with serving() as provider:
        counting = CrashStore(store, at=None)
        async with app_on(counting, clock, clerk(provider, World())) as app:
            await live(app, "u_0")
        for number in range(1, counting.writes + 1):
            world = World()
            agent = clerk(provider, world)
            try:
                crashing = CrashStore(store, at=number, when=when)
                async with app_on(crashing, clock, agent) as app:
                    await live(app, f"u_{number}")
            except BaseException as error:
                if not is_crash(error):
                    raise
            clock.advance(60)
            async with app_on(store, clock, agent) as app:
                run = await live(app, f"u_{number}")
            assert (run.status, run.text) == ("succeeded", "Done: refunded 150")
            assert list(world.effects.values()) == ["A-1:150"]


async def test_a_saved_conversation_goes_on_with_its_reasoning() -> None:
    async with serving([[Think("Hm."), Say("Hello.")], [Think("Hm."), Say("Again.")]]) as provider:
        agent = Agent(name="a", model=asking(provider), budget=Budget(turns=2))
        first = await agent.run("Hi")
        await agent.run("And?", history=load(dump(first.messages)))

    assert kinds(provider.requests[1]) == ["message", "reasoning", "message", "message"]


async def test_another_models_reasoning_is_left_out() -> None:
    script = [[Think("Hm."), Call("now")], Say("Noon."), [Think("Hm."), Say("Still noon.")]]

    @tool
    async def now() -> str:
        """Tells the time."""
        return "noon"

    async with serving(script) as provider:
        agent = Agent(name="a", model=asking(provider), tools=[now], budget=Budget(turns=4))
        first = await agent.run("Hi")
        other = replace(asking(provider), provider="other")
        await agent.replace(model=other).run("And?", history=first.messages)

    last = provider.requests[2].body["input"]
    assert "reasoning" not in [item["type"] for item in last]
    assert not [item for item in last if "id" in item]


class Weather(BaseModel):
    place: str
    degrees: int = 0


@pytest.mark.parametrize("lookup", [False, True])
async def test_a_typed_answer_is_held_to_its_form(lookup: bool) -> None:
    @tool
    async def find(place: str) -> str:
        """Finds the degrees."""
        return "7"

    given = [Think("Easy."), Say('{"place": "Rome", "degrees": 7}')]
    script: list[Any] = [[Think("Look."), Call("find", place="Rome")]] if lookup else []
    async with serving([*script, given, [Think("Hm."), Say('{"place": "Oslo"}')]]) as provider:
        agent = Agent(
            name="a",
            model=asking(provider, output="schema"),
            tools=[find] if lookup else [],
            output=Weather,
            budget=Budget(turns=3),
        )
        result = await agent.run("Rome?")
        # The answer goes back in other words than the model's, behind its reasoning.
        again = await agent.run("Oslo?", history=result.messages)

    assert (result.output, again.output) == (
        Weather(place="Rome", degrees=7),
        Weather(place="Oslo"),
    )
    body = provider.requests[0].body
    assert body["text"]["format"]["schema"]["required"] == ["place", "degrees"]
    assert [each["name"] for each in body.get("tools", [])] == (["find"] if lookup else [])


@pytest.mark.parametrize("output", ["schema", None])
async def test_an_answer_of_any_keys_is_given_by_the_final_tool(output: Any) -> None:
    script = [
        [Think("Easy."), Call("final_answer", rome=7)],
        [Think("Hm."), Call("final_answer", oslo=2)],
    ]
    async with serving(script) as provider:
        agent = Agent(
            name="a",
            model=asking(provider, output=output),
            output=dict[str, int],
            budget=Budget(turns=2),
        )
        result = await agent.run("Rome?")
        # Its reasoning led to a call, which is none any more.
        again = await agent.run("Oslo?", history=result.messages)

    assert (result.output, again.output) == ({"rome": 7}, {"oslo": 2})
    assert "text" not in provider.requests[0].body
    assert kinds(provider.requests[1]) == ["message"] * 3


async def test_a_list_is_held_to_its_form_inside_of_an_object() -> None:
    script = [[Think("Easy."), Say('{"answer": [7, 2]}')]]
    async with serving(script) as provider:
        model = asking(provider, card=Card(structured=True))
        agent = Agent(name="a", model=model, output=list[int], budget=Budget(turns=2))
        result = await agent.run("Rome and Oslo?")

    assert result.output == [7, 2]
    assert "tools" not in provider.requests[0].body


async def test_a_fold_parts_no_reasoning_from_what_it_led_to(
    store: Store, clock: ManualClock
) -> None:
    @tool
    async def read(page: int, why: str) -> str:
        """Reads a page."""
        return f"page {page}"

    def answer(sent: Sent) -> Any:
        if "tools" not in sent.body:
            return Say("The pages so far say word.")
        if len(provider.requests) > 14:
            return [Think("Enough."), Say("Done.")]
        call = Call("read", page=len(provider.requests), why="word " * 400)
        return Reply(Think("On."), call, usage=Usage(input_tokens=len(sent.text) // 4))

    async with serving(answer) as provider:
        agent = Agent(
            name="a",
            model=asking(provider),
            tools=[read],
            budget=Budget(turns=30),
            fold=Fold(max_tokens=6_000),
        )
        async with app_on(store, clock, agent) as app:
            run = await asyncio.wait_for(app.run("a", "Read it all"), 20)

    assert (run.status, run.text) == ("succeeded", "Done.")
    lengths = [len(sent.body["input"]) for sent in provider.requests if "tools" in sent.body]
    assert any(after < before for before, after in pairwise(lengths))


@pytest.mark.slow
@pytest.mark.parametrize("ids", ["given", "repeated", "empty", "missing"])
@pytest.mark.parametrize("index", ["counted", "reset"])
@pytest.mark.parametrize("usage", ["after", "before", "never"])
async def test_a_servers_quirks_lose_and_repeat_no_call(ids: Any, index: Any, usage: Any) -> None:
    ran: list[int] = []

    @tool
    async def add(a: int) -> str:
        """Adds."""
        ran.append(a)
        return f"sum {a}"

    quirks = Quirks(ids=ids, index=index, usage=usage, chunk=7)
    script = [
        Reply(Think("So."), Say("Adding."), Call("add", a=1), Call("add", a=2), quirks=quirks),
        Reply(Call("add", a=3), quirks=quirks),
        Reply(Think("Now."), Say("Done."), quirks=quirks),
    ]
    async with serving(script) as provider:
        agent = Agent(name="a", model=asking(provider), tools=[add], budget=Budget(turns=4))
        result = await agent.run("Go")

    assert (result.finish, result.text) == ("answer", "Done.")
    assert sorted(ran) == [1, 2, 3]
    told = [m.text for m in result.messages if isinstance(m, ToolMessage)]
    assert told == ["sum 1", "sum 2", "sum 3"]
    assert result.usage.estimated == (usage != "after")


async def test_a_connection_cut_at_any_event_leaves_the_thread_usable(
    store: Store, clock: ManualClock
) -> None:
    count = 14

    def answer(sent: Sent) -> Reply:
        said = sent.body["input"][-1]["content"]
        cut = int(said) if said.isdigit() else None
        return Reply(Think("So."), Say("one two three"), quirks=Quirks(cut=cut))

    async with serving(answer) as provider:
        once = Retry(attempts=1)
        agent = Agent(name="a", model=asking(provider), budget=Budget(turns=2), retry=once)
        async with App(agents=[agent], store=store, clock=clock) as app:
            for cut in range(count):
                run = await asyncio.wait_for(app.run("a", str(cut), thread="t"), 10)
                whole = run.text == "one two three"
                assert whole or run.status == "failed"
                done = await asyncio.wait_for(app.run("a", "Again", thread="t"), 10)
                assert done.text == "one two three"


async def test_an_answer_that_fails_in_its_middle_ends_the_run() -> None:
    fails = ProviderError(status=500, message="The server had an error")
    async with serving([Reply(Say("Half"), fails=fails)]) as provider:
        agent = Agent(name="a", model=asking(provider), budget=Budget(turns=2))
        with pytest.raises(ProviderError, match="The server had an error"):
            await agent.run("Go")


@pytest.mark.parametrize(("stop", "finish"), [("refusal", "refusal"), ("length", "length")])
async def test_an_answer_that_is_not_whole_is_told_as_such(stop: Any, finish: str) -> None:
    async with serving([Reply(Say("Half"), stop=stop)]) as provider:
        agent = Agent(name="a", model=asking(provider), budget=Budget(turns=2))
        result = await agent.run("Go")

    assert result.finish == finish
    assert len(provider.requests) == 1


async def test_readers_see_the_summary_and_no_empty_reasoning() -> None:
    seen: list[str] = []

    async with serving([[Think("So it is.", pieces=3), Say("Yes.")]]) as provider:
        agent = Agent(name="a", model=asking(provider), budget=Budget(turns=2))
        async for event in agent.stream("Is it?"):
            if isinstance(event, ReasoningEvent):
                seen.append(event.text)

    assert "".join(seen) == "So it is."
    assert all(seen)


async def test_a_name_in_the_catalogue_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving([Say("Hello.")]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.openai_url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        catalogue = Catalogue({"openai-responses:gpt-test": Card(window=9_000)})
        agent = Agent(
            name="a",
            model="openai-responses:gpt-test",
            catalogue=catalogue,
            budget=Budget(turns=2),
        )
        result = await agent.run("Hi")

    assert [turn.model for turn in result.turns] == ["openai-responses:gpt-test"]
