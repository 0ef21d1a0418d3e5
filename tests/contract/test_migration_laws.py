"""Laws of every SQL store's schema: however many migrate it, and however they end, it is whole."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from remit.store.migrations import Script, Versions
from remit.store.postgres import schema as postgres_schema
from remit.store.sqlite import schema as sqlite_schema
from remit.testing.store_contract.arrange import queued
from remit.values.errors import StoreError
from tests.contract import migrators
from tests.contract.migrators import File, Schema, Where, newer, older
from tests.fixtures_postgres import fresh_place, shared_address
from tests.fixtures_store import opened

PROCESSES, ROUNDS = 8, 3


@contextmanager
def file(path: Path) -> Iterator[Where]:
    yield File(path)


@contextmanager
def schema(_: Path) -> Iterator[Where]:
    with fresh_place(shared_address()) as place:
        yield Schema(place)


Kind = Callable[[Path], AbstractContextManager[Where]]


@pytest.fixture(
    params=[
        pytest.param(file, id="sqlite"),
        pytest.param(schema, id="postgres", marks=pytest.mark.slow),
    ]
)
def kind(request: pytest.FixtureRequest) -> Kind:
    made: Kind = request.param
    return made


@pytest.fixture
def where(kind: Kind, tmp_path: Path) -> Iterator[Where]:
    """A place where nothing is made yet."""
    with kind(tmp_path / "runs.db") as where:
        yield where


@pytest.fixture
def places(kind: Kind, tmp_path: Path) -> Iterator[list[Where]]:
    """Some of them."""
    with ExitStack() as stack:
        names = [tmp_path / f"{number}.db" for number in range(ROUNDS)]
        yield [stack.enter_context(kind(name)) for name in names]


def by_eight_at_once(places: list[Where], given: Sequence[Script]) -> list[str]:
    """What came of it for each process and place."""
    context = multiprocessing.get_context("spawn")
    gate, results = context.Barrier(PROCESSES), context.Queue()
    asked = (places, list(given), gate, results)
    migrating = [
        context.Process(target=migrators.migrate_together, args=asked) for _ in range(PROCESSES)
    ]
    for one in migrating:
        one.start()
    outcomes = [results.get(timeout=50) for _ in range(PROCESSES * ROUNDS)]
    for one in migrating:
        one.join()
    results.close()
    return outcomes


def killed_in_the_middle(where: Where) -> None:
    """Another process migrates `where` to the newer schema, and dies before the last script."""
    context = multiprocessing.get_context("spawn")
    half = context.Event()
    doomed = context.Process(target=migrators.migrate_by_half, args=(where, half))
    doomed.start()
    assert half.wait(30)
    doomed.kill()
    doomed.join()


def timeless(where: Where) -> list[tuple[object, ...]]:
    """The shape without the times at which it came to be."""
    return [
        tuple(value for value in row if not isinstance(value, datetime)) for row in where.shape()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("begun", [False, True], ids=["fresh", "older"])
async def test_eight_processes_at_once_leave_one_schema(
    places: list[Where], begun: bool, kind: Kind, tmp_path: Path
) -> None:
    given = newer(places[0])
    for where in places if begun else []:
        await where.upkeep(older(where)).migrate()
    with kind(tmp_path / "alone.db") as alone:
        await alone.upkeep(given).migrate()
        expected = timeless(alone)

    outcomes = by_eight_at_once(places, given)

    assert outcomes == ["fine"] * len(outcomes)
    assert [timeless(where) for where in places] == [expected] * ROUNDS


async def test_a_crash_in_the_middle_leaves_the_old_schema_whole(where: Where) -> None:
    async with opened(where.store()) as store:
        await queued(store, "r1")
    before = where.shape()

    killed_in_the_middle(where)

    assert where.shape() == before
    async with opened(where.store()) as store:
        assert await store.get("r1") is not None
    given = newer(where)
    assert await where.upkeep(given).migrate() == Versions(
        at=older(where)[-1].number, newest=given[-1].number
    )
    assert any("runs_further" in row for row in where.shape())
    assert not (await where.upkeep(given).versions()).due


async def test_a_crash_in_the_middle_of_the_first_migration_leaves_nothing(where: Where) -> None:
    newest = older(where)[-1].number

    killed_in_the_middle(where)

    assert await where.upkeep().versions() == Versions(at=0, newest=newest)
    async with opened(where.store()) as store:
        await queued(store, "r1")
    assert (await where.upkeep().versions()).at == newest


async def test_a_script_that_fails_leaves_the_old_schema_whole(where: Where) -> None:
    await where.upkeep().migrate()
    before, last = where.shape(), older(where)[-1].number
    failing = Script(last + 2, "CREATE TABLE third(n int);\nINSERT INTO nowhere VALUES (1);\n")
    given = [*newer(where)[:-1], failing]

    with pytest.raises(StoreError, match="nowhere"):
        await where.upkeep(given).migrate()

    assert where.shape() == before


async def test_a_newer_schema_is_refused_and_unchanged(where: Where) -> None:
    await where.upkeep(newer(where)).migrate()
    if isinstance(where, File):
        where.execute("PRAGMA journal_mode = DELETE")
    before = where.content()

    for refused in (where.store().open, where.upkeep().migrate, where.upkeep().versions):
        with pytest.raises(StoreError, match=r"newer remit.*update remit"):
            await refused()

    assert where.content() == before


async def test_migrating_again_changes_nothing(where: Where) -> None:
    newest = older(where)[-1].number
    made = await where.upkeep().migrate()
    before = where.shape()

    again = await where.upkeep().migrate()

    assert made == Versions(at=0, newest=newest)
    assert again == Versions(at=newest, newest=newest)
    assert where.shape() == before


async def test_a_look_at_the_versions_makes_nothing(where: Where) -> None:
    newest = older(where)[-1].number

    assert await where.upkeep().versions() == Versions(at=0, newest=newest)

    assert where.shape() == []
    assert not isinstance(where, File) or not where.path.exists()


async def test_a_store_that_is_told_not_to_migrate_refuses_what_is_not_made(where: Where) -> None:
    with pytest.raises(StoreError, match="remit migrate"):
        await where.store(migrate=False).open()

    assert where.shape() == []


async def test_a_store_that_is_told_not_to_migrate_refuses_what_is_older(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    await where.upkeep().migrate()
    before, given = where.shape(), newer(where)
    for module in (sqlite_schema, postgres_schema):
        monkeypatch.setattr(module, "scripts", lambda _: given)

    with pytest.raises(StoreError, match=f"needs {given[-1].number}.*remit migrate"):
        await where.store(migrate=False).open()
    assert where.shape() == before

    await where.upkeep(given).migrate()
    async with opened(where.store(migrate=False)) as store:
        await queued(store, "r1")


async def test_what_was_stored_before_is_there_after(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(where.store()) as store:
        await queued(store, "r1")
        row = await store.get("r1")
    given = newer(where)
    for module in (sqlite_schema, postgres_schema):
        monkeypatch.setattr(module, "scripts", lambda _: given)

    async with opened(where.store()) as store:
        assert await store.get("r1") == row
        await queued(store, "r2")

    assert any("runs_further" in row for row in where.shape())
