"""The demo's order database: one refund for a key, and a true count of the attempts."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

from remit.cli.demo.orders import OrderBook, RefusedRefund


@pytest.fixture
def orders(tmp_path: Path) -> OrderBook:
    book = OrderBook(tmp_path / "orders.db")
    book.make()
    return book


def test_a_customer_sees_no_orders_but_their_own(orders: OrderBook) -> None:
    mine = orders.find("A-1045", "u_105")

    assert mine is not None
    assert (mine.total, mine.refunded) == (Decimal("60.00"), Decimal("0.00"))
    assert orders.find("A-1045", "u_101") is None
    with pytest.raises(RefusedRefund, match="no order"):
        orders.refund("k", "A-1045", "u_101", Decimal(1))


def test_one_key_is_one_refund_however_often_it_is_tried(orders: OrderBook) -> None:
    for _ in range(3):
        assert orders.refund("k", "A-1045", "u_105", Decimal(20)) == Decimal("20.00")

    (found,) = orders.counts()
    assert (found.key, found.amount, found.refunds, found.entered) == ("k", Decimal(20), 1, 3)
    assert orders.entries() == 3


def test_tries_at_once_with_one_key_are_one_refund(orders: OrderBook) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: orders.refund("k", "A-1045", "u_105", Decimal(20)), range(24)))

    (found,) = orders.counts()
    assert (found.refunds, found.entered) == (1, 24)


def test_two_keys_are_two_refunds_up_to_the_total(orders: OrderBook) -> None:
    orders.refund("k1", "A-1045", "u_105", Decimal(40))
    orders.refund("k2", "A-1045", "u_105", Decimal(20))

    with pytest.raises(RefusedRefund, match=r"at most 0\.00"):
        orders.refund("k3", "A-1045", "u_105", Decimal("0.01"))
    assert [one.key for one in orders.counts()] == ["k1", "k2"]
    assert orders.entries() == 3


@pytest.mark.parametrize("amount", ["0", "-5", "60.01"])
def test_an_amount_that_the_order_cannot_bear_is_refused(orders: OrderBook, amount: str) -> None:
    with pytest.raises(RefusedRefund, match=r"at most 60\.00"):
        orders.refund("k", "A-1045", "u_105", Decimal(amount))
    assert orders.counts() == []


def test_a_reply_is_sent_once_for_a_key(orders: OrderBook) -> None:
    for _ in range(2):
        orders.reply("k", "u_105", "Hello.")

    with sqlite3.connect(orders.path) as db:
        assert db.execute("SELECT count(*) FROM replies").fetchone() == (1,)
    db.close()
