"""The demo's rules read messy messages: which orders, what is wished, and how much money."""

from __future__ import annotations

from decimal import Decimal

import pytest

from remit.cli.demo import amounts
from remit.cli.demo.reading import read

ALL = Decimal(-1)
"""Stands for all that is left on the order."""


def wishes(text: str) -> list[tuple[str, str]]:
    return [(one.order, one.wish) for one in read(text).orders]


def refunds(text: str) -> dict[str, Decimal]:
    """The sums of the refunds that are asked for, on orders of 100 euros each."""
    found = {}
    for one in read(text).orders:
        if one.wish == "refund":
            assert one.sum is not None
            found[one.order] = ALL if one.sum == amounts.Sum() else one.sum.of(Decimal(100))
    return found


@pytest.mark.parametrize(
    "text",
    [
        "A-1042",
        "order a1042 pls",
        "my order number is 1042",
        "order no. 1042?",
        "#1042",
        "A 1042",
        "a–1042",
        "A-1O42 with the letter O",
        "(A-1042)",
        "1042 never came",
        "oder 1042",
    ],
)
def test_an_orders_number_is_found_however_it_is_written(text: str) -> None:
    assert [one.order for one in read(text).orders] == ["A-1042"]


@pytest.mark.parametrize(
    "text",
    [
        "where is my parcel",
        "I ordered in 2024",
        "it cost 1250 euros",
        "a 10 and a 20",
        "call me on 0160-1234567",
        "",
    ],
)
def test_other_numbers_are_no_orders(text: str) -> None:
    assert read(text).orders == ()


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("refund 150 euros on A-1049", "150"),
        ("refund 12,50 € for A-1", "12.50"),
        ("€20 back please", "20"),
        ("EUR 19.90 back", "19.90"),
        ("20 bucks back", "20"),
        ("1.250,00 euros back", "1250.00"),
        ("1,250.00 euros back", "1250.00"),
        ("20,- euro back", "20"),
        ("twenty five euros back", "25"),
        ("a hundred and fifty euros back", "150"),
        ("refund me 30", "30"),
        ("30 back or else", "30"),
        ("I paid 89 euros and want 12 euros back", "12"),
        ("it was worth 60 euros; 15 euros back would do", "15"),
        ("one box, (38.20)", "38.20"),
    ],
)
def test_a_sum_is_read_as_people_write_it(text: str, amount: str) -> None:
    assert amounts.wanted(text) == amounts.Sum(euros=Decimal(amount))


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("half of it back", "0.5"),
        ("20% back", "0.2"),
        ("the full amount", "1"),
        ("all of it", "1"),
        ("everything back", "1"),
    ],
)
def test_a_share_is_read_as_people_write_it(text: str, share: str) -> None:
    assert amounts.wanted(text) == amounts.Sum(share=Decimal(share))


@pytest.mark.parametrize("text", ["my money back", "I paid 20 euros", "2 weeks ago", "no sum"])
def test_no_sum_is_made_up(text: str) -> None:
    assert amounts.wanted(text) is None


@pytest.mark.parametrize(
    ("text", "sums"),
    [
        ("pls refund A-1051", {"A-1051": ALL}),
        ("refnd A-1051 full amout", {"A-1051": ALL}),
        ("I WANT MY MONEY BACK A-1046!!!", {"A-1046": ALL}),
        ("could you give me back half the money on A-1058", {"A-1058": Decimal(50)}),
        ("A-1046 has holes refund me", {"A-1046": ALL}),
        ("refund A-1045 20 and A-1046 30", {"A-1045": Decimal(20), "A-1046": Decimal(30)}),
        ("Refund 20 euros on A-1042 and tell me where A-1050 is", {"A-1042": Decimal(20)}),
        ("A-1042: 20 euros back, A-1050: where is it", {"A-1042": Decimal(20)}),
        ("#1053 & #1054, both damaged, everything back", {"A-1053": ALL, "A-1054": ALL}),
        ("A-1053 torn. A-1054 bent. refund both", {"A-1053": ALL, "A-1054": ALL}),
        ("1053 and 1054. for 1053 I want 5 euros back", {"A-1053": Decimal(5)}),
        (
            "A-1042 and A-1043: 20 euros back for each",
            {"A-1042": Decimal(20), "A-1043": Decimal(20)},
        ),
    ],
)
def test_a_refund_is_read_with_its_order_and_sum(text: str, sums: dict[str, Decimal]) -> None:
    assert refunds(text) == sums


@pytest.mark.parametrize(
    "text",
    [
        "i dont want a refund for A-1050, just tell me where it is",
        "no refund needed for A-1052",
        "where's my refund for A-1055?",
        "when will i get the refund on A-1055",
        "hey A 1042 i still havent got my refund!!",
        "did you refund A-1055 already?",
        "why was I refunded only 10 euros on A-1046?",
        "A-1042 and A-1043 came broken, I want 20 euros back",
        "A-1045 is broken",
        "get back to me about A-1045",
        "I'd like to return A-1052",
    ],
)
def test_money_is_not_given_to_who_did_not_clearly_ask(text: str) -> None:
    assert refunds(text) == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("where is A-1042", [("A-1042", "where")]),
        ("A-1057 change my address", [("A-1057", "change")]),
        ("A-1045 came broken", [("A-1045", "complaint")]),
        ("where's my refund for A-1055", [("A-1055", "refund_status")]),
        ("I need an invoice for A-1044", [("A-1044", "nothing")]),
        ("A-1042 and A-1043: 20 euros back", [("A-1042", "which_sum"), ("A-1043", "which_sum")]),
    ],
)
def test_other_wishes_are_told_apart(text: str, found: list[tuple[str, str]]) -> None:
    assert wishes(text) == found
