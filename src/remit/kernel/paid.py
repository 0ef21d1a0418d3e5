"""What steps cost, as the ledger is told in the transaction that records them."""

from __future__ import annotations

import msgspec

from remit.kernel.facts import AnyFact, Dated, Stepped
from remit.store.money import DEAREST, Charge, Settlement
from remit.values import codec
from remit.values.exact import to_nano
from remit.values.usage import Usage


class Bill(msgspec.Struct, frozen=True):
    """What a call of `model` used, and what for."""

    usage: Usage
    model: str
    purpose: str


class Paid(Dated, frozen=True, gc=False):
    """A step's value that tells of a model call."""

    @property
    def bill(self) -> Bill | None:
        """What the call used; None where it used nothing."""
        return None


def tokens(usage: Usage) -> bytes:
    """How many tokens of each kind, as a ledger row's body: a list in the order of the fields of
    `Usage`, without the noughts at its end. The row is kept for ever, hence its shortness."""
    counts = [
        usage.input_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
        usage.cache_write_long_tokens,
    ]
    while counts and not counts[-1]:
        counts.pop()
    return codec.encode(counts)


def settlement(fact: AnyFact, by: str | None) -> Settlement | None:
    """What the ledger is told of `fact`, if a model was called for it; `by` is the name of who
    called it, None for the run's own program."""
    if not isinstance(fact, Stepped) or not isinstance(fact.value, Paid):
        return None
    bill = fact.value.bill
    if bill is None:
        return None
    usage = bill.usage
    charge = Charge(model=bill.model, purpose=bill.purpose, body=tokens(usage), program=by)
    cost = 0 if usage.cost is None else min(to_nano(usage.cost), DEAREST)
    return Settlement(name=fact.name, nano=cost, charge=charge, estimated=usage.estimated)
