"""What breaks processes and servers at random, from a seed, while users go on asking."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psycopg

from remit import App, Caller
from remit.errors import AlreadyDecidedError, NotPausedError, StoreError, ThreadBusyError
from tests.faults.restless import TERMS, restless
from tests.fixtures_postgres import Server

ROOT = Path(__file__).parents[2]
WORKERS = 3
PATIENCE = 120.0


@dataclass
class Heard:
    """What users were told, which must hold whatever happened since."""

    started: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    decided: dict[str, str] = field(default_factory=dict)
    """Who was told that they decided each call."""


class Pack:
    """Worker processes, each followed by another when it ends."""

    def __init__(self, store: str, world: Path) -> None:
        self._command = [sys.executable, "-m", "tests.faults.restless", store, str(world)]
        self._log = world.with_suffix(".log")
        self.members = [self._spawn() for _ in range(WORKERS)]

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            pipe = subprocess.PIPE
            return subprocess.Popen(self._command, cwd=ROOT, stdin=pipe, stderr=log)

    def refill(self) -> None:
        for at, member in enumerate(self.members):
            if member.poll() is not None:
                _forget(member)
                self.members[at] = self._spawn()

    def send(self, at: int, what: signal.Signals) -> None:
        self.members[at].send_signal(what)

    def end(self) -> None:
        for member in self.members:
            member.kill()
            _forget(member)

    @property
    def words(self) -> str:
        """What they said when they ended."""
        return self._log.read_text(errors="replace")[-2000:] if self._log.exists() else ""


def _forget(member: subprocess.Popen[bytes]) -> None:
    member.wait()
    if member.stdin is not None:
        member.stdin.close()


class Nemesis:
    """A storm of so many seconds over one store. `server` is the store's own, if it has one."""

    def __init__(self, seed: int, pack: Pack, server: Server | None) -> None:
        self._random, self._pack, self._server = Random(seed), pack, server
        self.deeds: list[str] = []

    async def rage(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        deeds: list[Callable[[], Awaitable[None]]] = [self._kill, self._freeze]
        if self._server is not None:
            deeds += [self._cut, self._cut, self._crash]
        try:
            while time.monotonic() < end:
                deed = deeds[len(self.deeds)] if len(self.deeds) < len(deeds) else None
                deed = deed or self._random.choice(deeds)
                self.deeds.append(deed.__name__)
                await deed()
                await asyncio.sleep(self._random.random() * 0.8)
                self._pack.refill()
        finally:
            for at in range(WORKERS):
                self._pack.send(at, signal.SIGCONT)

    async def _kill(self) -> None:
        self._pack.send(self._random.randrange(WORKERS), signal.SIGKILL)

    async def _freeze(self) -> None:
        """Freeze one, often for longer than its lease lasts."""
        at = self._random.randrange(WORKERS)
        self._pack.send(at, signal.SIGSTOP)
        await asyncio.sleep(self._random.random() * 2 * TERMS.lasts.total_seconds())
        self._pack.send(at, signal.SIGCONT)

    async def _crash(self) -> None:
        """Stop the server as a crash would, and start it again."""
        assert self._server is not None
        await asyncio.to_thread(self._server.stop, "immediate")
        await asyncio.sleep(self._random.random() * 0.5)
        await asyncio.to_thread(self._server.start, fsync="on")

    async def _cut(self) -> None:
        """End one connection at the server."""
        assert self._server is not None
        with (
            suppress(psycopg.OperationalError),
            closing(psycopg.connect(self._server.address, autocommit=True)) as db,
        ):
            found = db.execute(
                "SELECT pid FROM pg_stat_activity"
                " WHERE application_name = 'remit' AND pid <> pg_backend_pid() ORDER BY pid"
            ).fetchall()
            if found:
                db.execute("SELECT pg_terminate_backend(%s)", self._random.choice(found))


class Users:
    """People who start, decide and cancel runs, two of them deciding at a time."""

    def __init__(self, seed: int, store: str) -> None:
        self._random, self._store = Random(seed), store
        self.heard = Heard()

    async def go_on(self, seconds: float) -> None:
        """Ask for things for so many seconds, and then decide until nothing waits any more."""
        async with App([restless()], store=self._store, work=False, lease=TERMS) as app:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                await self._surely(lambda: self._start(app))
                await self._surely(lambda: self._decide(app))
                await asyncio.sleep(self._random.random() * 0.3)

    async def settle(self) -> None:
        """Decide until every run has ended."""
        end = time.monotonic() + PATIENCE
        async with App([restless()], store=self._store, work=False, lease=TERMS) as app:
            while waiting := await self._going(app):
                assert time.monotonic() < end, f"these never end: {waiting}"
                await self._surely(lambda: self._decide(app))
                await asyncio.sleep(0.1)

    async def _going(self, app: App) -> list[str]:
        return [
            f"{run.id} {run.status}"
            for status in ("queued", "running", "paused")
            for run in await app.runs(status=status, limit=1000)
        ]

    async def _surely(self, ask: Callable[[], Awaitable[None]]) -> None:
        with suppress(StoreError, ThreadBusyError, AlreadyDecidedError, NotPausedError):
            await ask()

    async def _start(self, app: App) -> None:
        thread = self._random.choice([None, None, "t1", "t2"])
        run = await app.start("restless", "go", thread=thread)
        self.heard.started.append(run)
        if self._random.random() < 0.2:
            await asyncio.sleep(self._random.random())
            if await app.cancel(run) in ("running", "cancelled"):
                self.heard.cancelled.append(run)

    async def _decide(self, app: App) -> None:
        for listed in await app.runs(status="paused", limit=100):
            run = await app.get(listed.id)
            for pending in run.pending:
                ask = [self._one(app, run.id, pending.id, who) for who in ("ann", "ben")]
                self._random.shuffle(ask)
                await asyncio.gather(*ask)

    async def _one(self, app: App, run: str, call: str, who: str) -> None:
        deny = {call: "no"} if self._random.random() < 0.3 else {}
        approve = [] if deny else [call]
        with suppress(StoreError, AlreadyDecidedError, NotPausedError):
            await app.decide(run, approve=approve, deny=deny, by=Caller(user=who))
            assert call not in self.heard.decided, f"{call} was decided twice"
            self.heard.decided[call] = who
