"""What a failed model call may have cost, and what may follow it."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from remit.values.errors import ConnectionFailedError, ProviderError
from remit.values.usage import Usage, sound

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
    "contract_spend_limit_reached": "spent",
    "enforced_spend_limit_reached": "spent",
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


class Failure(msgspec.Struct, frozen=True):
    """Why a model call failed; `after` is how many seconds the provider asks to be left alone.
    With `reported` it told that tokens were used, whatever it says beside that."""

    why: Why
    after: float | None = None
    reported: bool = False

    @property
    def charge(self) -> Charge:
        """What it may have cost."""
        charge = _SORTS[self.why].charge
        return "perhaps" if self.reported and charge == "nothing" else charge

    @property
    def may_cost(self) -> bool:
        """Whether tokens may have been charged."""
        return self.charge != "nothing"

    @property
    def repeats(self) -> bool:
        """Whether the same model may be asked again."""
        return _SORTS[self.why].repeats

    @property
    def passes_on(self) -> bool:
        """Whether another model may take over: it cost nothing, and was the model's own."""
        return _SORTS[self.why].passes_on and not self.may_cost


def classify(
    error: ProviderError | ConnectionFailedError, *, begun: bool, usage: Usage | None = None
) -> Failure:
    """The failure that `error` tells of; `begun` says whether a token of the answer had come, and
    `usage` is what had been reported of it. Of a ConnectionFailedError `may_cost` says whether
    the request went out; of a ProviderError it says nothing here."""
    reported = usage is not None and sound(usage).tokens > 0
    if begun:
        return Failure("broken", reported=reported)
    if isinstance(error, ConnectionFailedError):
        return Failure("unanswered" if error.may_cost else "unreached", reported=reported)
    return Failure(_why(error), error.retry_after, reported)


def _why(error: ProviderError) -> Why:
    status, code = error.status, error.code or ""
    if code in _SAYING:
        return _SAYING[code]
    if not error.answered:
        return "astray"
    if status is None or status < 400:
        return _REPORTED.get(code, "unanswered")
    return _STATUSES.get(status, "request" if status < 500 else "unanswered")
