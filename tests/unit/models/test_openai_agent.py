"""The wire's quirks, seen from a whole run: each call once, and a next request that is valid."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from remit import Agent, App, Budget, Card, Catalogue, Pricing, tool
from remit.models.openai_chat import OpenAIChat
from remit.models.retry import Retry
from remit.values.errors import ConnectionFailedError
from remit.values.messages import AssistantMessage, ToolMessage
from remit.values.results import Result
from tests.loopback import Loopback, Reply, delta, events, loopback, stream
from tests.unit.models import strict
from tests.unit.models.asking import KEY

DONE = stream(delta(content="Done."), delta("stop"))


def agent(server: Loopback, counter: Counter[str], **options: Any) -> Agent[Any, Any]:
    @tool
    async def add(a: int) -> str:
        """Adds."""
        counter[f"add {a}"] += 1
        return f"sum {a}"

    @tool
    async def now() -> str:
        """Tells the time."""
        counter["now"] += 1
        return "half \ud83d past"

    @tool
    async def query_dataset(ctx: str = "") -> dict[str, float]:
        """Queries."""
        counter["query_dataset"] += 1
        return {"mean": float("nan"), "max": float("inf")}

    given: dict[str, Any] = {
        "name": "desk",
        "model": OpenAIChat("gpt-test", base_url=server.base_url, api_key=KEY),
        "tools": [add, now, query_dataset],
        "budget": Budget(turns=4),
    }
    return Agent(**given | options)


async def run(*replies: Reply) -> tuple[Result, Counter[str], Loopback]:
    """A run against these replies; every request that it made was valid."""
    counter: Counter[str] = Counter()
    async with loopback(*replies) as server:
        result = await agent(server, counter).run("Go")
    for request in server.requests:
        strict.check(request.body)
    return result, counter, server


def calls(*entries: tuple[Any, Any, str, str], finish: str | None = "tool_calls") -> Reply:
    found = [
        {
            "index": index,
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": args},
        }
        for index, id, name, args in entries
    ]
    return stream(*(delta(tool_calls=[entry]) for entry in found), delta(finish))


@pytest.mark.parametrize("arguments", ["", "{}", None])
async def test_a_tool_without_parameters_runs_once(arguments: Any) -> None:
    result, counter, server = await run(calls((0, "t1", "now", arguments)), DONE)

    assert counter == {"now": 1}
    assert (result.finish, result.text) == ("answer", "Done.")
    [call] = server.requests[1].body["messages"][1]["tool_calls"]
    assert call["function"]["arguments"] == "{}"


@pytest.mark.parametrize("ids", [("a", "b"), ("call_1", "call_1"), ("", ""), (None, None)])
@pytest.mark.parametrize("indexes", [(0, 1), (0, 0), (None, None)])
async def test_parallel_calls_run_once_each_with_their_own_arguments(
    indexes: tuple[Any, Any], ids: tuple[Any, Any]
) -> None:
    entries = [(indexes[n], ids[n], "add", f'{{"a":{n + 1}}}') for n in (0, 1)]

    result, counter, server = await run(calls(*entries), DONE)

    assert counter == {"add 1": 1, "add 2": 1}
    messages = server.requests[1].body["messages"]
    sent = {c["id"]: c["function"]["arguments"] for c in messages[1]["tool_calls"]}
    back = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    assert {sent[id]: back[id] for id in sent} == {'{"a":1}': "sum 1", '{"a":2}': "sum 2"}
    assert result.finish == "answer"


@pytest.mark.parametrize("finish", ["stop", "other", "end_turn", None])
async def test_a_preamble_is_not_the_answer(finish: str | None) -> None:
    talk = events(delta(content="let me pull up the data…"), done=False)
    three = calls(*((n, f"c{n}", "add", f'{{"a":{n}}}') for n in range(3)), finish=finish)

    result, counter, _ = await run(Reply([talk, *three.pieces]), DONE)

    assert sum(counter.values()) == 3
    assert result.text == "Done."


@pytest.mark.parametrize(
    "name", ["query_dataset<|channel|>commentary", "query_dataset</arg_value>"]
)
async def test_a_templates_token_on_a_name_is_taken_off(name: str) -> None:
    result, counter, _ = await run(calls((0, "a", name, "{}")), DONE)

    assert counter == {"query_dataset": 1}
    assert result.finish == "answer"


async def test_a_name_that_is_none_ends_in_an_error_that_lists_the_real_ones() -> None:
    result, counter, server = await run(calls((0, "a", "drop table<|x|>", "{}")), DONE)

    assert not counter
    [told] = [m["content"] for m in server.requests[1].body["messages"] if m["role"] == "tool"]
    assert "add, now, query_dataset" in told
    assert result.finish == "answer"


async def test_arguments_that_cannot_be_read_are_told_to_the_model() -> None:
    result, counter, server = await run(calls((0, "a", "add", '{"a":')), DONE)

    assert not counter
    [told] = [m["content"] for m in server.requests[1].body["messages"] if m["role"] == "tool"]
    assert "JSON object" in told
    assert result.finish == "answer"


async def test_results_with_half_characters_and_nan_can_be_sent() -> None:
    result, counter, server = await run(
        calls((0, "a", "now", ""), (1, "b", "query_dataset", "{}")), DONE
    )

    told = [m["content"] for m in server.requests[1].body["messages"] if m["role"] == "tool"]
    assert told[0] == "half \ufffd past"
    assert told[1] == '{"mean":"NaN","max":"Infinity"}'
    assert counter == {"now": 1, "query_dataset": 1}
    assert result.finish == "answer"


async def test_a_refusal_ends_the_run_after_one_call_and_leaves_no_empty_message() -> None:
    usage = {"prompt_tokens": 500_000, "completion_tokens": 0}

    result, _, server = await run(stream(delta("content_filter") | {"usage": usage}))

    assert result.finish == "refusal"
    assert len(server.requests) == 1
    assert result.usage.input_tokens == 500_000
    assert not [m for m in result.messages if isinstance(m, AssistantMessage)]


async def test_usage_behind_the_finish_is_priced(tmp_path: Path) -> None:
    card = Card(pricing=Pricing(input=3, output=15, cached_input="0.3"))
    usage = {
        "prompt_tokens": 10_000,
        "prompt_tokens_details": {"cached_tokens": 9_000},
        "completion_tokens": 500,
        "completion_tokens_details": {"reasoning_tokens": 300},
    }
    reply = stream(delta(content="Hi"), delta("stop"), {"choices": [], "usage": usage})

    async with loopback(reply) as server:
        chat = OpenAIChat("gpt-test", base_url=server.base_url, api_key=KEY, card=card)
        desk = agent(server, Counter(), model=chat, budget=Budget(cost="0.20"))
        async with App(agents=[desk], store=f"sqlite:///{tmp_path}/runs.db") as app:
            done = await app.run("desk", "Hi")

    assert done.usage.cost is not None
    assert str(done.usage.cost) == "0.0132"
    assert (done.usage.cache_read_tokens, done.usage.reasoning_tokens) == (9_000, 300)


async def test_a_stream_that_dies_leaves_the_thread_usable(tmp_path: Path) -> None:
    half = Reply([events(delta(content=""), done=False)], ending="cut")

    async with loopback(half, DONE) as server:
        desk = agent(server, Counter(), retry=Retry(attempts=1))
        async with App(agents=[desk], store=f"sqlite:///{tmp_path}/runs.db") as app:
            failed = await app.run("desk", "One", user="u_1", thread="t")
            done = await app.run("desk", "Two", user="u_1", thread="t")
            history = await app.history("desk", "t", user="u_1")

    assert failed.status == "failed"
    assert "cut" in str(failed.error) or "incomplete" in str(failed.error)
    assert done.text == "Done."
    strict.check(server.requests[1].body)
    assert not [m for m in history if isinstance(m, AssistantMessage) and not m.content]


async def test_a_broken_stream_raises_from_a_run_without_a_store() -> None:
    with pytest.raises(ConnectionFailedError):
        await run(Reply([events(delta(content="Hel"), done=False)], ending="cut"))


async def test_a_name_in_the_catalogue_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback(calls((0, "a", "add", '{"a":1}')), DONE) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        counter: Counter[str] = Counter()
        desk = agent(server, counter, model="openai:gpt-test", catalogue=Catalogue())
        result = await desk.run("Go")

    assert result.text == "Done."
    assert [turn.model for turn in result.turns] == ["openai:gpt-test"] * 2
    assert [m.text for m in result.messages if isinstance(m, ToolMessage)] == ["sum 1"]
