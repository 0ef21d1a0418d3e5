"""Whether a run goes in circles, decided from what is recorded of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from typing import Literal

from remit.agent.recorded.streaks import Streak
from remit.agent.recorded.verdicts import Braked
from remit.agent.state import AgentState
from remit.values.errors import ConfigError

_LEAST = {
    "turns": 2,
    "failures": 1,
    "polls": 2,
    "leeway": 1,
    "texts": 2,
    "text_chars": 1,
    "loop_chars": 200,
    "loop_times": 3,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Brakes:
    """When a run that goes in circles is told so, and when it is stopped.

    After `turns` turns of equal calls, or `failures` failures of one tool in a row, the model is
    told to change course; `leeway` more, and the run ends `stuck`. Turns in which all tools are
    marked `polls` count only where their results are equal too, `polls` times. `texts` turns in a
    row that say the same, `text_chars` characters or more of it together, end the run at once if
    it would go on, and so does an answer whose last `loop_chars` characters (or four times as many)
    are one passage, `loop_times` times or more. Raises ConfigError for a threshold that would stop
    what is no loop.
    """

    turns: int = 3
    failures: int = 4
    polls: int = 10
    leeway: int = 2
    texts: int = 3
    text_chars: int = 600
    loop_chars: int = 3000
    loop_times: int = 5

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), _LEAST[field.name]
            if type(value) is not int or value < least:
                raise ConfigError(
                    f"Brakes.{field.name} must be a whole number of at least {least}, not"
                    f" {value!r:.80}; Agent(brakes=None) takes all brakes off"
                )


def check(state: AgentState, brakes: Brakes | None, polls: Collection[str]) -> Braked | None:
    """What a run is to be told of, or stopped for, before its next move; None for nothing.

    `polls` are the names of the tools that poll. Each turn is braked once at most.
    """
    turn = len(state.turns) - 1
    if turn < 0 or state.braked == turn:
        return None
    goes_on = state.open_calls or state.unanswered
    if state.cut or (brakes is not None and goes_on and _says_the_same(state, brakes)):
        return Braked(brake="repeated_text", stops=True)
    if brakes is None or state.open_calls or not state.unanswered:
        return None
    if state.streaks.turns.count < 2 and not state.streaks.failures:
        return None
    found = [*_equal_turns(state, brakes, polls), *_failing(state, brakes, polls)]
    stops = [braked for braked in found if braked.stops]
    return next(iter(stops or found), None)


def advice(braked: Braked) -> str:
    """What the model reads of a brake, once."""
    if braked.brake == "failing_tool":
        what = f"The tool {braked.tool} has failed {braked.count} times in a row."
    else:
        what = f"You have made the same tool calls {braked.count} times in a row."
    return (
        f"{what} Change course: use other arguments or another tool, or answer with what you have"
        " and say what is missing. If this goes on, the run is stopped."
    )


def _says_the_same(state: AgentState, brakes: Brakes) -> bool:
    streaks = state.streaks
    said = streaks.texts.count * len(streaks.text)
    return streaks.texts.count >= brakes.texts and said >= brakes.text_chars


def _equal_turns(state: AgentState, brakes: Brakes, polls: Collection[str]) -> Iterator[Braked]:
    streaks = state.streaks
    if all(call.name in polls for call in streaks.calls):
        found = _comes(streaks.outcomes, brakes.polls, brakes.leeway)
        count = streaks.outcomes.count
    else:
        found = _comes(streaks.turns, brakes.turns, brakes.leeway)
        count = streaks.turns.count
    if found is not None:
        yield Braked(brake="repeated_calls", stops=found == "stop", count=count)


def _failing(state: AgentState, brakes: Brakes, polls: Collection[str]) -> Iterator[Braked]:
    for tool, failures in state.streaks.failures.items():
        streak, limit = failures.streak, brakes.failures
        if tool in polls:
            streak, limit = failures.alike, brakes.polls
        found = _comes(streak, limit, brakes.leeway)
        if found is not None:
            stops = found == "stop"
            yield Braked(brake="failing_tool", stops=stops, tool=tool, count=streak.count)


def _comes(streak: Streak, limit: int, leeway: int) -> Literal["tell", "stop"] | None:
    if streak.told is not None:
        return "stop" if streak.count - streak.told >= leeway else None
    return "tell" if streak.count >= limit else None
