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
from remit.values.spent import Spent

__all__ = ["ENDED", "Finish", "Pending", "Question", "Result", "Run", "Spent", "Status", "Turn"]
