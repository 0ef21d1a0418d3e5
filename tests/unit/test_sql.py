"""Statements are loaded by name, and a file that breaks the rules is refused."""

import pytest

from remit.store import sql

TWO = """
-- The first matters because of this.
-- name: one
SELECT 1;

-- The second, because of that.
-- name: two
SELECT 2
-- a comment inside stays
FROM there;
"""


def test_each_statement_has_its_name_and_its_text() -> None:
    assert sql.parse(TWO) == {
        "one": "SELECT 1;",
        "two": "SELECT 2\n-- a comment inside stays\nFROM there;",
    }


def test_an_empty_file_has_no_statements() -> None:
    assert sql.parse("") == {}


def test_statements_come_out_of_a_package() -> None:
    assert sql.load("remit.store.sqlite", "queries.sql")["append"].startswith("UPDATE runs")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("-- name: one\nSELECT 1;", "says why"),
        ("\n-- name: one\nSELECT 1;", "says why"),
        ("-- why\n-- name: one\n\n-- why\n-- name: two\nSELECT 2;", "a name and a text"),
        ("-- why\n-- name: \nSELECT 1;", "a name and a text"),
        ("-- why\n-- name: one\nSELECT 1;\n-- why\n-- name: one\nSELECT 2;", "stands twice"),
    ],
)
def test_a_statement_needs_a_reason_a_name_and_a_text(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        sql.parse(text)
