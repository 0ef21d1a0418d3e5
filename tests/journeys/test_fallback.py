"""When the next model takes over, and when it never does."""

from __future__ import annotations

from typing import Any

import pytest

from remit import App, Budget, Card, Catalogue, Event, Pricing, Result, Usage, WorkflowRun, workflow
from remit.agent.routing.decide import maker
from remit.errors import ConnectionFailedError, ProviderError
from remit.events import FallbackEvent, RetryEvent, UsageEvent
from remit.messages import Image, Text
from remit.models.openai_chat import OpenAIChat
from remit.models.request import CallChunk, Chunk, ReasoningChunk, TextChunk
from remit.options import Hooks, Retry, TurnPlan
from remit.store.protocol import Store
from remit.testing import Answer, Call, Say, ScriptedModel
from remit.testing.clock import ManualClock
from remit.values.messages import ToolMessage
from tests.journeys.clerk import Desk, app_of, check_request, clerk, ended
from tests.journeys.models import BUSY, GONE, PRICED, TIMEOUT, Halting, Trouble, always, makers_of

TWICE = Retry(attempts=2, first=0)
A, B = "a:one", "b:two"
PICTURE = b"\x89PNG\r\n\x1a\n"

# What model a fails with; how often it is then asked for that turn; who answers in the end.
BEFORE_THE_FIRST_TOKEN: dict[str, tuple[Trouble, int, str | None]] = {
    "it is down": (ConnectionFailedError(reason="no route", may_cost=False), 2, B),
    "it is busy (429)": (ProviderError(status=429), 2, B),
    "it is busy (503)": (ProviderError(status=503), 2, B),
    "it is busy (529)": (ProviderError(status=529), 2, B),
    "it is busy for too long": (ProviderError(status=429, retry_after=3600), 1, B),
    "its money is spent (402)": (ProviderError(status=402), 1, B),
    "its quota is spent": (ProviderError(status=429, code="insufficient_quota"), 1, B),
    "it is unknown (404)": (ProviderError(status=404), 1, B),
    "a bad request (400)": (ProviderError(status=400), 1, None),
    "a bad request (422)": (ProviderError(status=422), 1, None),
    "no right to ask (401)": (ProviderError(status=401), 1, None),
    "no right to ask (403)": (ProviderError(status=403), 1, None),
    "no answer in time (408)": (ProviderError(status=408), 2, None),
    "no answer in time (504)": (ProviderError(status=504), 2, None),
    "it broke (500)": (ProviderError(status=500), 2, None),
    "a cut": (ConnectionFailedError(reason="cut off"), 2, None),
}


@pytest.mark.parametrize("turn", [0, 1], ids=["in the first turn", "in a later turn"])
@pytest.mark.parametrize(
    ("error", "asked", "then"), BEFORE_THE_FIRST_TOKEN.values(), ids=BEFORE_THE_FIRST_TOKEN
)
async def test_the_next_model_takes_over_where_nothing_was_charged_and_the_fault_is_the_models(
    error: Trouble, asked: int, then: str | None, turn: int
) -> None:
    a, b, desk = Halting(A, always(error, turn)), Halting(B), Desk()
    agent = clerk([], model=[a, b], retry=TWICE, tools=desk.tools())

    if then is None:
        with pytest.raises(type(error)):
            await agent.run("x")
        assert not b.requests
    else:
        result = await agent.run("x")
        assert result.text == f"{B} answers."
        assert [one.model for one in result.turns] == [A] * turn + [B] * (2 - turn)
        assert [one.text for one in result.messages if isinstance(one, ToolMessage)] == ["seen 0"]
    assert len(a.requests) == turn + asked
    assert desk.ran == [("look", 0)] * (turn or then is not None)


