"""Whatever happens to the runs of a thread, the provider takes what is sent next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit import Agent, App, Budget, Caller, Model, Run, ToolContext, tool
from remit.errors import ConfigError, EditRefusedError, RunEndedError, ToolError
from remit.models.anthropic import AnthropicMessages
from remit.models.google import GoogleGemini
from remit.models.openai_chat import OpenAIChat
from remit.models.retry import Retry
from remit.store.memory import MemoryStore
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
    check_anthropic,
    check_gemini,
)
from remit.testing.life import is_crash
from remit.testing.provider import Sent
from remit.testing.provider.refusal import Body
from tests.unit.models import strict

STAFF = Caller(user="staff_1")
Verdict = Literal["approve", "deny", "edit", "cancel"]


@dataclass(frozen=True)
class Episode:
    """One run of the thread: what the model answers, and what befalls the run."""

    turns: list[Reply]
    verdicts: list[Verdict] = field(default_factory=list)
    message: bool = False
    fork: bool = False
    crash: int | None = None
    when: Literal["before", "after"] = "before"


@dataclass
class Stage:
    """What the model is to say next, and the App that is open."""

    turns: Iterator[Reply] = field(default_factory=lambda: iter(()))
    app: App | None = None

    def answer(self, sent: Sent) -> Reply:
        return next(self.turns, Reply(Say("Done.")))


def tools(stage: Stage) -> list[Any]:
    @tool
    async def look(at: str) -> str:
        """Looks."""
        return "" if at == "nothing" else f"saw {at} \ud83d"

    @tool
    async def fail(at: str) -> str:
        """Fails."""
        raise ToolError("Try another way." if at == "door" else "")

    @tool(approval="always")
    async def pay(amount: int) -> float:
        """Pays."""
        return float("nan")

    @tool(repeat="ask")
    async def once(at: str) -> str:
        """Does what must not be done twice."""
        return "done"

    @tool
    async def stop(ctx: ToolContext[Any]) -> str:
        """Stops the run that it is part of."""
        assert stage.app is not None
        await stage.app.cancel(ctx.run_id)
        await asyncio.Event().wait()
        return "never"

    return [look, fail, pay, once, stop]


PLACES = st.sampled_from(["door", "nothing", "x" * 50, "\n"])
CALLS = st.one_of(
    PLACES.map(lambda at: Call("look", at=at)),
    PLACES.map(lambda at: Call("fail", at=at)),
    PLACES.map(lambda at: Call("once", at=at)),
    st.integers(1, 3).map(lambda amount: Call("pay", amount=amount)),
    st.sampled_from([Call("stop"), Call("look"), Call("unknown"), Call("no name<|x|>", at="a")]),
)
TEXTS = st.sampled_from(["", " ", "Hello", "half \ud83d", "\u2028"]).map(Say)
QUIRKS = st.builds(
    Quirks,
    ids=st.sampled_from(["given", "repeated", "empty", "missing"]),
    index=st.sampled_from(["counted", "reset"]),
    usage=st.sampled_from(["after", "before", "twice", "never"]),
    cut=st.sampled_from([None, None, None, 1, 4]),
)
REPLIES = st.builds(
    lambda parts, quirks: Reply(*parts, quirks=quirks),
    st.lists(CALLS | CALLS | TEXTS | st.just(Think("hm")), max_size=4),
    QUIRKS,
)
EPISODES = st.builds(
    Episode,
    turns=st.lists(REPLIES, max_size=4),
    verdicts=st.lists(st.sampled_from(["approve", "deny", "edit", "cancel"]), max_size=4),
    message=st.booleans(),
    fork=st.booleans(),
    crash=st.none() | st.integers(1, 14),
    when=st.sampled_from(["before", "after"]),
)


def openai(provider: StrictProvider) -> Model:
    return OpenAIChat("gpt-test", base_url=provider.openai_url, api_key="k")


def anthropic(provider: StrictProvider) -> Model:
    return AnthropicMessages(
        "claude-test", base_url=provider.anthropic_url, api_key="k", thinking="adaptive"
    )


def gemini(provider: StrictProvider) -> Model:
    return GoogleGemini("gemini-test", base_url=provider.gemini_url, api_key="k")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("vendor", "check"),
    [(openai, strict.check), (anthropic, check_anthropic), (gemini, check_gemini)],
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(episodes=st.lists(EPISODES, min_size=1, max_size=4))
def test_any_history_of_a_thread_is_one_that_the_provider_takes(
    vendor: Callable[[StrictProvider], Model],
    check: Callable[[Body], None],
    episodes: list[Episode],
) -> None:
    asyncio.run(story(vendor, check, episodes))


async def story(
    vendor: Callable[[StrictProvider], Model],
    check: Callable[[Body], None],
    episodes: list[Episode],
) -> None:
    stage, clock = Stage(), ManualClock()
    store = MemoryStore(clock)
    async with StrictProvider(stage.answer) as provider:
        model = vendor(provider)
        agent = Agent(
            name="a", model=model, tools=tools(stage), budget=Budget(turns=4), retry=Retry(first=0)
        )
        for number, episode in enumerate([*episodes, Episode([])]):
            stage.turns = iter(episode.turns)
            await lives(agent, stage, store, clock, (number, episode))
    assert provider.refused == []
    for sent in provider.requests:
        check(sent.body)
    assert len(provider.requests) > len(episodes) // 2


async def lives(
    agent: Agent[Any, Any],
    stage: Stage,
    store: Store,
    clock: ManualClock,
    told: tuple[int, Episode],
) -> None:
    """The lives of a process that plays one episode to its end."""
    episode = told[1]
    if episode.crash is not None:
        try:
            crashing = CrashStore(store, at=episode.crash, when=episode.when)
            await life(agent, stage, crashing, clock, told)
        except BaseException as error:
            if not is_crash(error):
                raise
        clock.advance(60)
    await life(agent, stage, store, clock, told)


async def life(
    agent: Agent[Any, Any],
    stage: Stage,
    store: Store,
    clock: ManualClock,
    told: tuple[int, Episode],
) -> None:
    """One life of it, which may die."""
    number, episode = told
    async with App(agents=[agent], store=store, clock=clock) as app:
        stage.app = app
        run_id = await app.start("a", f"Do {number}.", thread="t", user="u", key=f"k{number}")
        if episode.message:
            with suppress(RunEndedError):
                await app.send(run_id, "And this.", id=f"m{number}")
        await ended(app, run_id, iter(episode.verdicts))
        if episode.fork:
            with suppress(ConfigError):  # no turn of it is complete
                forked = await app.fork(run_id, message="Again.", key=f"f{number}")
                await ended(app, forked, iter(episode.verdicts))


async def ended(app: App, run_id: str, verdicts: Iterator[Verdict]) -> Run:
    """Decide what the run asks until it has ended."""
    while True:
        run = await asyncio.wait_for(app.wait(run_id), 20)
        if run.status != "paused":
            return run
        call, verdict = run.pending[0], next(verdicts, "approve")
        if verdict == "cancel":
            await app.cancel(run_id)
        elif verdict == "deny":
            await app.decide(run_id, deny={call.id: ""}, by=STAFF)
        else:
            try:
                edit = {call.id: {"amount": 7}} if verdict == "edit" else {}
                approve = [] if edit else [call.id]
                await app.decide(run_id, approve=approve, edit=edit, by=STAFF)
            except EditRefusedError:
                await app.decide(run_id, approve=[call.id], by=STAFF)
