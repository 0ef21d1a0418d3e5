"""What must hold of a whole history once every fault has passed."""

from __future__ import annotations

from remit.agent.state import AgentState, Decision, derive
from remit.kernel.facts import Answered, Asked, Finished
from remit.kernel.nested import ASKED as ASKED_STEP
from remit.kernel.nested import own_facts
from remit.values import codec
from remit.values.content import Call
from remit.values.messages import ToolMessage
from remit.values.results import ENDED
from tests.simulation.history import History, Told
from tests.simulation.outside import EFFECTS, SCOUT, Outside, step_of
from tests.simulation.remote import Server

ASKED = ("refund", "wire", SCOUT)
"""The tools whose calls may wait for a person, or hold one that does."""


def check(history: History, outside: Outside, server: Server, *, decided: bool) -> None:
    """Note every law that does not hold; `decided` is whether somebody decided to the end."""
    calls: dict[str, tuple[Told, Call]] = {}
    for told in history.runs.values():
        _stored(history, server, told)
        state = derive(told.id, enumerate(told.facts, 1))
        _ended(history, told, state, decided=decided)
        for path, each in [("", state), *_inside(told)]:
            for turn in each.turns:
                for call in turn.calls:
                    calls[call.key] = told, call
            _results(history, outside, told, each, path)
    for key, number in outside.effects.items():
        history.require(key in calls, "an effect belongs to a call that is recorded", key)
        if key in calls:
            told, call = calls[key]
            history.require(
                number == call.arguments["number"],
                "an effect is what its call says",
                key,
                number,
            )
            history.require(
                call.name != "refund" or _allowed(told, key), "what is refused never runs", key
            )
    for thread, runs in history.ended.items():
        journals = server.look("lineage", runs[-1])
        found = [[entry.body for entry in journal] for journal in journals]
        wanted = [history.runs[run].bodies for run in runs[:-1]]
        history.require(found == wanted, "a thread is the chain of its runs", thread)


def _stored(history: History, server: Server, told: Told) -> None:
    entries = server.look("read", told.id)
    history.require(
        [entry.body for entry in entries] == told.bodies, "a journal is what was accepted", told.id
    )
    numbers = [entry.seq for entry in entries]
    history.require(numbers == list(range(1, len(entries) + 1)), "no gap", told.id, numbers)
    tokens = [entry.token for entry in entries]
    history.require(tokens == sorted(tokens), "tokens never fall", told.id, tokens)
    row = server.look("get", told.id)
    history.require(row.status == told.status, "a row is what was told of it", told.id, row)


def _ended(history: History, told: Told, state: AgentState, *, decided: bool) -> None:
    settled = history.rests(told, decided=decided)
    history.require(settled, "every run comes to its end", told.id, told.status)
    if told.cancelled:
        history.require(told.status == "cancelled", "a cancel ends cancelled", told.id, told.status)
    end = told.facts[-1]
    if told.status in ENDED:
        history.require(isinstance(end, Finished), "an end is recorded", told.id, end)
        history.require(state.finished is not None, "an end is known", told.id)
    if isinstance(end, Finished):
        history.require(end.status == told.status, "row and journal agree", told.id)
        why = end.error or ""
        history.require(
            end.status != "failed" or why.startswith("The run was given up: its process died"),
            "no fault fails a run",
            told.id,
            why or end.finish,
        )
    history.require(isinstance(told.facts[0], Asked), "a journal begins with its question")


def _inside(told: Told) -> list[tuple[str, AgentState]]:
    """The agents that worked inside the run's calls, by their paths."""
    paths = [name.removesuffix(ASKED_STEP) for name in told.steps if name.endswith(ASKED_STEP)]
    facts = list(enumerate(told.facts, 1))
    return [(path, derive(told.id, own_facts(facts, path), path)) for path in paths]


def _results(history: History, outside: Outside, told: Told, state: AgentState, path: str) -> None:
    """Each result that tells of an effect has one, and each call of an ended run has a result."""
    for number, turn in enumerate(state.turns):
        for at, call in enumerate(turn.calls):
            step = told.steps.get(f"{path}turn:{number}/call:{at}")
            if step is None:
                history.require(
                    told.status not in ("succeeded", "paused") or call.name in ASKED,
                    "each call has a result",
                    told.id,
                    call,
                )
                continue
            result = codec.convert(step.value, ToolMessage)
            if call.name in EFFECTS and result.text.startswith(EFFECTS[call.name]):
                history.require(
                    call.key in outside.effects, "a result has its effect", told.id, call.key
                )


def _decisions(told: Told, key: str) -> list[Decision]:
    name = step_of(key)
    return [
        codec.convert(fact.value, Decision)
        for fact in told.facts
        if isinstance(fact, Answered) and fact.key == name
    ]


def _allowed(told: Told, key: str) -> bool:
    return [found.verdict in ("approve", "edit") for found in _decisions(told, key)] == [True]
