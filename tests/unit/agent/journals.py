"""Random journals of agents' runs, as the loop could have written them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal

from hypothesis import strategies as st

from remit.agent.recorded.steps import ModelAnswer
from remit.agent.state import AgentInput, Decision
from remit.kernel.facts import Answered, AnyFact, Ask, Asked, Finished, Paused, Stepped
from remit.values.content import Call, Text
from remit.values.identity import Caller
from remit.values.messages import AssistantMessage, ToolMessage, UserMessage
from remit.values.results import Pending
from remit.values.usage import Usage

RUN = "run_1"
Verdict = Literal["approve", "deny", "edit"]
words = st.text(alphabet=st.characters(codec=None, categories=None), max_size=8)


@st.composite
def journals(draw: st.DrawFn, *, ended: bool = False) -> list[AnyFact]:
    """A whole journal up to some fact; with `ended`, one that comes to its end."""
    facts: list[AnyFact] = [
        Asked(at=1, input=AgentInput(message=UserMessage((Text(draw(words)),))), user="u_1")
    ]
    for turn in range(draw(st.integers(0, 3))):
        calls = tuple(_a_call(draw, turn, number) for number in range(draw(st.integers(0, 4))))
        facts.append(_thought(draw, turn, calls))
        asks = [draw(st.booleans()) for _ in calls]
        free = [call for call, asked in zip(calls, asks, strict=True) if not asked]
        facts += [_done(draw, calls, call) for call in draw(st.permutations(free))]
        if any(asks):
            asked = [call for call, asked in zip(calls, asks, strict=True) if asked]
            facts += _decided(draw, calls, asked)
        if not calls:
            break
    cut = draw(st.integers(1, len(facts)))
    facts = facts[:cut]
    if ended or draw(st.booleans()):
        facts.append(_an_end(draw))
    return facts


def _a_call(draw: st.DrawFn, turn: int, number: int) -> Call:
    arguments: dict[str, Any] = draw(st.dictionaries(words, st.integers() | words, max_size=2))
    key = f"{RUN}/{turn}/{number}"
    return Call(f"call_{turn}_{number}", draw(st.sampled_from(["look", "pay"])), arguments, key)


def _thought(draw: st.DrawFn, turn: int, calls: tuple[Call, ...]) -> Stepped:
    text = draw(words)
    content: tuple[Text | Call, ...] = (Text(text), *calls) if text else calls
    usage = Usage(
        input_tokens=draw(st.integers(0, 99)),
        output_tokens=draw(st.integers(0, 99)),
        cost=draw(st.none() | st.sampled_from([Decimal("0.1"), Decimal("0.000000001")])),
    )
    value = ModelAnswer(message=AssistantMessage(content, "a:b"), usage=usage)
    return Stepped(at=2, name=f"turn:{turn}/think", value=value, took=draw(st.integers(0, 99)))


def _done(draw: st.DrawFn, calls: tuple[Call, ...], call: Call) -> Stepped:
    turn, number = call.id.split("_")[1], calls.index(call)
    value = ToolMessage(call.id, call.name, draw(words), draw(st.sampled_from(["ok", "error"])))
    name = f"turn:{turn}/call:{number}"
    return Stepped(at=3, name=name, value=value, took=draw(st.integers(0, 99)))


def _decided(draw: st.DrawFn, calls: tuple[Call, ...], asked: list[Call]) -> list[AnyFact]:
    def key(call: Call) -> str:
        return f"turn:{call.id.split('_')[1]}/call:{calls.index(call)}"

    def question(call: Call) -> Pending:
        return Pending(
            id=call.id, tool=call.name, arguments=call.arguments, why="it asks", digest=call.id
        )

    facts: list[AnyFact] = [
        Paused(at=4, asks=tuple(Ask(key(call), question(call)) for call in asked))
    ]
    verdicts: list[Verdict] = ["approve", "deny", "edit"]
    for call in draw(st.permutations(asked)):
        verdict = draw(st.sampled_from(verdicts))
        decision = Decision(
            verdict=verdict,
            digest=call.id,
            arguments={"edited": call.id} if verdict == "edit" else None,
        )
        facts.append(Answered(at=5, key=key(call), value=decision, by=Caller(user="staff_1")))
    facts += [_done(draw, calls, call) for call in draw(st.permutations(asked))]
    return facts


def _an_end(draw: st.DrawFn) -> Finished:
    ends = [
        Finished(at=9, status="succeeded", finish="answer", output="done"),
        Finished(at=9, status="failed", finish="turns"),
        Finished(at=9, status="failed", error="ValueError: no"),
        Finished(at=9, status="cancelled", finish="cancelled", reason="enough"),
    ]
    return draw(st.sampled_from(ends))
