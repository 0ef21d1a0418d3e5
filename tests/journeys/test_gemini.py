"""Whole runs on a provider that refuses what Gemini refuses: tools, thoughts, folds, crashes."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from remit import Agent, App, Budget, Caller, Card, Catalogue, Pricing, Run, tool
from remit.agent.fold import Fold
from remit.messages import AssistantMessage, Reasoning, ToolMessage
from remit.models.google import GoogleGemini, Thinking
from remit.models.google.turns import UNSIGNED
from remit.store.protocol import Store
from remit.testing import Call, CrashStore, ManualClock, Quirks, Reply, Say, StrictProvider, Think
from remit.testing.life import is_crash
from remit.testing.provider import Sent
from remit.values.usage import Usage
from tests.journeys.desk import World, desk
from tests.loopback import loopback
from tests.unit.models.gemini.asking import KEY, base_url, call, chunk, stream, text, used

pytestmark = pytest.mark.slow

GRANT = {"payments:write"}
STAFF = Caller(user="staff_1")


@asynccontextmanager
async def serving(script: Any) -> AsyncIterator[StrictProvider]:
    """A provider that in the end has refused nothing."""
    async with StrictProvider(script) as provider:
        yield provider
    assert provider.refused == []


def gemini(provider: StrictProvider, /, **options: Any) -> GoogleGemini:
    return GoogleGemini("gemini-test", base_url=provider.gemini_url, api_key=KEY, **options)


def agent(model: GoogleGemini, **options: Any) -> Agent[Any, Any]:
    @tool
    async def look(number: int) -> str:
        """Looks a number up."""
        return f"seen {number} " + "x" * 2_000

    given: dict[str, Any] = {"tools": [look], "instructions": "Help.", "budget": Budget(turns=12)}
    return Agent(name="clerk", model=model, **given | options)


def turn(*numbers: int, reads: int = 1_000) -> Reply:
    calls = [Call("look", number=number) for number in numbers]
    usage = Usage(input_tokens=reads, output_tokens=30, reasoning_tokens=20)
    return Reply(Think(f"Look at {numbers}."), *calls, usage=usage, quirks=Quirks(ids="missing"))


def contents(sent: Sent) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sent.body["contents"]
    return found


async def test_a_run_with_tools_and_thoughts_sends_what_gemini_wants_back() -> None:
    last = Reply(Think("Enough."), Say("Done."), usage=Usage(output_tokens=5))
    async with serving([turn(1, 2), turn(3), last]) as provider:
        model = gemini(provider, thinking=Thinking(level="low", shown=True))
        result = await agent(model).run("Go")

    assert (result.text, result.finish) == ("Done.", "answer")
    assert [len(contents(sent)) for sent in provider.requests] == [1, 3, 5]
    assert (result.usage.output_tokens, result.usage.reasoning_tokens) == (65, 40)


async def test_what_was_sent_stays_as_it_is_and_only_grows() -> None:
    script = [turn(1, 2), turn(3), turn(4), Reply(Think("Enough."), Say("Done."))]
    async with serving(script) as provider:
        await agent(gemini(provider)).run("Go")

    for shorter, longer in pairwise(sent.text for sent in provider.requests):
        assert longer.startswith(shorter.removesuffix("]}"))


async def test_a_conversation_goes_on_with_the_signatures_of_its_answers() -> None:
    script = [turn(1), Reply(Think("So."), Say("One.")), turn(2), Say("Two.")]
    async with serving(script) as provider:
        first = await agent(gemini(provider)).run("Go")
        second = await agent(gemini(provider)).run("On", history=first.messages)

    assert second.text == "Two."
    last = contents(provider.requests[-1])
    assert [part for content in last for part in content["parts"] if "thought" in part]
    answered = next(c for c in last if c["role"] == "model" and c["parts"][-1].get("text"))
    assert "thoughtSignature" in answered["parts"][-1]


async def test_a_fold_leaves_a_history_that_gemini_takes_and_a_prefix_that_stays() -> None:
    script: list[Any] = [turn(1), turn(2), turn(3), turn(4, reads=112_000), turn(5), Say("Done.")]
    async with serving(script) as provider:
        result = await agent(gemini(provider), fold=Fold()).run("Go")

    assert result.text == "Done."
    texts = [sent.text for sent in provider.requests]
    folded = texts[4]
    assert folded.count("x" * 2_000) == 2
    # What stands before the first result that was cleared is as it was, and so is what follows.
    assert texts[3].split('"functionResponse"')[0] == folded.split('"functionResponse"')[0]
    assert texts[5].startswith(folded.removesuffix("]}"))


async def test_a_brief_is_asked_for_and_stands_in_for_what_it_covers() -> None:
    def answer(sent: Sent) -> Any:
        if "brief" in sent.body["systemInstruction"]["parts"][0]["text"]:
            return Reply(Say("Seen 0 to 3."), usage=Usage(input_tokens=500, output_tokens=100))
        asked = len(provider.requests)
        return turn(asked, reads=112_000 if asked == 6 else 1_000) if asked < 8 else Say("Done.")

    @tool
    async def look(number: int) -> str:
        """Looks a number up, shortly."""
        return f"seen {number}"

    async with serving(answer) as provider:
        result = await agent(gemini(provider), tools=[look], budget=Budget(turns=20)).run("Task")

    assert result.text == "Done."
    last = contents(provider.requests[-1])
    assert last[0]["parts"] == [{"text": "Task"}]
    assert any("Seen 0 to 3." in json.dumps(content) for content in last)


async def test_another_models_history_goes_on_with_gemini() -> None:
    async with serving([turn(1), Say("One."), Say("Two.")]) as provider:
        first = await agent(gemini(provider, provider="other")).run("Go")
        second = await agent(gemini(provider)).run("On", history=first.messages)

    assert second.text == "Two."
    sent = json.dumps(contents(provider.requests[-1]))
    assert '"thought"' not in sent
    assert sent.count("thoughtSignature") == 1  # which says that there is none


class Found(BaseModel):
    number: int


@pytest.mark.parametrize(
    ("tools", "structured", "kept"),
    [(True, False, False), (True, True, True), (False, False, True), (False, True, True)],
)
async def test_an_answer_of_a_type_is_kept_by_gemini_or_given_by_a_call(
    tools: bool, structured: bool, kept: bool
) -> None:
    given = Say('{"number": 7}') if kept else Call("final_answer", number=7)
    async with serving([given]) as provider:
        model = gemini(provider, card=Card(structured=structured))
        options: dict[str, Any] = {} if tools else {"tools": []}
        result = await agent(model, output=Found, **options).run("Go")

    assert result.output == Found(number=7)
    body = provider.requests[0].body
    assert ("responseJsonSchema" in body["generationConfig"]) is kept
    assert ("tools" in body) is tools


def by_conversation(sent: Sent) -> Any:
    """Two lookups side by side, a refund of 150, an answer: decided by what was sent."""
    done = [
        part["functionResponse"]["response"]
        for content in contents(sent)
        for part in content["parts"]
        if "functionResponse" in part
    ]
    if not done:
        return [
            Think("Two at once."),
            Call("find_order", number="A-1"),
            Call("find_customer", number="A-1"),
        ]
    if len(done) == 2:
        return [Say("Refunding."), Call("refund", order="A-1", amount=150)]
    return Say(f"Done: {done[-1]['output']}")


async def live(app: App, user: str) -> Run:
    """One life of a process that starts the user's run unless it exists, decides and waits."""
    found = await app.runs(user=user)
    run_id = found[0].id if found else await app.start("desk", "Refund A-1", user=user)
    run = await asyncio.wait_for(app.wait(run_id), 10)
    if run.status == "paused":
        await app.decide(run_id, approve=[run.pending[0].id], by=STAFF)
        run = await asyncio.wait_for(app.wait(run_id), 10)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_journey_killed_at_any_write_sends_nothing_that_is_refused(
    store: Store, clock: ManualClock, when: Literal["before", "after"]
) -> None:
    async with serving(by_conversation) as provider:
        model = gemini(provider)
        counting = CrashStore(store, at=None)
        async with app_on(counting, clock, desk(World(), []).replace(model=model)) as app:
            await live(app, "u_0")
        for number in range(1, counting.writes + 1):
            world = World()
            clerk = desk(world, []).replace(model=model)
            try:
                async with app_on(CrashStore(store, at=number, when=when), clock, clerk) as app:
                    await live(app, f"u_{number}")
            except BaseException as error:
                if not is_crash(error):
                    raise
            clock.advance(60)
            async with app_on(store, clock, clerk) as app:
                run = await live(app, f"u_{number}")
            assert (run.status, run.text) == ("succeeded", "Done: refunded 150")
            assert list(world.effects.values()) == ["A-1:150"]


