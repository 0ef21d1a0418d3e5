"""What a run gives back, and what it waits with."""

from remit.values.results import (
    ENDED,
    Finish,
    Pending,
    Question,
    Result,
    Run,
    Status,
    Turn,
)

__all__ = ["ENDED", "Finish", "Pending", "Question", "Result", "Run", "Status", "Turn"]
