"""What the steps of an agent's run gave, as they are recorded."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.agent.recorded.failed import Failed
from remit.agent.recorded.folds import Brief, Cleared
from remit.agent.recorded.verdicts import Braked, Closing, Judged, Noted, Prepared, Verdict
from remit.kernel.facts import Stepped
from remit.kernel.paid import Bill, Paid
from remit.models.request import Stop
from remit.values.messages import AssistantMessage, ToolMessage
from remit.values.usage import Usage


class ModelAnswer(Paid, frozen=True, omit_defaults=True, tag="answer", tag_field="t", gc=False):
    """What a model's step gave: its message, what it used, and why it stopped. One that was `cut`
    repeated itself, and was not read to its end; one that is `late` was ended by the run's time.

    `malformed` is the text of an answer that is none: a call written as text or, where `misfit`
    says what to mend, no value of the agent's type. Its message is then empty.
    """

    message: AssistantMessage
    usage: Usage
    stop: Stop = "end"
    cut: bool = False
    late: bool = False
    malformed: str | None = None
    misfit: str | None = None

    @property
    def bill(self) -> Bill:
        return Bill(self.usage, self.message.model, "turn")

    @property
    def format(self) -> int:
        return 2 if self.cut or self.late or self.malformed is not None else 1


Attempted: Any = ModelAnswer | Failed
"""What a model's step gave."""
Fold = Cleared | Brief
StepValue = (
    ModelAnswer
    | ToolMessage
    | Braked
    | Prepared
    | Verdict
    | Noted
    | Judged
    | Closing
    | Fold
    | Failed
)
_KINDS: dict[str, Any] = {
    "answer": ModelAnswer,
    "tool": ToolMessage,
    "braked": Braked,
    "prepared": Prepared,
    "verdict": Verdict,
    "noted": Noted,
    "judged": Judged,
    "closing": Closing,
    "fold": Cleared,
    "brief": Brief,
    "failed": Failed,
}
_LIVE = tuple(_KINDS.values())


def step_value(fact: Stepped) -> StepValue | None:
    """What an agent's step gave, live or decoded; None for what this version cannot read."""
    value = fact.value
    if isinstance(value, _LIVE):
        return value  # type: ignore[no-any-return]  # these are the kinds of a step's value
    # One kind at a time: a union's table would be built anew for each value.
    tag = value.get("t") if isinstance(value, dict) else None
    kind = _KINDS.get(tag) if isinstance(tag, str) else None
    if kind is None:
        return None
    try:
        found: StepValue = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None
    return found
