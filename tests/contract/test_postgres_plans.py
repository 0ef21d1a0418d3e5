"""Laws of what a question costs among very many runs: it is answered along an index."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from remit.store.postgres import PostgresStore
from remit.store.postgres.address import Address
from remit.store.postgres.statements import Call, Queries
from remit.store.postgres.wire import Unit, Wire
from remit.testing.store_contract.arrange import PROGRAM, join, queued
from tests.fixtures_postgres import Place, fresh_place, shared_address
from tests.fixtures_store import opened

pytestmark = pytest.mark.slow

SLEEPING, REFUSED, ENDED = 100_000, 20_000, 20_000
SLEEPERS = f"""
INSERT INTO runs(id, program, status, due, format, created, refused_by, ended, thread, usr)
SELECT kind || number, '{PROGRAM}', status,
  CASE kind WHEN 'sleeping' THEN now() + make_interval(hours => 1, secs => number)
    WHEN 'refused' THEN now() - make_interval(hours => 1) END,
  1, now(), CASE kind WHEN 'refused' THEN 'ours' ELSE '' END,
  CASE kind WHEN 'ended' THEN now() - make_interval(days => 1) + make_interval(secs => number) END,
  convert_to(kind || number / 10, 'UTF8'), 'u' || number
FROM (VALUES ('sleeping', 'paused', {SLEEPING}), ('refused', 'queued', {REFUSED}),
    ('ended', 'failed', {ENDED})) AS crowd(kind, status, count)
