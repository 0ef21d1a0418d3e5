"""Whole runs over Anthropic's Messages: each call once, thinking kept, and a prompt that grows."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from pydantic import BaseModel

from remit import Agent, App, Budget, Card, Catalogue, Pricing, tool
from remit.agent.fold import Fold
from remit.models.anthropic import AnthropicMessages
from remit.options import Retry
from remit.store.memory import MemoryStore
from remit.testing import Call, Quirks, Reply, Say, StrictProvider, Think
from remit.testing.provider import Sent
from remit.values.errors import ConnectionFailedError, ProviderError
from remit.values.events import FoldEvent
from remit.values.messages import AssistantMessage
from remit.values.results import Result
from remit.values.usage import Usage
from tests.loopback import loopback
from tests.unit.models.anthropic.asking import KEY, begun, finished, streamed, text, url

CARD = Card(pricing=Pricing(input=3, output=15, cached_input="0.3", cache_write="3.75"))


def agent(provider: StrictProvider, counter: Counter[str], **options: Any) -> Agent[Any, Any]:
    @tool
    async def now() -> str:
        """Tells the time."""
        counter["now"] += 1
        return "half \ud83d past"

    @tool
    async def add(a: int) -> str:
        """Adds up."""
        counter[f"add {a}"] += 1
        return f"sum {a}"

    @tool
    async def read(page: int) -> str:
        """Reads a page."""
        return f"page {page} " + "x" * 3_000

    asking = {"thinking": "adaptive", "card": CARD} | options.pop("model", {})
    claude = AnthropicMessages(
        "claude-test", base_url=provider.anthropic_url, api_key=KEY, **asking
    )
    fields: dict[str, Any] = {"name": "desk", "tools": [now, add, read], "instructions": "Help."}
    return Agent(**(fields | {"model": claude, "budget": Budget(turns=12)} | options))


async def run(script: Any, **options: Any) -> tuple[Result, Counter[str], list[dict[str, Any]]]:
    """The result, how often each tool ran, and the bodies that were sent, all of them taken."""
    counter: Counter[str] = Counter()
    async with StrictProvider(script) as provider:
        result = await agent(provider, counter, **options).run("Go")
    assert provider.refused == []
    return result, counter, [sent.body for sent in provider.requests]


def prompt(body: dict[str, Any]) -> list[str]:
    """What a cache goes by, block for block, without the marks."""
    blocks = [*body.get("tools", ()), *body.get("system", ())]
    for turn in body["messages"]:
        blocks += [{"role": turn["role"]} | block for block in turn["content"]]
    return [
        json.dumps({key: value for key, value in block.items() if key != "cache_control"})
        for block in blocks
    ]


def marked(body: dict[str, Any]) -> list[int]:
    """The blocks of a prompt behind which it is cut for the cache."""
    blocks = [*body.get("tools", ()), *body.get("system", ())]
    for turn in body["messages"]:
        blocks += turn["content"]
    return [at for at, block in enumerate(blocks) if "cache_control" in block]


def check_prefixes(bodies: list[dict[str, Any]]) -> None:
    """Each prompt begins with the one before it, and is marked where that one ended."""
    for before, after in pairwise(bodies):
        assert prompt(after)[: len(prompt(before))] == prompt(before)
        assert len(prompt(before)) - 1 in marked(after)
        assert len(marked(after)) <= 4


async def test_a_whole_run_keeps_its_thinking_and_the_beginning_of_its_prompt() -> None:
    script = [
        [Think("Look it up.", pieces=3), Say("One moment."), Call("now"), Call("add", a=1)],
        [Think("Once more. 你好👩‍🚀"), *(Call("add", a=n) for n in range(2, 30))],
        [Call("no such tool")],
        [Think("Done."), Say("It is half past.")],
    ]

    result, counter, bodies = await run(script)

    assert (result.finish, result.text) == ("answer", "It is half past.")
    assert counter == {"now": 1} | {f"add {n}": 1 for n in range(1, 30)}
    check_prefixes(bodies)
    answered = [turn for turn in bodies[-1]["messages"] if turn["role"] == "assistant"]
    assert answered[0]["content"][0]["thinking"] == "Look it up."
    assert answered[1]["content"][0]["thinking"] == "Once more. 你好👩‍🚀"


async def test_a_thread_keeps_its_beginning_from_run_to_run(tmp_path: Any) -> None:
    def answer(sent: Sent) -> Any:
        results = "tool_result" in json.dumps(sent.body["messages"][-1])
        return [Say("Done.")] if results else [Think("Hm."), Call("add", a=1)]

    async with StrictProvider(answer) as provider:
        # Another process, each time: what is sent again comes from the store alone.
        for number in range(3):
            desk = agent(provider, Counter())
            async with App(agents=[desk], store=f"sqlite:///{tmp_path}/runs.db") as app:
                done = await app.run("desk", f"Go {number}", user="u_1", thread="t")
                assert done.text == "Done."

    assert provider.refused == []
    bodies = [sent.body for sent in provider.requests]
    assert len(bodies) == 6
    check_prefixes(bodies)
    assert json.dumps(bodies[-1]).count('"thinking": "Hm."') == 3


async def test_only_a_fold_begins_the_prompt_anew() -> None:
    script: list[Any] = [[Think("Next."), Call("read", page=n)] for n in range(8)]
    script.append([Say("Read it all.")])
    events: list[Any] = []
    counter: Counter[str] = Counter()
    async with StrictProvider(lambda sent: brief_or(sent, script)) as provider:
        desk = agent(provider, counter, fold=Fold(max_tokens=5_000))
        result = await desk.run("Go", on_event=events.append)

    bodies = [sent.body for sent in provider.requests]
    folds = [event for event in events if isinstance(event, FoldEvent)]
    assert provider.refused == []
    assert result.finish == "answer"
    assert folds
    broken = sum(
        prompt(after)[: len(prompt(before))] != prompt(before) for before, after in pairwise(bodies)
    )
    assert broken == len(folds)


def brief_or(sent: Sent, script: list[Any]) -> Reply:
    """The brief that a fold asks for, or the script's next answer."""
    parts = script.pop(0) if "tools" in sent.body else [Say("A brief.")]
    return Reply(*parts, usage=Usage(input_tokens=len(sent.text) // 4, output_tokens=9))


async def test_thinking_by_budget_begins_with_a_turn() -> None:
    script = [[Call("now")], [Call("add", a=1)], [Think("Hm."), Say("Done.")]]

    result, _, bodies = await run(script, model={"thinking": 2_000})

    assert result.finish == "answer"
    assert [body["thinking"]["type"] for body in bodies] == ["enabled", "disabled", "disabled"]


async def test_usage_is_counted_to_the_token_and_priced() -> None:
    usage = Usage(
        input_tokens=10_007,
        cache_read_tokens=9_000,
        cache_write_tokens=1_000,
        output_tokens=500,
        reasoning_tokens=300,
    )

    result, _, _ = await run([Reply(Say("Hi"), usage=usage)], budget=Budget(cost="0.20"))

    assert result.usage.cost is not None
    assert str(result.usage.cost) == "0.013971"
    assert (result.usage.input_tokens, result.usage.reasoning_tokens) == (10_007, 300)


async def test_a_model_that_pauses_is_asked_to_go_on() -> None:
    script = [Reply(Say("Still at it."), stop="pause"), Say("Done.")]

    result, _, bodies = await run(script)

    assert (result.finish, len(bodies)) == ("answer", 2)
    assert result.text.endswith("Done.")


async def test_a_refusal_ends_the_run_after_one_call_and_leaves_no_empty_message() -> None:
    usage = Usage(input_tokens=500_000)

    result, _, bodies = await run([Reply(usage=usage, stop="refusal")])

    assert (result.finish, len(bodies)) == ("refusal", 1)
    assert result.usage.input_tokens == 500_000
    assert not [m for m in result.messages if isinstance(m, AssistantMessage)]


async def test_the_reason_of_a_refusal_reaches_the_user() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "That could do harm."}
    async with loopback(streamed(begun(input_tokens=3), *finished("refusal", details))) as server:
        claude = AnthropicMessages("claude-test", base_url=url(server), api_key=KEY)
        result = await Agent(name="a", model=claude, budget=Budget(turns=3)).run("Go")

    assert (result.finish, result.text) == ("refusal", "That could do harm.")


class Order(BaseModel):
    number: str
    items: int


async def test_an_answer_of_a_type_is_text_by_its_schema() -> None:
    script = [[Call("now")], Say('{"number": "A-1", "items": 2}', pieces=4)]

    result, _, bodies = await run(script, output=Order, model={"output": "schema"})

    assert result.output == Order(number="A-1", items=2)
    assert all(body["output_config"]["format"]["type"] == "json_schema" for body in bodies)
    check_prefixes(bodies)


async def test_an_answer_of_a_type_without_a_schema_is_a_call() -> None:
    script = [Call("final_answer", answer=["A-1", "A-2"])]

    result, _, bodies = await run(script, output=list[str], model={"output": "schema"})

    assert result.output == ["A-1", "A-2"]
    assert "output_config" not in bodies[0]


async def test_the_last_turn_without_tools_is_taken() -> None:
    script = [Call("now"), Call("add", a=1), Say("That is all.")]

    result, _, bodies = await run(script, budget=Budget(turns=3), on_limit="answer")

    assert result.text == "That is all."
    assert bodies[-1]["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize("cut", [0, 1, 3])
async def test_a_broken_stream_raises_what_it_may_have_cost(cut: int) -> None:
    with pytest.raises(ConnectionFailedError) as caught:
        await run([Reply(Say("Hello"), quirks=Quirks(cut=cut))], retry=Retry(attempts=1))

    assert caught.value.may_cost


async def test_an_error_in_the_middle_of_an_answer_is_raised() -> None:
    with pytest.raises(ProviderError) as caught:
        await run([Reply(Say("Hel"), fails=ProviderError(status=529))])

    assert (caught.value.status, caught.value.may_cost) == (529, True)


async def test_thinking_of_another_model_is_not_sent() -> None:
    store = MemoryStore()
    async with StrictProvider(lambda sent: Say("Done.")) as provider:
        other = agent(provider, Counter()).replace(
            model=AnthropicMessages(
                "claude-other", base_url=provider.anthropic_url, api_key=KEY, card=CARD
            )
        )
        async with (
            StrictProvider([[Think("Mine."), Call("now")], Say("Done.")], maker="first") as first,
            App(agents=[agent(first, Counter())], store=store) as app,
        ):
            await app.run("desk", "One", user="u_1", thread="t")
        async with App(agents=[other], store=store) as app:
            done = await app.run("desk", "Two", user="u_1", thread="t")

    assert done.text == "Done."
    assert provider.refused == []
    assert "Mine." not in provider.requests[0].text


async def test_a_name_in_the_catalogue_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback(streamed(begun(), *text(0, "Hi"), *finished("end_turn"))) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url(server))
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        desk = Agent(
            name="desk",
            model="anthropic:claude-test",
            catalogue=Catalogue({"anthropic:claude-test": CARD}),
            budget=Budget(cost="0.20"),
        )
        result = await desk.run("Go")

    assert result.text == "Hi"
    assert [turn.model for turn in result.turns] == ["anthropic:claude-test"]
