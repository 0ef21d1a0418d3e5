"""An address leads to its store, or to an error that says which addresses there are."""

import subprocess
import sys
from pathlib import Path

import pytest

from remit.store.connect import connect
from remit.store.memory import MemoryStore
from remit.store.postgres import PostgresStore
from remit.store.sqlite import SqliteStore
from remit.testing.clock import ManualClock
from remit.values.errors import ConfigError, StoreError


def test_memory_is_a_store_in_memory() -> None:
    assert isinstance(connect("memory:", ManualClock()), MemoryStore)


@pytest.mark.parametrize(
    ("path", "name"),
    [("runs.db", "runs.db"), ("a%20b%3F%23%C3%A4.db", "a b?#ä.db"), ("%FF.db", "\udcff.db")],
)
async def test_a_path_after_four_slashes_is_absolute(tmp_path: Path, path: str, name: str) -> None:
    store = connect(f"sqlite:///{tmp_path}/{path}", ManualClock())
    assert isinstance(store, SqliteStore)

    await store.open()
    await store.close()

    assert name in made_in(tmp_path)


async def test_a_path_after_three_slashes_is_relative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    store = connect("SQLite:///sub/runs.db", ManualClock())

    await store.open()
    await store.close()

    assert "runs.db" in made_in(tmp_path / "sub")


def made_in(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "PostgreSQL"])
def test_a_postgresql_address_is_libpq_s_own(scheme: str) -> None:
    store = connect(f"{scheme}://me:secret@host:5433/db?sslmode=require", ManualClock())

    assert isinstance(store, PostgresStore)
    with pytest.raises(StoreError, match="postgresql://host:5433/db, schema remit, is not open"):
        store.wakeups()


@pytest.mark.parametrize("missing", ["psycopg", "psycopg.pq"])
def test_a_missing_driver_is_told_with_its_extra(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("remit.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(ConfigError, match=r"pip install '\.\[postgres\]'"):
        connect("postgresql://me:secret@host/db", ManualClock())


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("", "no store's address"),
        ("runs.db", "no store's address"),
        ("/var/runs.db", "no store's address"),
        ("memory:x", "has no path"),
        ("memory://", "has no path"),
        ("sqlite:", "three slashes"),
        ("sqlite://", "three slashes"),
        ("sqlite:///", "three slashes"),
        ("sqlite:runs.db", "three slashes"),
        ("sqlite://runs.db", "three slashes"),
        ("sqlite:///runs.db?mode=ro", "takes no options"),
        ("sqlite:///runs.db#x", "takes no options"),
        ("mysql://host/db", "'mysql' is no kind of store"),
        ("redis://me:secret@host/db", "'redis' is no kind of store"),
    ],
)
def test_another_address_is_told_what_there_is(address: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as refused:
        connect(address, ManualClock())

    if "options" not in problem:
        assert "memory:" in str(refused.value)
        assert "sqlite:////absolute.db" in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("address", ["sqlite:///:memory:", "sqlite:///%3Amemory:"])
def test_sqlite_s_own_memory_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="use memory:"):
        connect(address, ManualClock())


def test_a_path_holds_no_nul() -> None:
    with pytest.raises(ConfigError, match="cannot hold %00"):
        connect("sqlite:///a%00b.db", ManualClock())


def test_no_database_is_loaded_before_a_store_needs_it() -> None:
    program = (
        "import sys; from remit.store.connect import connect; from remit.values.clock import"
        " SystemClock; connect('memory:', SystemClock());"
        " print({'psycopg', 'sqlite3'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n"
