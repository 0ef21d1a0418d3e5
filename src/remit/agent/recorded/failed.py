"""Model calls that failed, each a step's value: a fact like any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from remit.kernel.paid import Bill, Paid
from remit.models.failure import Why
from remit.values.errors import ConnectionFailedError, ProviderError
from remit.values.usage import Usage


class Failed(
    Paid, frozen=True, kw_only=True, omit_defaults=True, tag="failed", tag_field="t", gc=False
):
    """Why a call of `model` gave no answer, and what follows.

    `usage` is what it may have charged, None for nothing. It is made again after `wait` seconds,
    or by the model `next`, which takes over; where it `ends` the run, that fails with its error.
    The call was for a turn, or for a brief. The other fields are those of the error; without
    `reached` it is a ConnectionFailedError.
    """

    model: str
    why: Why
    usage: Usage | None = None
    wait: float = 0.0
    next: str | None = None
    ends: bool = False
    reached: bool = True
    message: str = ""
    status: int | None = None
    code: str | None = None
    request_id: str | None = None
    retry_after: float | None = None
    may_cost: bool = False
    purpose: Literal["turn", "brief"] = "turn"

    @property
    def bill(self) -> Bill | None:
        return None if self.usage is None else Bill(self.usage, self.model, self.purpose)

    @property
    def format(self) -> int:
        return 2

    @property
    def error(self) -> ProviderError | ConnectionFailedError:
        """What was raised."""
        if not self.reached:
            return ConnectionFailedError(reason=self.message, may_cost=self.may_cost)
        return ProviderError(
            status=self.status,
            code=self.code,
            request_id=self.request_id,
            retry_after=self.retry_after,
            message=self.message,
            may_cost=self.may_cost,
        )


@dataclass(slots=True)
class Failures:
    """How the model call failed so far that is to be made: `calls`, the newest last. It may be
    made again at `rests_until`, in milliseconds since 1970; `successor` is the model that took
    over, for as long as the run goes on."""

    calls: tuple[Failed, ...] = ()
    rests_until: int = 0
    successor: str | None = None

    def add(self, failed: Failed, at: int) -> None:
        """Take the next one, recorded `at` this time."""
        self.calls = (*self.calls, failed)
        self.rests_until = at + round(failed.wait * 1000)
        self.successor = failed.next or self.successor


def error_fields(error: ProviderError | ConnectionFailedError) -> dict[str, object]:
    """The fields of a `Failed` that tell of `error`."""
    if isinstance(error, ConnectionFailedError):
        return {"reached": False, "message": error.reason, "may_cost": error.may_cost}
    return {
        "message": error.message,
        "status": error.status,
        "code": error.code,
        "request_id": error.request_id,
        "retry_after": error.retry_after,
        "may_cost": error.may_cost,
    }
