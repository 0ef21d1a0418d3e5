"""What a run tells while it goes on."""

from remit.values.events import (
    BrakeEvent,
    DoneEvent,
    Event,
    FactEvent,
    FoldEvent,
    PassingEvent,
    PendingEvent,
    ReasoningEvent,
    SubagentDeltaEvent,
    SubagentEvent,
    TextEvent,
    ToolCallEvent,
    ToolProgressEvent,
    ToolResultEvent,
    TurnEvent,
    UsageEvent,
)

__all__ = [
    "BrakeEvent",
    "DoneEvent",
    "Event",
    "FactEvent",
    "FoldEvent",
    "PassingEvent",
    "PendingEvent",
    "ReasoningEvent",
    "SubagentDeltaEvent",
    "SubagentEvent",
    "TextEvent",
    "ToolCallEvent",
    "ToolProgressEvent",
    "ToolResultEvent",
    "TurnEvent",
    "UsageEvent",
]