@pytest.mark.parametrize(
    "begun",
    [TextChunk("Hel"), ReasoningChunk("Hm"), CallChunk(0)],
    ids=["text", "reasoning", "a call"],
)
@pytest.mark.parametrize("turn", [0, 1], ids=["in the first turn", "in a later turn"])
@pytest.mark.parametrize(
    "error", [found for found, _, _ in BEFORE_THE_FIRST_TOKEN.values()], ids=BEFORE_THE_FIRST_TOKEN
)
async def test_nobody_takes_over_or_repeats_an_answer_that_had_begun(
    error: Trouble, turn: int, begun: Chunk
) -> None:
    a, b = Halting(A, always(error, turn), begun=begun), Halting(B)

    with pytest.raises(type(error)) as caught:
        await clerk([], model=[a, b], retry=TWICE, tools=Desk().tools()).run("x")

    assert (len(a.requests), len(b.requests)) == (turn + 1, 0)
    assert caught.value.usage is not None
    assert caught.value.usage.estimated
    assert caught.value.usage.output_tokens > 20 * turn


async def test_a_refusal_is_final() -> None:
    a = ScriptedModel([Answer(stop="refusal")], name=A)
    b = ScriptedModel([], name=B)

    result = await clerk([], model=[a, b], retry=TWICE).run("x")

    assert (result.finish, len(result.turns), len(b.requests)) == ("refusal", 1, 0)
    assert result.usage.tokens == 120


@pytest.mark.parametrize("bound", [{"cost": "0.0002"}, {"tokens": 100}])
async def test_the_apps_own_limits_pass_nothing_on(bound: dict[str, Any]) -> None:
    a, b = Halting(A), Halting(B)

    budget = Budget(**({"turns": 5} | bound))
    result = await clerk([], model=[a, b], tools=Desk().tools(), budget=budget).run("x")

    assert result.finish in ("budget", "tokens")
    assert (len(a.requests), len(b.requests)) == (1, 0)


async def test_where_money_is_spent_another_maker_takes_over() -> None:
    spent = ProviderError(status=429, code="insufficient_quota")
    a, same, b = Halting(A, always(spent)), Halting("a:other"), Halting(B)

    result = await clerk([], model=[a, same, b], tools=Desk().tools()).run("x")

    assert {turn.model for turn in result.turns} == {B}
    assert not same.requests


@pytest.mark.parametrize(
    ("first", "second", "others"),
    [
        ("https://one.example/v1", "https://two.example/v1", True),
        ("https://one.example/v1", None, True),
        ("https://one.example/v1", "https://me:secret@ONE.example/v2", False),
        ("https://api.openai.com/v1", None, False),
    ],
)
def test_models_that_are_asked_at_different_hosts_are_different_makers(
    first: str | None, second: str | None, others: bool
) -> None:
    made = [OpenAIChat(f"m{n}", base_url=url) for n, url in enumerate((first, second))]

    assert (maker(made[0]) != maker(made[1])) is others
    assert "secret" not in "".join(map(maker, made))


def test_both_interfaces_of_a_provider_and_its_bridge_are_one_maker() -> None:
    found = Catalogue()
    names = ("openai:m", "openai-responses:m", "bridge:openai:m", "bridge:groq:m")
    assert [maker(found.model(name)) for name in names] == [*["openai"] * 3, "groq"]


async def test_where_money_is_spent_and_there_is_no_other_maker_the_run_fails() -> None:
    spent = ProviderError(status=402, message="Pay first")
    a, same = Halting(A, always(spent)), Halting("a:other")

    with pytest.raises(ProviderError, match="Pay first"):
        await clerk([], model=[a, same], tools=Desk().tools()).run("x")

    assert (len(a.requests), len(same.requests)) == (1, 0)


async def test_a_model_that_is_switched_off_is_never_asked() -> None:
    a = Halting(A, card=Card(enabled=False))
    other = Halting("c:three", card=Card(enabled=False))
    b = Halting(B)
    told: list[Event] = []

    result = await clerk([], model=[a, other, b], tools=Desk().tools()).run(
        "x", on_event=told.append
    )

    assert {turn.model for turn in result.turns} == {B}
    assert not a.requests
    assert not other.requests
    (event,) = [event for event in told if isinstance(event, FallbackEvent)]
    assert (event.model, event.next, event.failure, event.turn) == (A, B, "off", 0)


async def test_a_model_that_cannot_read_what_the_history_holds_is_skipped() -> None:
    reads = Card(accepts={"text", "image"})
    a, blind, b = Halting(A, always(GONE), card=reads), Halting("c:3"), Halting(B, card=reads)
    agent = clerk([], model=[a, blind, b], tools=Desk().tools())
    result = await agent.run([Text("What is it?"), Image(PICTURE)])

    assert {turn.model for turn in result.turns} == {B}
    assert not blind.requests


