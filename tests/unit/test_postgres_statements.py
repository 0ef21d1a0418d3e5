"""Statements get numbers for names, and values travel in PostgreSQL's own forms."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.rows import TupleRow

from remit.store.postgres.statements import SQL, Queries, pack, statement, unpack
from remit.store.sqlite.statements import SQL as SQL_OF_SQLITE
from tests.fixtures_postgres import shared_address

NOW = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)


def test_each_name_becomes_a_number_with_its_type() -> None:
    made = statement("s", "SELECT :b::int, :a::text[], :b + 1, x::bigint FROM f(:a)")

    assert made.text == b"SELECT $1::int, $2::text[], $1::int + 1, x::bigint FROM f($2::text[])"
    assert made.parameters == ("b", "a")


@pytest.mark.parametrize("text", ["SELECT :a", "SELECT :a::json", "SELECT :a::int, :b"])
def test_a_parameter_needs_a_type_that_travels(text: str) -> None:
    with pytest.raises(ValueError, match="needs one of the known types"):
        statement("s", text)


def test_a_name_that_the_server_would_cut_is_refused() -> None:
    assert statement("s" * 63, "SELECT 1")
    with pytest.raises(ValueError, match="too long"):
        statement("s" * 64, "SELECT 1")


def test_every_statement_can_be_made() -> None:
    for name in SQL:
        if not name.startswith("find"):
            statement(name, SQL[name])


def test_a_test_s_time_takes_the_place_of_the_database_s() -> None:
    production, test = Queries(), Queries(lambda: NOW)
    values = {"runs": ["r"]}

    assert b"clock_timestamp()" in production("hand_on", **values).statement.text
    made = test("hand_on", **values)
    assert b"clock_timestamp()" not in made.statement.text
    assert made.values[made.statement.parameters.index("now")] == NOW.isoformat().encode()


def test_a_missing_value_is_noticed() -> None:
    with pytest.raises(KeyError):
        Queries()("get")


def test_both_sql_stores_use_the_same_names() -> None:
    ours, theirs = set(SQL), set(SQL_OF_SQLITE)

    # SQLite does one thing after the other, where PostgreSQL does it for many at once.
    assert theirs - ours == {
        *("run_no", "take_thread", "take_place", "count_waiting"),  # make_run
        *("start_key", "make_start_key", "thread_taken"),  # make_run and not_made
        *("pause", "count_needs", "requeue", "finish", "write_entry"),  # move
        "free_thread",  # hand_on
        "note_answers",  # answer
        *("raise_inbox", "wake"),  # send and signal
        "worker_alive",  # claim and release
        "refusers",  # due_runs, next_due and claim
        "held",  # beat
        "lapsed",  # take_back
        *("charge", "charged", "open_holds"),  # settle and close_holds
        *("meter", "ring", "move_meter", "held_on", "used"),  # settle, hold and meters
        *("usage_by_slot", "usage_slots"),  # a function of the schema
        *("old_run", "delete_run", "delete_entries", "delete_signals"),  # delete_runs
        *("move_head", "delete_thread"),
    }
    # SQLite's writers come one after another and lock nothing; its readers see the file change.
    assert ours - theirs == {
        *("claim_run", "move", "not_made", "send"),
        *("meters", "close_holds", "delete_runs"),
        *("lock_start_key", "lock_base", "lock_end", "lock_meter", "lock_gone"),
        *("mark_lapsed", "unmark_lapsed"),
        *("enter", "leave"),
        "tell",
    }


@pytest.fixture
def db() -> psycopg.Connection[TupleRow]:
    return psycopg.connect(shared_address(), autocommit=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("int", 0),
        ("int", -(2**31)),
        ("int8", 2**63 - 1),
        ("float8", 0.1),
        ("float8", 1e300),
        ("text", None),
        ("text", ""),
        ("text", "'\\\"{},ä€😀\n"),
        ("bytea", None),
        ("bytea", b""),
        ("bytea", bytes(range(256))),
        ("bool", True),
        ("bool", False),
        ("timestamptz", NOW),
        ("timestamptz", NOW.replace(microsecond=0) - timedelta(days=20_000)),
        ("int[]", []),
        ("int[]", [1, None, -2, 2**31 - 1]),
        ("int8[]", [-(2**63), None]),
        ("text[]", []),
        ("text[]", ["", None, "NULL", '{",\\}']),
        ("bytea[]", []),
        ("bytea[]", [b"", None, b"\0\\x", bytes(range(256))]),
    ],
)
def test_what_is_sent_arrives(db: psycopg.Connection[TupleRow], type: str, value: object) -> None:
    made = statement("s", f"SELECT :value::{type}")
    encoded = [encode(value) for encode in made.encode]

    result = db.pgconn.exec_params(made.text, encoded, None, made.formats, Format.BINARY)

    if result.status != ExecStatus.TUPLES_OK:
        raise error_from_result(result)
    loaded = psycopg.adapt.Transformer(db)
    loaded.set_pgresult(result)
    assert loaded.load_row(0, tuple) == (value,)
    db.close()


@pytest.mark.parametrize("text", ["", "a\0b", "\ud800", "ä😀"])
def test_a_packed_text_comes_back(text: str) -> None:
    assert unpack(pack(text)) == text
