"""What a failed model call may have cost, and what may follow it."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import msgspec

from remit.values.errors import ConnectionFailedError, ProviderError

Charge = Literal["nothing", "perhaps", "something"]
Why = Literal[
    "unreached",
    "busy",
    "spent",
    "unknown",
    "off",
    "request",
    "auth",
    "unanswered",
    "astray",
    "broken",
]
"""`unreached`: nothing was sent. `busy`: it took no work. `spent`: its own ceiling or its maker's.
`unknown`: there is no such model. `off`: its card says so. `request`: what was asked. `auth`: who
asked. `unanswered`: it was sent, and no token came. `astray`: what came is of no model.
`broken`: its answer had begun."""


class _Sort(NamedTuple):
    charge: Charge
    repeats: bool
    passes_on: bool


_SORTS: dict[Why, _Sort] = {
    "unreached": _Sort("nothing", repeats=True, passes_on=True),
    "busy": _Sort("nothing", repeats=True, passes_on=True),
    "spent": _Sort("nothing", repeats=False, passes_on=True),
    "unknown": _Sort("nothing", repeats=False, passes_on=True),
    "off": _Sort("nothing", repeats=False, passes_on=True),
    "request": _Sort("nothing", repeats=False, passes_on=False),
    "auth": _Sort("nothing", repeats=False, passes_on=False),
    "unanswered": _Sort("perhaps", repeats=True, passes_on=False),
    # Whatever stands before a model may have asked it; another time it says the same.
    "astray": _Sort("perhaps", repeats=False, passes_on=False),
    "broken": _Sort("something", repeats=False, passes_on=False),
}
_STATUSES: dict[int, Why] = {
    401: "auth",
    402: "spent",
    403: "auth",
    404: "unknown",
    407: "auth",
    408: "unanswered",
    410: "unknown",
    429: "busy",
    501: "request",
    503: "busy",
    505: "request",
    529: "busy",
}
_SAYING: dict[str, Why] = {
    "billing_error": "spent",
    "billing_hard_limit_reached": "spent",
    "insufficient_quota": "spent",
    "model_decommissioned": "unknown",
    "model_not_found": "unknown",
}
"""Codes that say more than the status that they come with."""
_REPORTED: dict[str, Why] = {
    "authentication_error": "auth",
    "invalid_request_error": "request",
    "overloaded_error": "busy",
    "permission_error": "auth",
    "rate_limit_error": "busy",
    "rate_limit_exceeded": "busy",
}
"""Codes that stand for the status of an answer that had begun with 200."""
_SPENT = re.compile(r"credit balance is too low|specified API usage limits")
"""What Anthropic says of a spent ceiling in a plain 400."""


class Failure(msgspec.Struct, frozen=True):
    """Why a model call failed; `after` is how many seconds the provider asks to be left alone."""

    why: Why
    after: float | None = None

    @property
    def charge(self) -> Charge:
        """What it may have cost."""
        return _SORTS[self.why].charge

    @property
    def repeats(self) -> bool:
        """Whether the same model may be asked again."""
        return _SORTS[self.why].repeats

    @property
    def passes_on(self) -> bool:
        """Whether another model may take over: it cost nothing, and was the model's own."""
        return _SORTS[self.why].passes_on


def classify(error: ProviderError | ConnectionFailedError, *, begun: bool) -> Failure:
    """The failure that `error` tells of; `begun` says whether a token of the answer had come."""
    if begun:
        return Failure("broken")
    if isinstance(error, ConnectionFailedError):
        return Failure("unanswered" if error.may_cost else "unreached")
    return Failure(_why(error), error.retry_after)


def _why(error: ProviderError) -> Why:
    status, code = error.status, error.code or ""
    if code in _SAYING:
        return _SAYING[code]
    if status == 400 and _SPENT.search(error.message):
        return "spent"
    if not error.answered:
        return "astray"
    if status is None or status < 400:
        return _REPORTED.get(code, "unanswered")
    return _STATUSES.get(status, "request" if status < 500 else "unanswered")
