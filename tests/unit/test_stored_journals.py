"""Journals that earlier versions stored are read today as they were meant, and go on.

Each file of `journals` holds the entries of some runs, one a line, as a version of remit wrote
them: it is never written again, and a later format gets a file of its own.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from remit import Agent, App, Budget, Caller, ModelRequest, ToolContext, Usage, tool
from remit.agent.projection import Projector
from remit.agent.state import AgentState, derive
from remit.kernel.facts import (
    Answered,
    AnyFact,
    Asked,
    Finished,
    Paused,
    Received,
    Started,
    Stepped,
    Unknown,
    decode,
    format_of,
)
from remit.kernel.replay import replay
from remit.models.request import Chunk, TextChunk
from remit.store.protocol import Store
from remit.store.records import Append, NewRun
from remit.testing.clock import ManualClock
from remit.testing.model import FREE
from remit.tools.approval import digest
from remit.values import codec
from remit.values.content import Reasoning, Text
from remit.values.messages import AssistantMessage, ToolMessage, UserMessage
from tests.unit.journals.order import desk_agent, order

JOURNALS = sorted((Path(__file__).parent / "journals").glob("*.jsonl"))
OF_WORKFLOWS = Path(__file__).parent / "journals" / "workflows" / "format-2.jsonl"
NUL_AND_HALF = "seen 1: nul \x00 and half \ud83d"
ANSWER = "Paid 5, and no more. \x00 \udcaf 😀"

Entries = list[dict[str, Any]]
every_file = pytest.mark.parametrize("file", JOURNALS, ids=lambda file: str(file.name))


def runs_of(file: Path) -> dict[str, Entries]:
    runs: dict[str, Entries] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        runs.setdefault(entry["run"], []).append(entry)
    return runs


def facts_of(entries: Entries) -> list[tuple[int, AnyFact]]:
    return [(entry["seq"], decode(entry["body"].encode())) for entry in entries]


def events_of(run: str, entries: Entries) -> list[Any]:
    projector = Projector(run)
    return [event for seq, fact in facts_of(entries) for event in projector.advance(seq, fact)]


def first() -> tuple[dict[str, Entries], list[AgentState]]:
    """The runs of the first format, and what is known of them."""
    runs = runs_of(JOURNALS[0])
    return runs, [derive(run, facts_of(entries)) for run, entries in runs.items()]


def test_there_are_journals_of_every_format() -> None:
    assert [file.name for file in JOURNALS] == [
        f"format-{number}.jsonl" for number in range(1, codec.FORMAT + 1)
    ]


@every_file
def test_every_entry_is_a_fact_that_is_known_and_loses_nothing(file: Path) -> None:
    for entries in runs_of(file).values():
        assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
        for entry, (_, fact) in zip(entries, facts_of(entries), strict=True):
            assert not isinstance(fact, Unknown), entry
            assert json.loads(codec.encode(fact)) == json.loads(entry["body"])


@every_file
def test_every_run_can_be_derived_and_told(file: Path) -> None:
    for run, entries in runs_of(file).items():
        state = derive(run, facts_of(entries))
        assert state.finished is not None
        assert not state.open_calls
        kinds = [event.kind for event in events_of(run, entries)]
        assert (kinds.count("done"), kinds[-1]) == (1, "done")
        assert kinds.count("tool_call") == kinds.count("tool_result")


@every_file
def test_decisions_that_wait_still_fit_the_arguments_that_were_seen(file: Path) -> None:
    asks = [
        ask.question
        for entries in runs_of(file).values()
        for _, fact in facts_of(entries)
        if isinstance(fact, Paused)
        for ask in fact.asks
    ]
    assert asks
    for asked in asks:
        assert asked["digest"] == digest(asked["tool"], asked["arguments"])


def test_the_facts_of_the_first_format() -> None:
    runs, _ = first()
    whole, cancelled = ([fact for _, fact in facts_of(entries)] for entries in runs.values())
    assert [type(fact) for fact in whole] == [
        *[Asked, Stepped, Stepped, Stepped, Stepped, Stepped],
        *[Paused, Answered, Answered, Stepped, Stepped, Stepped, Finished],
    ]
    assert [type(fact) for fact in cancelled[-2:]] == [Paused, Finished]
    asked, thought, edited, denied, end = (whole[place] for place in (0, 1, 7, 8, -1))
    assert isinstance(asked, Asked)
    assert (asked.user, asked.tenant, asked.thread) == ("u_1", "t_1", "th_1")
    roles, may = frozenset({"staff"}), frozenset({"start"})
    assert asked.by == Caller(user="staff_3", tenant="t_1", roles=roles, may=may)
    assert isinstance(thought, Stepped)
    assert (thought.name, thought.took, thought.at) == ("turn:0/think", 1500, 1_800_000_001_500)
    assert isinstance(edited, Answered)
    assert (edited.key, edited.by) == ("turn:0/call:2", Caller(user="staff_7"))
    assert isinstance(denied, Answered)
    assert denied.value["reason"] == "Not without a receipt. \ud83d"
    assert isinstance(end, Finished)
    assert (end.status, end.finish, end.output) == ("succeeded", "answer", ANSWER)


def test_what_is_known_of_a_run_of_the_first_format() -> None:
    _, (state, _) = first()
    user, asking, *results, answer = state.messages
    assert user == UserMessage((Text("Pay 150 and 7. \x00 \ud83d"),))
    assert isinstance(asking, AssistantMessage)
    assert asking.content[:2] == (
        Reasoning("Two payments.", "c2ln", "scripted:model"),
        Text("One moment."),
    )
    assert [(call.name, call.arguments) for call in asking.calls] == [
        ("look", {"number": 1}),
        ("fail", {}),
        ("pay_out", {"amount": 5}),
        ("pay_out", {"amount": 7}),
        ("unknown", {}),
        ("look", {}),
    ]
    assert [call.key for call in asking.calls] == [f"{state.run_id}/0/{n}" for n in range(6)]
    assert (asking.calls[4].misnamed, asking.calls[5].malformed) == ("p\u0430y", '{"number":')
    assert [result.status for result in results if isinstance(result, ToolMessage)] == [
        *["ok", "error", "ok", "denied", "refused", "error"]
    ]
    assert [result.text for result in results if isinstance(result, ToolMessage)][:3] == [
        NUL_AND_HALF,
        "Try another one.",
        "paid 5",
    ]
    assert answer == AssistantMessage((Text(ANSWER),), "scripted:model")
    assert [turn.cost for turn in state.turns] == [Decimal("0.003975"), Decimal("0.000765")]
    assert state.usage == Usage(
        input_tokens=1400,
        cache_read_tokens=200,
        cache_write_tokens=300,
        output_tokens=57,
        reasoning_tokens=10,
        cost=Decimal("0.00474"),
    )
    assert state.seconds == 3.25


def test_a_cancelled_run_of_the_first_format() -> None:
    _, (_, state) = first()
    assert state.finished is not None
    assert (state.finished.status, state.finished.reason) == ("cancelled", "enough")
    statuses = [m.status for m in state.messages if isinstance(m, ToolMessage)]
    assert statuses == ["ok", "error", "not_run", "not_run", "refused", "error"]


def test_the_events_of_the_first_format() -> None:
    runs, _ = first()
    told = [[event.kind for event in events_of(run, entries)] for run, entries in runs.items()]
    asked = [*["tool_call"] * 6, "usage", "turn", *["tool_result"] * 4, "pending"]
    assert told == [
        [*asked, "tool_result", "tool_result", "usage", "turn", "done"],
        [*asked, "tool_result", "tool_result", "done"],
    ]


def test_what_the_second_format_adds_to_an_agents_run() -> None:
    runs = runs_of(JOURNALS[1])
    whole, fork, _ = ([fact for _, fact in facts_of(entries)] for entries in runs.values())
    (received,) = [fact for fact in whole if isinstance(fact, Received)]
    assert (received.id, received.by) == ("m_1", Caller(user="staff_7", roles=frozenset({"staff"})))
    assert [fact.name for fact in whole if isinstance(fact, Started)] == ["turn:0/call:2"]
    run, *_ = runs
    texts = [m.text for m in derive(run, facts_of(runs[run])).messages]
    assert texts[:2] == ["Pay 150 and 7. \x00 \ud83d", "And be quick. \ud83d"]
    asked = fork[0]
    assert isinstance(asked, Asked)
    assert asked.input["fork"] == run


async def test_a_workflows_run_of_the_second_format_replays_today() -> None:
    ((run, entries),) = runs_of(OF_WORKFLOWS).items()
    facts = facts_of(entries)
    kinds = {type(fact) for _, fact in facts}
    assert kinds == {Asked, Stepped, Started, Paused, Answered, Received, Finished}
    for entry, (_, fact) in zip(entries, facts, strict=True):
        assert json.loads(codec.encode(fact)) == json.loads(entry["body"])
        assert format_of(fact) <= entry["format"]
    agent = desk_agent(Answering())
    app = App([agent], workflows=[order], store="memory:", work=False)
    program = app._settings.programs(app._members).by_key["order@1"]
    for end in range(1, len(facts) + 1):
        assert await replay(program, facts[:end], run=run) is None
    end_of_it = facts[-1][1]
    assert isinstance(end_of_it, Finished)
    assert end_of_it.output == [
        "A-1",
        "ValueError: no stamps",
        ["packed \x00 ✓, yes", "Refunded."],
        {"carrier": "mule"},
        True,
    ]


class Answering:
    """A model that answers, and keeps what it was asked."""

    name, card = "own:answering", FREE

    def __init__(self) -> None:
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        yield TextChunk("Done.")


@every_file
async def test_a_run_that_was_stored_in_the_middle_goes_on_today(
    store: Store, clock: ManualClock, file: Path
) -> None:
    """It waits for decisions about two payments, and makes them with the keys that it had."""
    run, entries = next(iter(runs_of(file).items()))
    paused = next(at for at, (_, fact) in enumerate(facts_of(entries)) if isinstance(fact, Paused))
    await restore(store, run, entries[: paused + 1])
    keys: list[str] = []

    @tool(approval="always")
    async def pay_out(amount: int, ctx: ToolContext[Any]) -> str:
        """Pays."""
        keys.append(ctx.idempotency_key)
        return f"paid {amount}"

    model = Answering()
    agent: Agent[Any, Any] = Agent(
        name="desk", model=model, tools=[pay_out], budget=Budget(turns=4)
    )
    async with App(agents=[agent], store=store, clock=clock) as app:
        waiting = [pending.id for pending in (await app.get(run)).pending]
        assert await app.decide(run, approve=waiting, by=Caller(user="staff_1")) == 0
        kinds = [event.kind async for event in app.events(run)]
        found = await app.get(run)
    assert (found.status, found.text, kinds[-1]) == ("succeeded", "Done.", "done")
    assert sorted(keys) == [f"{run}/0/2", f"{run}/0/3"]
    texts = [message.text for message in model.requests[0].messages]
    assert NUL_AND_HALF in texts
    assert "paid 150" in texts


async def restore(store: Store, run: str, entries: Entries) -> None:
    """Bring a run into the store as its entries tell, waiting for its last one's answers."""
    bodies = [entry["body"].encode() for entry in entries]
    last = decode(bodies[-1])
    assert isinstance(last, Paused)
    new = NewRun(id=run, program="desk@1", body=bodies[0], format=entries[0]["format"], user="u_1")
    await store.create(new)
    await store.beat("old", 20.0, join=True)
    (claim,) = await store.claim("old", ["desk@1"], format=codec.FORMAT)
    await store.append(
        [
            Append(
                run=run,
                token=claim.token,
                seq=1,
                entries=tuple(bodies[1:]),
                format=entries[-1]["format"],
                status="paused",
                asks=tuple(ask.key for ask in last.asks),
            )
        ]
    )
