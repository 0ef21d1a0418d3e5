"""Real processes and a real server, broken at random: what users were told still holds."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from remit.agent.state import Decision, derive
from remit.kernel.facts import Answered, Finished, Stepped, decode
from remit.store.connect import connect
from remit.store.records import Entry, Query, RunRow
from remit.values import codec
from remit.values.clock import SystemClock
from remit.values.messages import ToolMessage
from tests.faults.nemesis import Heard, Nemesis, Pack, Users
from tests.faults.restless import open_world
from tests.fixtures_postgres import Server, own_server

WHERE = "tests/faults/test_nemesis.py"
Journal = tuple[RunRow, list[Entry]]


@contextmanager
def sqlite(folder: Path) -> Iterator[tuple[str, Server | None]]:
    yield f"sqlite:///{folder}/runs.db", None


@contextmanager
def postgres(_: Path) -> Iterator[tuple[str, Server | None]]:
    with own_server(fsync="on") as server:
        yield server.address, server


stores = pytest.mark.parametrize("kind", [sqlite, postgres], ids=["sqlite", "postgres"])


async def journals(store: str) -> list[Journal]:
    opened = connect(store, SystemClock())
    await opened.open()
    try:
        rows = await opened.find(Query(limit=100_000))
        return [(row, list(await opened.read(row.id))) for row in rows]
    finally:
        await opened.close()


def check_run(row: RunRow, entries: list[Entry], heard: Heard) -> None:
    facts = [decode(entry.body) for entry in entries]
    assert [entry.seq for entry in entries] == list(range(1, row.seq + 1))
    tokens = [entry.token for entry in entries]
    assert tokens == sorted(tokens)
    steps = [fact.name for fact in facts if isinstance(fact, Stepped)]
    assert len(steps) == len(set(steps))
    answers = [fact.key for fact in facts if isinstance(fact, Answered)]
    assert len(answers) == len(set(answers))
    assert [isinstance(fact, Finished) for fact in facts] == [False] * (row.seq - 1) + [True]
    end = facts[-1]
    assert isinstance(end, Finished)
    assert end.status == row.status
    assert row.status in ("succeeded", "cancelled"), end.error
    if row.id in heard.cancelled:
        assert row.status == "cancelled"


def check_calls(row: RunRow, entries: list[Entry], heard: Heard, world: dict[str, int]) -> set[str]:
    """The keys of the run's calls. Each effect is its call's, and each result has its effect."""
    facts = [decode(entry.body) for entry in entries]
    answers = {fact.key: fact for fact in facts if isinstance(fact, Answered)}
    results = {
        value.call_id: value
        for fact in facts
        if isinstance(fact, Stepped) and "/call:" in fact.name
        for value in [codec.convert(fact.value, ToolMessage)]
    }
    keys = set()
    for number, turn in enumerate(derive(row.id, enumerate(facts, 1)).turns):
        for at, call in enumerate(turn.calls):
            keys.add(call.key)
            answer = answers.get(f"turn:{number}/call:{at}")
            if call.key in world:
                assert world[call.key] == call.arguments["amount"]
                verdict = answer and codec.convert(answer.value, Decision).verdict
                assert call.name == "pay" or verdict == "approve", call
            if call.id in results and results[call.id].text.startswith("took effect"):
                assert call.key in world
            if call.id in heard.decided and row.status == "succeeded":
                assert answer is not None
                assert answer.by is not None
                assert answer.by.user == heard.decided[call.id]
    return keys


def check_repeats(found: list[Journal], entered: list[tuple[str, int]]) -> None:
    """No call whose result was recorded under a token was begun under a later one."""
    under = {}
    for row, entries in found:
        for entry in entries:
            fact = decode(entry.body)
            if isinstance(fact, Stepped) and "/call:" in fact.name:
                turn, call = (part.partition(":")[2] for part in fact.name.split("/"))
                under[f"{row.id}/{turn}/{call}"] = entry.token
    for key, token in entered:
        assert token <= under.get(key, token), key


async def weather(kind: object, folder: Path, seed: int, seconds: float) -> None:
    with kind(folder) as (store, server):  # type: ignore[operator]  # a parameter of the test
        opened = connect(store, SystemClock())
        await opened.open()
        await opened.close()
        pack, users = Pack(store, folder / "world.db"), Users(seed, store)
        nemesis = Nemesis(seed, pack, server)
        try:
            await asyncio.gather(users.go_on(seconds), nemesis.rage(seconds))
            pack.refill()
            await users.settle()
        except BaseException as error:
            error.add_note(f"{nemesis.deeds}; workers said: {pack.words}")
            raise
        finally:
            pack.end()
        found = await journals(store)
    with closing(open_world(str(folder / "world.db"))) as db:
        world = dict(db.execute("SELECT key, amount FROM effects").fetchall())
        entered = db.execute("SELECT key, token FROM entered").fetchall()
    keys: set[str] = set()
    for row, entries in found:
        check_run(row, entries, users.heard)
        keys |= check_calls(row, entries, users.heard, world)
    assert set(world) <= keys
    check_repeats(found, entered)
    assert set(users.heard.started) <= {row.id for row, _ in found}
    assert world
    assert users.heard.decided


@pytest.mark.slow
@pytest.mark.timeout(300)
@stores
async def test_a_short_storm_breaks_no_promise(kind: object, tmp_path: Path) -> None:
    await weather(kind, tmp_path, 1, 4.0)


@pytest.mark.chaos
@pytest.mark.timeout(900)
@stores
async def test_a_long_storm_breaks_no_promise(kind: object, tmp_path: Path) -> None:
    """For `REMIT_SECONDS`, from the seed `REMIT_SEED` or a random one."""
    seed = int(os.environ.get("REMIT_SEED", str(secrets.randbelow(10**9))))
    try:
        await weather(kind, tmp_path, seed, float(os.environ.get("REMIT_SECONDS", "60")))
    except BaseException as error:
        error.add_note(f"To run it again: REMIT_SEED={seed} make chaos TEST={WHERE}")
        raise