def app_on(store: Store, clock: ManualClock, clerk: Agent[Any, Any]) -> App:
    return App(agents=[clerk], store=store, grant=GRANT, clock=clock)


async def test_a_signature_survives_a_store_and_a_new_process(
    store: Store, clock: ManualClock
) -> None:
    async with serving(by_conversation) as provider:
        clerk = desk(World(), []).replace(model=gemini(provider))
        async with app_on(store, clock, clerk) as app:
            run_id = await app.start("desk", "Refund A-1", user="u_1")
            paused = await asyncio.wait_for(app.wait(run_id), 10)
        async with app_on(store, clock, clerk) as app:
            await app.decide(run_id, approve=[paused.pending[0].id], by=STAFF)
            run = await asyncio.wait_for(app.wait(run_id), 10)

    assert run.text == "Done: refunded 150"
    signed = [
        part["thoughtSignature"]
        for content in contents(provider.requests[-1])
        for part in content["parts"]
        if "thoughtSignature" in part
    ]
    assert len(signed) == 2


async def test_a_call_that_a_person_changed_is_sent_without_what_was_signed(
    store: Store, clock: ManualClock
) -> None:
    async with serving(by_conversation) as provider:
        clerk = desk(World(), []).replace(model=gemini(provider))
        async with app_on(store, clock, clerk) as app:
            run_id = await app.start("desk", "Refund A-1", user="u_1")
            paused = await asyncio.wait_for(app.wait(run_id), 10)
            edit = {paused.pending[0].id: {"order": "A-1", "amount": 7}}
            await app.decide(run_id, edit=edit, by=STAFF)
            run = await asyncio.wait_for(app.wait(run_id), 10)

    assert run.text == "Done: refunded 7"
    [refund] = [
        part
        for content in contents(provider.requests[-1])
        for part in content["parts"]
        if part.get("functionCall", {}).get("name") == "refund"
    ]
    assert refund["functionCall"]["args"] == {"order": "A-1", "amount": 7}
    assert refund["thoughtSignature"] == UNSIGNED


