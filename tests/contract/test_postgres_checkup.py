"""Laws of a look at a PostgreSQL database: what is wrong with the server, or the user, is found."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from remit.cli.doctor.database import database
from remit.cli.doctor.finding import Finding, Measures
from remit.store.migrations import Script
from remit.store.postgres import PostgresStore, schema
from remit.store.upkeep import Concern, Look
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import queued
from remit.values.clock import SystemClock
from tests.contract.migrators import Schema
from tests.fixtures_postgres import Place, Server, own_server
from tests.fixtures_store import opened

pytestmark = pytest.mark.slow

CONCERN = Concern(overdue=300, paused=600)
SECRET = "s3cret-w0rd"


@pytest.fixture(scope="module")
def sound() -> Iterator[Server]:
    """A server as it should be, with users who may do little, and one who has a password."""
    with own_server(fsync="on") as server:
        with psycopg.connect(server.address, autocommit=True) as db:
            db.execute(f"CREATE ROLE guarded LOGIN PASSWORD '{SECRET}'".encode())
            db.execute("CREATE ROLE guest LOGIN")
            hba = server.folder / "data" / "pg_hba.conf"
            hba.write_text("local all guarded scram-sha-256\n" + hba.read_text())
            db.execute("SELECT pg_reload_conf()")
        yield server


def execute(server: Server, *statements: str) -> None:
    with psycopg.connect(server.address, autocommit=True) as db:
        for statement in statements:
            db.execute(statement.encode())


async def look(address: str, name: str = "remit") -> Look:
    kept = PostgresStore(address, SystemClock(), schema=name).upkeep()
    return await asyncio.wait_for(kept.look(CONCERN), 30)


async def found(address: str, name: str = "remit") -> dict[str, Finding]:
    seen = await look(address, name)
    return {one.name: one for one in database(seen, Measures())}


async def test_nothing_is_wrong_with_a_sound_server(sound: Server) -> None:
    async with opened(PostgresStore(sound.address)) as store:
        await queued(store)

    assert await found(sound.address) == {}


async def test_a_server_without_fsync_is_found() -> None:
    with own_server(fsync="off", synchronous_commit="off") as server:
        async with opened(PostgresStore(server.address)):
            findings = await found(server.address)

    assert {name: one.level for name, one in findings.items()} == {
        "fsync-off": "error",
        "synchronous-commit-off": "note",
    }


async def test_a_session_that_is_read_only_is_found(sound: Server) -> None:
    async with opened(PostgresStore(sound.address)):
        pass
    execute(sound, "ALTER ROLE guest SET default_transaction_read_only = on")
    try:
        findings = await found(make_conninfo(sound.address, user="guest"))
    finally:
        execute(sound, "ALTER ROLE guest RESET default_transaction_read_only")

    assert "database-read-only" in findings


async def test_a_wrong_password_is_told_from_a_server_that_is_away(
    sound: Server, tmp_path: Path
) -> None:
    wrong = await found(make_conninfo(sound.address, user="guarded", password=SECRET + "!"))
    away = await found(make_conninfo(sound.address, host=str(tmp_path)))

    assert list(wrong) == ["store-refuses"]
    assert "refuses the password" in wrong["store-refuses"].what
    assert "check user and password" in wrong["store-refuses"].mend
    assert SECRET not in repr(wrong)
    assert list(away) == ["store-unreachable"]
    assert "check host and port" in away["store-unreachable"].mend


@pytest.mark.parametrize(
    ("grants", "lacks"),
    [
        ([], "USAGE on schema owned"),
        (["USAGE ON SCHEMA owned"], "SELECT on migrations"),
        (
            ["USAGE ON SCHEMA owned", "SELECT, UPDATE ON ALL TABLES IN SCHEMA owned"],
            "INSERT on entries, DELETE on entries",
        ),
    ],
    ids=["nothing", "the schema", "some rows"],
)
async def test_privileges_that_a_user_lacks_are_found(
    sound: Server, grants: list[str], lacks: str
) -> None:
    execute(sound, "DROP SCHEMA IF EXISTS owned CASCADE")
    async with opened(PostgresStore(sound.address, schema="owned")):
        execute(sound, *(f"GRANT {grant} TO guest" for grant in grants))

    findings = await found(make_conninfo(sound.address, user="guest"), "owned")

    assert list(findings) == ["privileges-missing"]
    assert lacks in findings["privileges-missing"].what


async def test_a_user_with_rights_on_rows_alone_lacks_nothing(sound: Server) -> None:
    async with opened(PostgresStore(sound.address, schema="rows")) as store:
        await queued(store)
    execute(
        sound,
        "GRANT USAGE ON SCHEMA rows TO guest",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA rows TO guest",
        "REVOKE INSERT, UPDATE, DELETE ON rows.migrations FROM guest",
    )

    seen = await look(make_conninfo(sound.address, user="guest"), "rows")

    assert list(database(seen, Measures())) == []
    assert seen.work is not None
    assert [live.runs for live in seen.work.live] == [1]


async def test_a_user_who_may_not_make_the_schema_is_found(sound: Server) -> None:
    findings = await found(make_conninfo(sound.address, user="guest"), "unmade")

    assert sorted(findings) == ["privileges-missing", "store-missing"]
    assert "CREATE on the database" in findings["privileges-missing"].what


async def test_a_migration_that_somebody_asked_for_may_take_long(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that a start waits for may not."""
    where = Schema(place)
    last = where.scripts[-1].number
    note = "CREATE TABLE noted{0} AS SELECT current_setting('statement_timeout') AS longest"
    by_hand = [*where.scripts, Script(last + 1, note.format(1))]
    at_open = [*by_hand, Script(last + 2, note.format(2))]

    await where.upkeep(by_hand).migrate()
    monkeypatch.setattr(schema, "scripts", lambda _: at_open)
    async with opened(where.store()):
        longest = place.execute("SELECT longest FROM noted1 UNION ALL SELECT longest FROM noted2")

    assert longest == [("1h",), ("1min",)]


async def test_a_table_that_is_lost_is_told(sound: Server) -> None:
    async with opened(PostgresStore(sound.address, schema="torn")):
        pass
    execute(sound, "DROP TABLE torn.workers")

    findings = await found(sound.address, "torn")

    assert list(findings) == ["store-unreadable"]
    assert "restore a backup" in findings["store-unreadable"].mend


@pytest.mark.parametrize(
    ("off", "told"),
    [(-3600, "60 minutes ahead of"), (3600, "59 minutes behind"), (0, "")],
    ids=["slow", "fast", "right"],
)
async def test_clocks_that_differ_are_found(sound: Server, off: float, told: str) -> None:
    clock = ManualClock(wall=SystemClock().wall() + off)
    seen = await PostgresStore(sound.address, clock).upkeep().look(CONCERN)

    findings = [one for one in database(seen, Measures()) if one.name == "clock-skew"]

    assert [told in one.what for one in findings] == [True] * bool(off)
