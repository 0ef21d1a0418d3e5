"""Laws of a database that a former remit wrote: its runs go on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import resources

import pytest

from remit.store.postgres import PostgresStore
from remit.store.records import Appended, Base, Created, Delivered, Query, Sent
from remit.testing.store_contract.arrange import (
    LASTS,
    PROGRAM,
    a_run,
    claim,
    ended,
    item,
    row,
    write,
)
from tests.fixtures_postgres import Place
from tests.fixtures_store import opened

pytestmark = pytest.mark.slow

FIRST = resources.files("remit.store.postgres").joinpath("0001.sql").read_text("utf-8")
OLD = f"""
CREATE TABLE migrations(number int PRIMARY KEY, at timestamptz NOT NULL);
INSERT INTO migrations VALUES (1, clock_timestamp());
INSERT INTO workers VALUES ('lost', clock_timestamp() - interval '1 minute');
INSERT INTO threads VALUES ('t', NULL, 'second'), ('u', 'live', NULL);
INSERT INTO runs(id, program, thread, base_run, status, seq, token, worker, inbox, needs, due,
  format, created, ended)
VALUES
  ('first', '{PROGRAM}', 't', NULL, 'succeeded', 2, 1, NULL, 0, 0, NULL, 1, now(), now()),
  ('second', '{PROGRAM}', 't', 'first', 'failed', 3, 1, NULL, 0, 0, NULL, 1, now(), now()),
  ('live', '{PROGRAM}', 'u', NULL, 'queued', 1, 0, NULL, 0, 0, now(), 1, now(), NULL),
  ('asking', '{PROGRAM}', NULL, NULL, 'paused', 2, 1, NULL, 1, 1, NULL, 1, now(), NULL),
  ('held', '{PROGRAM}', NULL, NULL, 'running', 1, 1, 'lost', 0, 0, NULL, 1, now(), NULL);
INSERT INTO entries
SELECT runs.no, number, 1, 1, convert_to(runs.id || number, 'UTF8')
FROM runs CROSS JOIN LATERAL generate_series(1, runs.seq) AS number;
INSERT INTO signals
SELECT no, key, n, answer, asked.id, now() FROM runs CROSS JOIN (VALUES
  ('k1'::bytea, 1, 'yes'::bytea, 'd1'), ('k2', NULL, NULL, NULL)) AS asked(key, n, answer, id)
WHERE runs.id = 'asking';
"""


@pytest.fixture
async def store(place: Place) -> AsyncIterator[PostgresStore]:
    place.execute(f"CREATE SCHEMA {place.schema}")
    place.execute(FIRST)
    place.execute(OLD)
    async with opened(store := PostgresStore(place.address, schema=place.schema)):
        yield store


async def test_all_runs_are_there(store: PostgresStore) -> None:
    rows = await store.find(Query())

    assert [(one.id, one.status) for one in reversed(rows)] == [
        ("first", "succeeded"),
        ("second", "failed"),
        ("live", "queued"),
        ("asking", "paused"),
        ("held", "running"),
    ]
    assert [entry.body for entry in await store.read("second")] == [
        b"second1",
        b"second2",
        b"second3",
    ]


async def test_history_reaches_as_far_as_it_did(store: PostgresStore) -> None:
    assert (await row(store, "second")).base == Base("first", 2)
    assert await store.create(a_run("third", thread="t")) == Created()

    assert (await row(store, "third")).base == Base("second", 3)
    journals = await store.lineage("third")
    assert [[entry.body for entry in one] for one in journals] == [
        [b"first1", b"first2"],
        [b"second1", b"second2", b"second3"],
    ]


async def test_a_run_that_was_live_hands_on_its_thread(store: PostgresStore) -> None:
    assert await store.create(a_run("next", thread="u", enqueue=1)) == Created()
    assert (await row(store, "next")).due is None

    had = await claim(store, "live")
    assert isinstance(await write(store, item(had, status="succeeded")), Appended)

    assert (await row(store, "next")).base == Base("live", 2)
    assert (await claim(store, "next")).run == "next"


async def test_a_run_that_asked_still_waits_for_its_answer(store: PostgresStore) -> None:
    assert await store.send("asking", b"hello", "m1") == Sent()
    assert (await row(store, "asking")).status == "paused"

    assert await store.deliver("asking", {"k2": b"no"}, "d2") == Delivered(0)

    assert (await claim(store, "asking")).inbox == 3
    told = [(one.key, one.answer) for one in await store.signals("asking")]
    assert told == [("k1", b"yes"), ("message/m1", b"hello"), ("k2", b"no")]


async def test_a_run_that_was_held_is_swept(store: PostgresStore) -> None:
    assert await store.beat("lost", LASTS) is None

    assert await store.sweep() == ["held"]

    assert (await claim(store, "held")).deaths == 1


async def test_what_is_old_is_deleted(store: PostgresStore) -> None:
    await ended(store, "after")

    assert await store.delete_before(2**52) == 3

    assert await store.thread_head("t") is None
    assert {one.id for one in await store.find(Query())} == {"live", "asking", "held"}
