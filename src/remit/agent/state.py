"""What is known of an agent's run, derived from its facts and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from remit.agent.recorded.failed import Failed, Failures
from remit.agent.recorded.faults import Faults
from remit.agent.recorded.folds import Brief, Cleared, Folds
from remit.agent.recorded.steps import ModelAnswer, StepValue, step_value
from remit.agent.recorded.streaks import Streaks
from remit.agent.recorded.unmade import cut_off, not_run, why_not
from remit.agent.recorded.verdicts import Braked, Closing, Judged, Noted, Prepared, Told
from remit.agent.resuming import open_calls
from remit.kernel.facts import (
    Answered,
    AnyFact,
    Asked,
    Finished,
    Paused,
    Received,
    Stepped,
)
from remit.kernel.nested import inside
from remit.models.request import Stop
from remit.values import codec
from remit.values.content import Call, Text
from remit.values.messages import AssistantMessage, Message, ToolMessage, UserMessage
from remit.values.results import Finish, Pending, Result, Turn
from remit.values.usage import Usage

INSIDE = "/agent/"
"""What stands in the names of steps between that of a call and those of the agent that works in
it."""


class AgentInput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent's run is asked: the input of its first fact.

    `fork` is the run that it builds on, which may be all that it is asked. `model` takes the
    place of the agent's own. `history` is what was said before; without a message the run goes on
    where it ends.
    """

    message: UserMessage | None = None
    fork: str | None = None
    model: str | None = None
    history: tuple[Message, ...] = ()


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person decided about one call, bound to the arguments that they saw by `digest`."""

    verdict: Literal["approve", "deny", "edit"]
    digest: str
    reason: str | None = None
    arguments: dict[str, Any] | None = None


class AgentState:
    """A run's conversation, turns and sums. `advance` is the only way that it changes."""

    cut = False
    """Whether the newest answer was cut, since it repeated itself."""
    late = False
    """Whether the newest answer was ended by the run's time."""
    braked: int | None = None
    """The turn that was braked last."""
    stuck: Braked | None = None
    """What stops the run."""
    warning: Braked | None = None
    """What the model is to be told of in its next turn."""
    closing: tuple[int, Finish] | None = None
    """The turn that is the last, and the bound that another would meet."""
    raised: Exception | None = None
    """What a failed model call raised in this process, where it ends the run."""
    preparation: tuple[int, Prepared] | None = None
    """The newest turn that was prepared, and how."""

    def __init__(self, run_id: str, path: str = "") -> None:
        self.run_id = run_id
        self._path = path
        self.history: list[Message] = []
        """What was said before, where the run was given that."""
        self.messages: list[Message] = []
        """What complete turns added; a turn is complete when each of its calls has a result."""
        self.turns: list[Turn] = []
        self.usage = Usage()
        self.folds = Folds()
        self.failures = Failures()
        """How the model call failed so far that is to be made."""
        self.stop: Stop = "end"
        self.unanswered = True
        """Whether the model has not seen all messages yet."""
        self.stands = False
        """Whether the newest turn is an answer that nobody has sent back."""
        self.faults = Faults()
        """The newest answers that were none."""
        self.open_calls: tuple[Call, ...] = ()
        self.results: dict[str, ToolMessage] = {}
        self.calls_asked = 0
        self.asks: dict[str, Pending] = {}
        """The calls that wait for a decision, by the key of their question."""
        self.finished: Finished | None = None
        self.closed: tuple[tuple[Call, ToolMessage], ...] = ()
        """The calls that the end left without a result of their own, and what they are given."""
        self.streaks = Streaks()
        """What it does again and again."""
        self.told = Told()
        """What the app has said of its turns and answers."""
        self._thinking_ms = self._acting_ms = self._known = 0
        self._heard: list[UserMessage] = []
        self._first: Asked | None = None
        """For whom the run is."""
        self._working: dict[str, AgentState] = {}
        """What is known of the agents that work in the newest turn's calls, by their paths."""

    @property
    def seconds(self) -> float:
        """Time at work: each model call's, and each turn's longest tool's."""
        return self.milliseconds / 1000

    @property
    def milliseconds(self) -> int:
        """`seconds`, as whole milliseconds."""
        return self._thinking_ms + self._acting_ms

    @property
    def pending(self) -> tuple[Pending, ...]:
        """The calls that wait for a decision, in call order."""
        return tuple(self.asks.values())

    def prepared(self, turn: int) -> Prepared | None:
        """How `turn` was prepared, if it is the newest that was."""
        found = self.preparation
        return found[1] if found is not None and found[0] == turn else None

    @property
    def text(self) -> str:
        """The newest turn's text."""
        return self.turns[-1].text if self.turns else ""

    def catch_up(self, facts: Sequence[tuple[int, AnyFact]]) -> None:
        """Take those of a run's `facts` that are not known here."""
        for seq, fact in facts[self._known :]:
            self.advance(seq, fact)

    def advance(self, seq: int, fact: AnyFact) -> None:
        """Take the next fact."""
        self._known += 1
        match fact:
            case Stepped():
                value = step_value(fact)
                if INSIDE in fact.name:
                    self._inside(fact, value)
                elif value is not None:
                    self._step(fact, value)
            case Asked():
                self._first = msgspec.structs.replace(fact, input=None)
                self._ask(codec.convert(fact.input, AgentInput))
            case Received():
                self._hear(codec.convert(fact.value, UserMessage))
            case Paused(asks=asks):
                self.asks = {ask.key: codec.convert(ask.question, Pending) for ask in asks}
            case Answered():
                self._answer(fact)
            case Finished():
                waiting = {asked.id for asked in self.pending if not asked.doubt}
                self.asks = {}
                # A run is stopped before it acts.
                unbegun, why = self.stuck is not None and not self.results, why_not(fact)
                left = [call for call in self.open_calls if call.id not in self.results]
                self.closed = tuple(
                    (call, (not_run if unbegun or call.id in waiting else cut_off)(call, why))
                    for call in left
                )
                self.results.update((call.id, result) for call, result in self.closed)
                self._complete_turn()
                self.finished = fact

    def result(self) -> Result | None:
        """The run's result; None while it goes on, and for one that an error ended."""
        end = self.finished
        finish = end.finish if end else "approval" if self.asks else None
        if finish is None:
            return None
        return Result(
            run_id=self.run_id,
            finish=finish,
            reason=end.reason if end else None,
            text=self.text,
            output=end.output if end else None,
            messages=self.all_messages(),
            turns=tuple(self.turns),
            usage=self.usage,
            pending=self.pending,
        )

    def all_messages(self) -> tuple[Message, ...]:
        """Every message so far, results of an incomplete turn included, in call order."""
        partly = (self.results[call.id] for call in self.open_calls if call.id in self.results)
        return (*self.messages, *partly)

    def _ask(self, asked: AgentInput) -> None:
        self.history.extend(asked.history)
        if asked.message is not None:
            self.messages.append(asked.message)
        else:
            self.open_calls = open_calls(asked.history)
            self.calls_asked = len(self.open_calls)

    def _inside(self, fact: Stepped, value: StepValue | None) -> None:
        """Take what an agent did that works in a call: what it used and its time count here."""
        path = path_of(fact)
        inner = self._working.get(path)
        if inner is None:
            inner = self._working[path] = AgentState(self.run_id, self._path + path)
        own = None if self._first is None else inside(self._first, path, fact)
        if own is not None:
            inner.advance(0, own)
        if isinstance(value, ModelAnswer | Brief | Failed) and value.usage is not None:
            self.usage = self.usage + value.usage
        self._acting_ms = max(self._acting_ms, inner.milliseconds)

    def _step(self, fact: Stepped, value: StepValue) -> None:
        if isinstance(value, ToolMessage):
            self.results[value.call_id] = value
            self._acting_ms = max(self._acting_ms, fact.took)
            if len(self.results) == len(self.open_calls):
                self._complete_turn()
        elif isinstance(value, ModelAnswer):
            self._answered(fact, value)
        elif isinstance(value, Braked):
            self._brake(value)
        elif isinstance(value, Cleared | Brief):
            self._fold(fact, value)
        elif isinstance(value, Prepared):
            self._prepare(value)
        elif isinstance(value, Noted | Judged):
            self._judge(value)
        elif isinstance(value, Closing):
            self.closing = (len(self.turns), value.finish)
            self._prepare(Prepared())
        elif isinstance(value, Failed):
            self._fail(fact, value)

    def _answered(self, fact: Stepped, value: ModelAnswer) -> None:
        message = value.message
        text = message.text
        if text:
            self.streaks.say(text)
        self.cut, self.late, self.warning = value.cut, value.late, None
        self.failures.calls = ()
        self.usage = self.usage + value.usage
        self._thinking_ms += fact.took
        self.stop = value.stop
        # A refusal is final, whatever it was written as, and so is the end of the time.
        ends = value.late or value.stop == "refusal"
        none = value.malformed is not None and not ends
        self.unanswered = none or (value.stop == "pause" and not message.calls)
        if value.malformed is not None and none:
            self.faults.add(value.malformed, value.misfit)
        elif self.faults.raw is not None:
            self.faults.clear()
        self.open_calls = calls = message.calls
        self.calls_asked += len(calls)
        self.stands = not (calls or self.unanswered)
        self.turns.append(
            Turn(
                number=len(self.turns),
                model=message.model,
                usage=value.usage,
                usage_id=f"{self.run_id}/{self._path}{fact.name}",
                calls=calls,
                text=text,
            )
        )
        if message.content:
            self.messages.append(message)

    def _prepare(self, prepared: Prepared) -> None:
        turn = len(self.turns)
        if self.closing is not None and self.closing[0] == turn:
            prepared = msgspec.structs.replace(prepared, tools=(), tool_choice=None)
        self.preparation = (turn, prepared)

    def _judge(self, judged: Noted | Judged) -> None:
        if isinstance(judged, Noted):
            self.told.noted = len(self.turns) - 1
            return
        self.told.judged = len(self.turns) - 1
        if judged.reason is None:
            return
        self.told.sent_back += 1
        self.stands = False
        self.told.invalid = judged.last
        if not judged.last:
            self.messages.append(UserMessage((Text(judged.reason),)))
            self.unanswered = True

    def _brake(self, braked: Braked) -> None:
        self.braked = len(self.turns) - 1
        if braked.stops:
            self.stuck = braked
        else:
            self.warning = braked
            self.streaks.tell(braked.tool)

    def _fold(self, fact: Stepped, value: Cleared | Brief) -> None:
        self.folds.add(value, len(self.turns))
        self._thinking_ms += fact.took
        if isinstance(value, Brief):
            self.failures.calls = ()
            self.usage = self.usage + value.usage

    def _fail(self, fact: Stepped, failed: Failed) -> None:
        self.failures.add(failed, fact.at)
        # Nobody is waited for: the time until the next attempt is the run's own.
        self._thinking_ms += fact.took + round(failed.wait * 1000)
        if failed.usage is not None:
            self.usage = self.usage + failed.usage

    def _complete_turn(self) -> None:
        results = [self.results[call.id] for call in self.open_calls]
        self.messages.extend(results)
        if results:
            self.streaks.act(self.open_calls, results)
        self.open_calls, self.results, self._working = (), {}, {}
        self._thinking_ms += self._acting_ms
        self._acting_ms = 0
        self.unanswered = True
        self.messages.extend(self._heard)
        self._heard = []

    def _hear(self, message: UserMessage) -> None:
        """Take a message that was sent meanwhile; it stands behind the results of open calls."""
        self.streaks.hear()
        if self.open_calls:
            self._heard.append(message)
        else:
            self.messages.append(message)
            self.unanswered = True

    def _answer(self, fact: Answered) -> None:
        decided = self.asks.pop(fact.key, None)
        decision = codec.convert(fact.value, Decision)
        if decided is None or decided.doubt or decision.digest != decided.digest:
            return
        if decision.verdict == "edit" and decision.arguments is not None:
            self._edit(decided.id, decision.arguments)

    def _edit(self, call_id: str, arguments: dict[str, Any]) -> None:
        """Put the arguments that a person chose where the model, and everyone, will read them."""

        def edited(call: Call) -> Call:
            if call.id != call_id:
                return call
            # What its maker signed is not what stands there.
            return msgspec.structs.replace(call, arguments=arguments, signature=None)

        self.open_calls = tuple(edited(call) for call in self.open_calls)
        if self.turns:
            self.turns[-1] = msgspec.structs.replace(self.turns[-1], calls=self.open_calls)
        where = self.messages or self.history
        at = max(at for at, one in enumerate(where) if isinstance(one, AssistantMessage))
        last = where[at]
        assert isinstance(last, AssistantMessage)
        content = tuple(edited(part) if isinstance(part, Call) else part for part in last.content)
        where[at] = msgspec.structs.replace(last, content=content)


def derive(run_id: str, facts: Iterable[tuple[int, AnyFact]], path: str = "") -> AgentState:
    """The state that `facts`, with their sequence numbers, lead to; `path` is where in the run
    the agent works."""
    state = AgentState(run_id, path)
    for seq, fact in facts:
        state.advance(seq, fact)
    return state


def path_of(step: Stepped) -> str:
    """The path of the agent that made the `step` inside a call."""
    return step.name[: step.name.index(INSIDE) + len(INSIDE)]


def conversation(run_id: str, facts: Iterable[AnyFact]) -> Sequence[Message]:
    """What an ended run added to its thread, and what it began with."""
    state = derive(run_id, enumerate(facts, 1))
    return [*state.history, *state.messages]
