"""What a model call used, as far as its model told, and estimated beyond that."""

from __future__ import annotations

import msgspec

from remit.agent.fold.measure import request_tokens, tokens
from remit.models.assemble import Assembly
from remit.models.protocol import Model
from remit.models.request import ModelRequest
from remit.values.usage import Usage, sound


def used(request: ModelRequest, assembly: Assembly, model: Model, cut: bool) -> Usage:
    """What the answer used, priced. One that was cut has told no more than a part of it."""
    told = None if assembly.usage is None else sound(assembly.usage)
    if told is not None and not cut:
        return _priced(told, model)
    # A token for every four bytes, so that a budget of cost or tokens bounds such a model, too.
    return _at_least(told, tokens(assembly.parts), request, model)


def most(request: ModelRequest, assembly: Assembly, model: Model) -> Usage:
    """The most that a call can have used whose answer nobody saw, in tokens and priced."""
    return _at_least(assembly.usage, request.max_output, request, model)


def _at_least(told: Usage | None, output: int, request: ModelRequest, model: Model) -> Usage:
    """What was `told`, raised to what `request` reads and to `output` tokens, priced."""
    told = Usage() if told is None else sound(told)
    estimate = msgspec.structs.replace(
        told,
        input_tokens=max(told.input_tokens, request_tokens(request, model.card)),
        output_tokens=max(told.output_tokens, output),
        estimated=True,
    )
    return _priced(estimate, model)


def _priced(usage: Usage, model: Model) -> Usage:
    pricing = model.card.pricing
    if pricing is None:
        # What a model says that it cost is in nobody's declared unit.
        return usage if usage.cost is None else msgspec.structs.replace(usage, cost=None)
    return msgspec.structs.replace(usage, cost=pricing.cost(usage))