async def test_thoughts_are_paid_as_output() -> None:
    card = Card(pricing=Pricing(input=1, output=10, cached_input="0.1"))
    report = used(10_000, 500, 300, cachedContentTokenCount=9_000)
    reply = stream(chunk(text("Hi"), finish="STOP", usageMetadata=report))
    async with loopback(reply) as server:
        model = GoogleGemini("gemini-test", base_url=base_url(server), api_key=KEY, card=card)
        result = await agent(model, budget=Budget(cost="1")).run("Go")

    assert str(result.usage.cost) == "0.0099"
    assert (result.usage.output_tokens, result.usage.reasoning_tokens) == (800, 300)


async def test_a_refusal_ends_the_run_after_one_call_and_leaves_no_empty_message() -> None:
    for told in (
        {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": used(500)},
        chunk(finish="PROHIBITED_CONTENT", usageMetadata=used(500)),
    ):
        async with loopback(stream(told)) as server:
            model = GoogleGemini("gemini-test", base_url=base_url(server), api_key=KEY)
            result = await agent(model).run("Go")

        assert (result.finish, len(server.requests)) == ("refusal", 1)
        assert result.usage.input_tokens == 500
        assert not [m for m in result.messages if isinstance(m, AssistantMessage)]


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"])
async def test_a_call_that_gemini_could_not_read_is_told_to_the_model_and_runs_nothing(
    reason: str,
) -> None:
    counter: Counter[str] = Counter()

    @tool
    async def look(number: int) -> str:
        """Looks."""
        counter["look"] += 1
        return "seen"

    last = chunk(finish=reason)
    last["candidates"][0]["finishMessage"] = "Malformed function call: print(look(number=1)"
    done = stream(chunk(text("Done."), finish="STOP"))
    async with loopback(stream(last), done) as server:
        model = GoogleGemini("gemini-test", base_url=base_url(server), api_key=KEY)
        result = await agent(model, tools=[look]).run("Go")

    assert (result.text, counter) == ("Done.", Counter())
    [told] = [m.text for m in result.messages if isinstance(m, ToolMessage)]
    assert "JSON object" in told
    assert server.requests[1].body["contents"][1]["parts"][0]["functionCall"]["name"] == "look"


async def test_text_behind_calls_and_calls_behind_text_keep_their_order() -> None:
    parts = [text("First."), call("look", signature="YQ==", number=1), text("Then.")]
    replies = [stream(chunk(*parts, finish="STOP")), stream(chunk(text("Done."), finish="STOP"))]
    async with loopback(*replies) as server:
        model = GoogleGemini("gemini-test", base_url=base_url(server), api_key=KEY)
        await agent(model).run("Go")

    sent = server.requests[1].body["contents"][1]["parts"]
    assert [next(iter(part)) for part in sent] == ["text", "functionCall", "text"]
    assert sent[1]["thoughtSignature"] == "YQ=="


async def test_a_name_in_the_catalogue_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving([turn(1), Say("Done.")]) as provider:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", provider.gemini_url)
        monkeypatch.setenv("GEMINI_API_KEY", KEY)
        named: Any = "google:gemini-test"
        result = await agent(named, catalogue=Catalogue()).run("Go")

    assert result.text == "Done."
    assert [turn.model for turn in result.turns] == ["google:gemini-test"] * 2
    kept = [m for m in result.messages if isinstance(m, AssistantMessage)]
    assert any(isinstance(part, Reasoning) for part in kept[0].content)