@pytest.mark.parametrize("where", ["app", "workflow"])
async def test_a_model_that_is_switched_off_need_not_read_what_its_heir_can(
    store: Store, clock: ManualClock, where: str
) -> None:
    a = Halting(A, card=Card(enabled=False))
    b = Halting(B, card=Card(accepts={"text", "image"}))
    agent = clerk([], model=[a, b], tools=Desk().tools())

    @workflow
    async def care(run: WorkflowRun, input: None) -> str:
        result: Result = await run.agent("clerk", [Image(PICTURE)])
        return result.text

    async with App([agent], workflows=[care], store=store, clock=clock) as app:
        asked: Any = ("care", None) if where == "workflow" else ("clerk", [Image(PICTURE)])
        run = await ended(app, await app.start(*asked))
        assert run.output == f"{B} answers."
        assert await app.replay(run.id) is None


async def test_with_nobody_left_who_can_read_it_the_error_is_the_first_models() -> None:
    a, blind = Halting(A, always(GONE), card=Card(accepts={"text", "image"})), Halting("c:3")

    with pytest.raises(ProviderError, match="No such model"):
        await clerk([], model=[a, blind]).run([Image(PICTURE)])

    assert not blind.requests


async def test_who_took_over_goes_on_with_the_same_conversation_to_the_end() -> None:
    a, b, desk = Halting(A, always(GONE, 1), turns=4), Halting(B, turns=4), Desk()

    result = await clerk([], model=[a, b], tools=desk.tools()).run("x")

    assert [turn.model for turn in result.turns] == [A, B, B, B]
    assert desk.ran == [("look", 0), ("look", 1), ("look", 2)]
    assert len(a.requests) == 2
    for request in [*a.requests, *b.requests]:
        check_request(request)
    assert makers_of(a.requests[1]) == {A}
    assert [makers_of(request) for request in b.requests] == [set(), {B}, {B}]
    told = [(a.requests[1].instructions, a.requests[1].tools)]
    assert told == [(b.requests[0].instructions, b.requests[0].tools)]


async def test_the_budget_goes_on_and_counts_every_models_turns() -> None:
    a, b = Halting(A, always(GONE, 1), turns=9), Halting(B, turns=9)

    agent = clerk([], model=[a, b], tools=Desk().tools(), budget=Budget(turns=3))
    result = await agent.run("x")

    assert (result.finish, len(result.turns)) == ("turns", 3)
    assert result.usage == Usage(input_tokens=300, output_tokens=60, cost=result.usage.cost)


async def test_each_next_model_may_fail_in_its_turn() -> None:
    a, b, c = Halting(A, always(BUSY)), Halting(B, always(GONE)), Halting("c:3")
    told: list[Event] = []

    agent = clerk([], model=[a, b, c], tools=Desk().tools(), retry=TWICE)
    result = await agent.run("x", on_event=told.append)

    assert {turn.model for turn in result.turns} == {"c:3"}
    assert (len(a.requests), len(b.requests)) == (2, 1)
    found = [event for event in told if isinstance(event, RetryEvent | FallbackEvent)]
    assert [(event.kind, event.model, event.failure, event.status) for event in found] == [
        ("retry", A, "busy", 529),
        ("fallback", A, "busy", 529),
        ("fallback", B, "unknown", 404),
    ]
    assert not [event for event in told if isinstance(event, UsageEvent) and event.usage.estimated]


async def test_each_next_model_is_asked_as_often_as_the_first() -> None:
    a, b = Halting(A, always(BUSY)), Halting(B, [(0, BUSY)])

    result = await clerk([], model=[a, b], tools=Desk().tools(), retry=TWICE).run("x")

    assert (len(a.requests), len(b.requests)) == (2, 3)
    assert {turn.model for turn in result.turns} == {B}


async def test_with_nobody_left_the_run_fails_with_the_last_error() -> None:
    a, b = Halting(A, always(BUSY)), Halting(B, always(GONE))

    with pytest.raises(ProviderError, match="No such model") as caught:
        await clerk([], model=[a, b], retry=TWICE).run("x")

    assert caught.value.usage == Usage()


