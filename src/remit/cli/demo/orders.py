"""A small shop's order database, in SQLite: what the desk's tools look into and change."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from importlib import resources
from pathlib import Path

from remit.store import sql

SQL = sql.load("remit.cli.demo", "orders.sql")
ORDERS = resources.files("remit.cli.demo").joinpath("orders.jsonl")


@dataclass(frozen=True, slots=True)
class Order:
    """One order, as its customer may see it; amounts are in euros."""

    number: str
    items: str
    total: Decimal
    refunded: Decimal
    status: str
    tracking: str | None


@dataclass(frozen=True, slots=True)
class Count:
    """One call's refund: how many rows it made and how often the tool's body was entered."""

    key: str
    order: str
    amount: Decimal
    refunds: int
    entered: int


class RefusedRefund(Exception):
    """The shop makes no such refund; the text says why."""


class OrderBook:
    """The orders in the file at `path`. Each call is a connection and a transaction of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def make(self) -> None:
        """Make the database with the shop's orders, those of `orders.jsonl`."""
        with self._open() as db:
            db.executescript(SQL["make"])
            for line in ORDERS.read_text("utf-8").splitlines():
                order = json.loads(line)
                cents = _cents(Decimal(order.pop("total")))
                db.execute(SQL["put"], {**order, "cents": cents})

    def find(self, number: str, customer: str) -> Order | None:
        """The customer's own order of that number."""
        with self._open() as db:
            row = _find(db, number, customer)
        if row is None:
            return None
        return Order(
            number=row["number"],
            items=row["items"],
            total=_euros(row["cents"]),
            refunded=_euros(row["refunded"]),
            status=row["status"],
            tracking=row["tracking"],
        )

    def refund(self, key: str, number: str, customer: str, amount: Decimal) -> Decimal:
        """Refund `amount` once, however often it is called with one `key`; what was refunded.

        Every entry is counted first, in a commit of its own. Raises RefusedRefund.
        """
        with self._open() as db:
            db.execute(SQL["enter"], {"key": key, "process": os.getpid()})
            db.execute("BEGIN IMMEDIATE")
            done = db.execute(SQL["refund_by_key"], {"key": key}).fetchone()
            if done is None:
                cents = _checked(_find(db, number, customer), number, amount)
                db.execute(SQL["refund"], {"key": key, "number": number, "cents": cents})
            db.execute("COMMIT")
        return amount if done is None else _euros(done["cents"])

    def reply(self, key: str, customer: str, text: str) -> None:
        """Send a reply, once for each `key`."""
        with self._open() as db:
            db.execute(SQL["reply"], {"key": key, "customer": customer, "text": text})

    def counts(self) -> list[Count]:
        """Every refund, the oldest first."""
        with self._open() as db:
            return [
                Count(
                    row["key"], row["number"], _euros(row["cents"]), row["refunds"], row["entered"]
                )
                for row in db.execute(SQL["counts"])
            ]

    def entries(self) -> int:
        """How often the body of `refund` was entered in all."""
        with self._open() as db:
            (entries,) = db.execute(SQL["entries"]).fetchone()
        return int(entries)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=20, isolation_level=None)) as db:
            db.row_factory = sqlite3.Row
            yield db


def _find(db: sqlite3.Connection, number: str, customer: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = db.execute(
        SQL["find"], {"number": number, "customer": customer}
    ).fetchone()
    return row


def _checked(order: sqlite3.Row | None, number: str, amount: Decimal) -> int:
    if order is None:
        raise RefusedRefund(f"This customer has no order {number}.")
    left = order["cents"] - order["refunded"]
    cents = _cents(amount)
    if not 0 < cents <= left:
        raise RefusedRefund(f"On {number} at most {_euros(left)} euros can be refunded.")
    return cents


def _cents(amount: Decimal) -> int:
    return int((amount * 100).to_integral_value())


def _euros(cents: int) -> Decimal:
    return (Decimal(cents) / 100).quantize(Decimal("0.01"))
