"""What the ledger is told of a step."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remit.agent.recorded.folds import Brief
from remit.agent.recorded.steps import ModelAnswer
from remit.kernel.facts import AnyFact, Started, Stepped
from remit.kernel.paid import settlement, tokens
from remit.store.money import DEAREST
from remit.values import codec
from remit.values.messages import AssistantMessage
from remit.values.usage import Usage

COUNTS = st.integers(0, 2**40)


def step(value: object) -> Stepped:
    return Stepped(name="turn:0/think", value=value, at=0)


def answer(usage: Usage) -> Stepped:
    return step(ModelAnswer(message=AssistantMessage((), "m:one"), usage=usage))


@given(st.lists(COUNTS, min_size=6, max_size=6))
def test_the_tokens_of_a_row_are_told_in_order_and_shortly(counts: list[int]) -> None:
    names = ["input", "cache_read", "cache_write", "output", "reasoning", "cache_write_long"]
    fields = {f"{name}_tokens": count for name, count in zip(names, counts, strict=True)}
    told = codec.decode(tokens(Usage(**fields)), list[int])  # type: ignore[arg-type]  # counts

    assert [*told, *[0] * (6 - len(told))] == counts
    assert not told or told[-1]


@given(st.decimals(0, 10**6, allow_nan=False, places=12), st.booleans())
def test_a_cost_is_rounded_up_to_a_billionth(cost: Decimal, estimated: bool) -> None:
    found = settlement(answer(Usage(cost=cost, estimated=estimated)), None)

    assert found is not None
    assert 0 <= Decimal(found.nano) / 10**9 - cost < Decimal("1e-9")
    assert (found.name, found.estimated) == ("turn:0/think", estimated)


def test_a_cost_beyond_all_bounds_is_the_most_that_a_row_holds() -> None:
    found = settlement(answer(Usage(cost=Decimal("1e30"))), None)

    assert found is not None
    assert found.nano == DEAREST


def test_each_kind_of_call_is_told_with_its_model_its_purpose_and_who_made_it() -> None:
    brief = step(Brief(number=1, covers=2, text="x", model="m:two", usage=Usage()))
    found = [settlement(fact, "scout") for fact in (answer(Usage()), brief)]
    charges = [each.charge for each in found if each is not None and each.charge is not None]

    assert [(each.model, each.purpose, each.program) for each in charges] == [
        ("m:one", "turn", "scout"),
        ("m:two", "brief", "scout"),
    ]


@pytest.mark.parametrize("fact", [Started(name="x", at=0), step("a result"), step(None)])
def test_what_called_no_model_is_not_told(fact: AnyFact) -> None:
    assert settlement(fact, None) is None