async def test_what_may_have_been_charged_is_paid_before_another_takes_over() -> None:
    """The last failure charged nothing, and the one before it stays in the sum."""
    a, b = Halting(A, [(0, TIMEOUT), (0, GONE)]), Halting(B)

    result = await clerk([], model=[a, b], tools=Desk().tools(), retry=TWICE).run("x")

    assert {turn.model for turn in result.turns} == {B}
    assert result.usage.estimated
    assert result.usage.tokens > 240 + 4096


async def test_a_turn_that_a_hook_gave_a_model_of_its_own_is_passed_on_to_nobody() -> None:
    a, b = Halting(A), Halting(B)
    gone = Catalogue(providers={"x": lambda name, card: Halting(f"x:{name}", always(GONE))})
    hooks = Hooks(prepare_turn=lambda ctx: TurnPlan(model="x:gone"))
    agent = clerk([], model=[a, b], hooks=hooks, catalogue=gone)

    with pytest.raises(ProviderError, match="No such model"):
        await agent.run("x")

    assert (a.requests, b.requests) == ([], [])


async def test_a_next_run_of_the_thread_begins_with_the_first_model_again(
    store: Store, clock: ManualClock
) -> None:
    a, b = Halting(A, [(0, GONE)]), Halting(B)
    async with app_of(clerk([], model=[a, b], tools=Desk().tools()), store, clock) as app:
        one = await ended(app, await app.start("clerk", "x", thread="t", user="u_1"))
        two = await ended(app, await app.start("clerk", "y", thread="t", user="u_1"))

    assert [turn.model for turn in one.turns] == [B, B]
    assert [turn.model for turn in two.turns] == [A]
    assert makers_of(a.requests[-1]) == set()


async def test_a_replay_comes_to_the_same_models(store: Store, clock: ManualClock) -> None:
    a, b = Halting(A, [(1, BUSY), (1, BUSY)], turns=4), Halting(B, [(2, TIMEOUT)], turns=4)
    agent = clerk([], model=[a, b], tools=Desk().tools(), retry=TWICE)
    async with app_of(agent, store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))
        assert [turn.model for turn in run.turns] == [A, B, B, B]
        assert await app.replay(run.id) is None


@pytest.mark.parametrize("begun", [None, TextChunk("Hel")], ids=["unanswered", "broken"])
async def test_a_replay_of_a_run_that_a_charged_failure_ended_finds_no_difference(
    store: Store, clock: ManualClock, begun: Chunk | None
) -> None:
    a = Halting(A, always(TIMEOUT, 1), begun=begun)
    agent = clerk([], model=[a, Halting(B)], tools=Desk().tools(), retry=TWICE)
    async with app_of(agent, store, clock) as app:
        run = await ended(app, await app.start("clerk", "x"))
        assert (
            run.error == "ProviderError: The model's provider answered with status 504: Timed out."
        )
        assert await app.replay(run.id) is None


async def test_models_of_one_agent_may_have_different_output_limits() -> None:
    short = Card(pricing=Pricing(input=1, output=1), max_output=100)
    a, b = Halting(A, always(GONE), card=PRICED), Halting(B, card=short)

    await clerk([], model=[a, b], tools=Desk().tools()).run("x")

    assert (a.requests[0].max_output, b.requests[0].max_output) == (4096, 100)


async def test_a_workflows_agent_is_passed_on_too(store: Store, clock: ManualClock) -> None:
    a, b = Halting(A, always(GONE)), Halting(B)
    agent = clerk([], model=[a, b], tools=Desk().tools())

    @workflow
    async def care(run: WorkflowRun, input: None) -> str:
        result: Result = await run.agent("clerk", "x")
        return result.text

    async with App([agent], workflows=[care], store=store, clock=clock) as app:
        run = await ended(app, await app.start("care", None))
        assert run.output == f"{B} answers."
        assert await app.replay(run.id) is None


async def test_what_is_scripted_for_two_models_reads_like_one_conversation() -> None:
    a = ScriptedModel([Call("look", number=1), BUSY], name=A)
    b = ScriptedModel([Say("Seen.")], name=B)

    result = await clerk([], model=[a, b], tools=Desk().tools(), retry=Retry(attempts=1)).run("x")

    assert (result.text, [turn.model for turn in result.turns]) == ("Seen.", [A, B])