CROSS JOIN LATERAL generate_series(1, count) AS number
"""
LEDGER = """
INSERT INTO ledger(run, name, nano, estimated, at, usr, program, model, purpose, body)
SELECT 'r' || number, '', 1, false, now(), 'u' || number, 'greeter', 'm', 'turn', ''
FROM generate_series(1, 20000) AS number
"""
HOLDS = """
INSERT INTO meters(key, width, head, slots)
SELECT convert_to('m' || number, 'UTF8'), 60000000, 0, array_fill(0::bigint, ARRAY[61])
FROM generate_series(1, 20000) AS number
"""
LOST = {"runs": ["sleeping7", "ended5"], "tokens": [1, 1], "seqs": [1, 1], "seens": [0, 0]}
CHARGED = {
    "owners": [1, 2],
    "names": [b"n", b"n"],
    "nanos": [1, 1],
    "models": ["m", "m"],
    "purposes": ["turn", "turn"],
    "programs": [None, "scout"],
    "bodies": [b"", b""],
}
WRITES: dict[str, dict[str, Any]] = {
    "append": {"run": "ended5", "token": 1, "seq": 1, "count": 1, "format": 1, "bodies": [b""]},
    "ask": {**LOST, "keys": [b"k", b"k"]},
    "withdraw": {**LOST, "keys": [b"k", b"k"]},
    "move": {
        **LOST,
        "counts": [1, 1],
        "formats": [1, 1],
        "statuses": ["paused", "failed"],
        "dues": [None, None],
        "listens": [0, 0],
        "asks": [1, 0],
        "owners": [1, 2],
        "places": [1, 1],
        "bodies": [b"", b""],
    },
    "fence": {"runs": ["ended5"], "tokens": [1], "seqs": [1]},
    "settle": {**LOST, **CHARGED, "estimated": [0, 0], "places": [1, 2], "keys": [b"m7", b"m8"]},
    "hold": {
        **LOST,
        **CHARGED,
        "keys": [b"m7", b"m8"],
        "places": [1, 2],
        "numbers": [1, 2],
        "limits": [9, 9],
    },
    "answer": {"run": "ended5", "id": "d", "count": 1, "keys": [b"k"], "answers": [b""]},
    "send": {"run": "ended5", "key": b"message/m", "answer": b""},
    "cancel": {"run": "ended5", "body": b"", "format": 1},
    "delete_runs": {"runs": ["ended8005", "ended8006"], "when": 2**51},
}
THREADS = """
INSERT INTO threads(key, head_run)
SELECT DISTINCT ON (thread) thread, id FROM runs WHERE ended IS NOT NULL ORDER BY thread, no DESC
"""
QUESTIONS: dict[str, dict[str, Any]] = {
    **WRITES,
    "due_runs": {"programs": [PROGRAM, "other@1"], "format": 1, "deploy": "ours"},
    "next_due": {"programs": [PROGRAM, "other@1"]},
    "claim": {
        "programs": [PROGRAM, "other@1"],
        "format": 1,
        "deploy": "ours",
        "worker": "w1",
        "room": 8,
    },
    "claim_run": {
        "programs": [PROGRAM],
        "format": 1,
        "deploy": "ours",
        "worker": "w1",
        "run": "refused7",
    },
    "not_made": {"runs": ["none"], "keys": [b"k"], "digests": [b""], "threads": [b"sleeping7"]},
    "hand_on": {"runs": ["ended5"]},
    "lock_end": {"runs": ["ended5", "sleeping7"]},
    "lineage": {"run": "ended5"},
    "any_lapsed": {},
    "take_back": {"limit": 500},
    "old_runs": {"when": 2**51, "limit": 5},
    "runs_of_user": {"user": "u7", "tenant": None, "limit": 500},
    "close_holds": {"runs": ["ended5"]},
    "lock_meter": {"keys": [b"m7"], "runs": ["ended5"]},
    "meters": {
        "keys": [b"m7", b"none"],
        "lengths": [61, 61],
        "widths": [60_000_000, 60_000_000],
        "tenants": [None, "nobody"],
        "users": [None, None],
    },
    "make_meter": {
        "keys": [b"of u7"],
        "lengths": [61],
        "widths": [60_000_000],
        "tenants": [None],
        "users": ["u7"],
    },
}


@pytest.fixture(scope="module")
def crowded() -> Iterator[Place]:
    """A schema with very many runs that have nothing to do."""
    with fresh_place(shared_address()) as place:
        asyncio.run(_open(place))
        for script in (SLEEPERS, THREADS, LEDGER, HOLDS):
            place.execute(script)
        for table in ("runs", "threads", "ledger", "meters"):
            place.execute(f"VACUUM ANALYZE {table}")
        yield place


async def _open(place: Place) -> None:
    async with opened(PostgresStore(place.address, schema=place.schema)) as store:
        await join(store, "w1")


@pytest.fixture
async def store(crowded: Place) -> AsyncIterator[PostgresStore]:
    async with opened(store := PostgresStore(crowded.address, schema=crowded.schema)):
        yield store


async def explained(place: Place, name: str, values: dict[str, Any]) -> dict[str, Any]:
    """What the server did for a statement that finds nothing to write, planned as the store's are:
    the second time, when it knows its way about."""
    call = Queries()(name, **values)
    text = b"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + call.statement.text
    told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    wire = await Wire.connect(Address.parse(place.address, place.schema))
    explain = Call(call.statement._replace(name=b"explained", text=text), call.values)
    wire.send([Unit([explain, explain], told.set_result)], 30)
    answers = await told
    wire.close()
    if isinstance(answers, Exception):
        raise answers
    plan: dict[str, Any] = answers[1][0][0][0]["Plan"]
    return plan


def scanned(plan: dict[str, Any]) -> set[str]:
    """The tables that were read as a whole."""
    whole = {plan["Relation Name"]} if plan["Node Type"] == "Seq Scan" else set()
    return whole.union(*(scanned(part) for part in plan.get("Plans", [])))


@pytest.mark.parametrize("name", QUESTIONS)
async def test_no_question_looks_at_every_row(crowded: Place, name: str) -> None:
    plan = await explained(crowded, name, QUESTIONS[name])

    assert scanned(plan) <= {"workers", "holds"}, "they hold what goes on at the moment"
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 150


async def test_a_claim_finds_its_run_among_the_sleeping_and_the_refused(
    store: PostgresStore,
) -> None:
    run = await queued(store)

    claims = await store.claim("w1", [PROGRAM], format=1, room=8, deploy="ours")

    assert [one.run for one in claims] == [run]
    assert await store.claim("w1", [PROGRAM], format=1, deploy="ours") == []


async def test_the_next_due_run_is_told_to_the_moment(store: PostgresStore) -> None:
    rest = await store.next_due([PROGRAM, "other@1"])

    assert rest is not None
    assert 3000 < rest <= 3601
    assert await store.next_due(["other@1"]) is None
