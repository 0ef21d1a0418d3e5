"""What goes into a record comes out the same, or is refused."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, RootModel

from remit.flow.shape import PLAIN, MisfitError, digest, shape_of

PLAIN_DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.just("a lone \ud800"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


class Color(Enum):
    RED = "red"


class Item(BaseModel):
    at: datetime
    price: Decimal
    color: Color


@dataclass
class Pair:
    left: UUID
    right: timedelta


@given(value=PLAIN_DATA)
def test_plain_data_comes_out_as_it_went_in(value: Any) -> None:
    kept = PLAIN.keep(value)

    assert repr(PLAIN.load(kept)) == repr(value)


@pytest.mark.parametrize(
    "value",
    [{1, 2}, (1, {2}), Color.RED, datetime.now(UTC), Decimal(1), b"x", math.inf, {1: 2}, object()],
    ids=lambda value: type(value).__name__,
)
def test_what_would_not_stay_what_it_is_is_no_plain_data(value: Any) -> None:
    with pytest.raises(MisfitError):
        PLAIN.keep(value)


def test_what_holds_itself_is_no_plain_data() -> None:
    value: list[Any] = []
    value.append(value)

    with pytest.raises(MisfitError, match="holds itself"):
        PLAIN.keep(value)


def test_who_changes_a_loaded_value_changes_no_record() -> None:
    kept = PLAIN.keep({"a": [1]})
    PLAIN.load(kept)["a"].append(2)

    assert PLAIN.load(kept) == {"a": [1]}


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (Item, Item(at=datetime(2026, 1, 2, tzinfo=UTC), price=Decimal("1.10"), color=Color.RED)),
        (Pair, Pair(UUID(int=3), timedelta(seconds=1.5))),
        (tuple[int, str], (1, "a")),
        (set[int], {1, 2}),
        (dict[int, Decimal], {1: Decimal("0.10")}),
        (bytes, b"abc"),
        (int | None, None),
        (list[Item], []),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_of_a_type_comes_out_equal(type_: Any, value: Any) -> None:
    shape = shape_of(type_, "it")

    assert shape.load(shape.keep(value)) == value


@pytest.mark.parametrize(
    ("type_", "value"),
    [(int, "many"), (float, math.nan), (Item, {}), (str, "\ud800")],
    ids=["int", "float", "model", "str"],
)
def test_a_value_that_does_not_fit_its_type_is_told(type_: Any, value: Any) -> None:
    with pytest.raises(MisfitError, match="it does not fit"):
        shape_of(type_, "it").keep(value)


def test_a_digest_tells_arguments_apart_whatever_the_order_of_their_keys() -> None:
    assert digest([{"a": 1, "b": 2}]) == digest([{"b": 2, "a": 1}])
    assert digest([1]) != digest([1.0]) != digest(["1"])
    assert digest([[1], 2]) != digest([1, [2]])
    assert digest([]) is digest([object()]) is digest([print, open]) is None


class Bag(BaseModel):
    tags: set[str]
    inner: dict[str, frozenset[str]] = Field(default={}, alias="in")
    amount: int = 100


class Bags(RootModel[list[set[str]]]):
    pass


@dataclass
class Case:
    bag: Bag
    when: UUID


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Bag(tags={"a"}), Bag(tags={"a"}, amount=999)),
        (Case(Bag(tags=set()), UUID(int=1)), Case(Bag(tags=set()), UUID(int=2))),
        (Decimal(1), Decimal(2)),
        ({1, 2}, {1, 3}),
        ([Color.RED], []),
        (b"\xff", b"\xfe"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_digest_tells_what_pydantic_can_serialise(one: Any, other: Any) -> None:
    assert digest([one]) == digest([deepcopy(one)])
    assert digest([one]) != digest([other])
    assert digest([print, one]) != digest([print, other])


def test_a_digest_uses_nothing_up() -> None:
    once = iter([1, 2])
    holds: list[Any] = [{"deep": once}]
    holds.append(holds)

    assert digest([once]) is digest([holds]) is None
    assert list(once) == [1, 2]


NAMES = [f"name {number}" for number in range(12)]
SHOWN = """
import sys
from tests.unit.flow.test_shape import NAMES, Bag, Bags, digest, shape_of
names = set(NAMES)
bag = Bag(tags=names, **{"in": {"x": frozenset(names)}})
nested = frozenset(frozenset(names - {name}) for name in names)
print(shape_of(set[str], "it").keep(names), shape_of(Bag, "it").keep(bag))
print(shape_of(Bags, "it").keep(Bags([names])), shape_of(set[frozenset[str]], "it").keep(nested))
print(digest([names, bag, Bags([names]), nested, {"deep": [bag]}]))
"""


@pytest.mark.slow
def test_sets_have_one_order_in_every_process() -> None:
    def shown(seed: int) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
        done = subprocess.run(
            [sys.executable, "-c", SHOWN],
            cwd=Path(__file__).parents[3],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert len({shown(seed) for seed in (1, 2, 3)}) == 1
