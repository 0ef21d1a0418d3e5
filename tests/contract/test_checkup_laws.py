"""Laws of a look at a SQL store's database: what is wrong is found, on every store alike."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from remit.cli.doctor.finding import Finding, Measures
from remit.cli.doctor.visit import judged
from remit.kernel.facts import Ask, Paused
from remit.store.records import Appended
from remit.store.upkeep import Concern, Live, Upkeep
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import PROGRAM, ended, held, item, join, queued, write
from remit.values import codec
from tests.contract.migrators import File, Schema, Where, newer
from tests.fixtures_postgres import fresh_place, shared_address
from tests.fixtures_store import opened

DAY = 86_400
# The tests' server has fsync off, and its clock is not the tests' own.
SURROUNDINGS = {"fsync-off", "clock-skew", "sqlite-wal-reset"}


@pytest.fixture(
    params=[
        pytest.param("sqlite", id="sqlite"),
        pytest.param("postgres", id="postgres", marks=pytest.mark.slow),
    ]
)
def where(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> Iterator[Where]:
    """A place where nothing is made yet, by the test's own time."""
    if request.param == "sqlite":
        yield File(tmp_path / "runs.db", clock)
        return
    with fresh_place(shared_address()) as place:
        yield Schema(place, clock)


async def found(
    where: Where, *known: str, kept: Upkeep | None = None, measures: Measures | None = None
) -> list[Finding]:
    """What is wrong, without what lies in the tests' own surroundings."""
    measures = measures or Measures()
    concern = Concern(overdue=measures.overdue, paused=measures.paused)
    look = await (kept or where.upkeep()).look(concern)
    all = judged(look, known, where.clock.wall(), measures)
    return [one for one in all if one.name not in SURROUNDINGS]


def told(findings: Collection[Finding]) -> list[tuple[str, str]]:
    return [(one.level, one.name) for one in findings]


async def test_nothing_is_wrong_with_a_store_at_work(where: Where) -> None:
    async with opened(where.store()) as store:
        await ended(store)
        await held(store)
        await queued(store)

        assert await found(where, PROGRAM) == []
        look = await where.upkeep().look(Concern(overdue=300, paused=600))

    assert look.work is not None
    assert (look.work.alive, look.work.lapsed) == (1, [])
    assert look.work.live == [Live(program=PROGRAM, runs=2)]


async def test_a_look_changes_nothing(where: Where) -> None:
    async with opened(where.store()) as store:
        await held(store)
    before = where.content()

    await found(where)

    assert where.content() == before


async def test_a_store_that_is_not_made_yet_is_found_and_not_made(where: Where) -> None:
    findings = await found(where)

    assert told(findings) == [("error", "store-missing")]
    assert "remit migrate" in findings[0].mend
    assert where.shape() == []


async def test_an_older_schema_is_found(where: Where, clock: ManualClock) -> None:
    async with opened(where.store()) as store:
        await held(store)
    clock.advance(3600)

    findings = await found(where, kept=where.upkeep(newer(where)))

    assert told(findings) == [("warning", "schema-older"), ("warning", "lapsed-worker")]


async def test_a_newer_schema_is_found(where: Where) -> None:
    await where.upkeep(newer(where)).migrate()

    findings = await found(where)

    assert told(findings) == [("error", "schema-newer")]
    assert "update remit" in findings[0].mend


async def test_another_program_s_database_is_found(where: Where) -> None:
    where.execute("CREATE TABLE customers(name text)")

    findings = await found(where)

    assert told(findings) == [("error", "store-foreign")]
    assert findings[0].mend.startswith("give another")


async def test_a_worker_whose_lease_ended_without_a_sweep_is_found(
    where: Where, clock: ManualClock
) -> None:
    async with opened(where.store()) as store:
        await held(store, worker="w_gone")
        await held(store, worker="w_gone")
        clock.advance(50)
        soon = await found(where)
        clock.advance(1800)
        late = await found(where)
        await store.sweep()
        swept = await found(where)

    assert soon == []
    assert told(late) == [("warning", "lapsed-worker")]
    assert "w_gone ended 30 minutes ago, and it still holds 2 runs" in late[0].what
    assert swept == []


async def test_a_worker_that_ended_in_peace_is_no_finding(where: Where, clock: ManualClock) -> None:
    async with opened(where.store()) as store:
        await join(store, "w1")
    clock.advance(3600)

    assert await found(where) == []


async def test_a_run_that_dies_again_and_again_is_found(where: Where, clock: ManualClock) -> None:
    async with opened(where.store()) as store:
        had = await held(store, "run_a", worker="w1")
        findings = []
        for number in (2, 3, 4):
            clock.advance(100)
            await store.sweep()
            findings.append(told(await found(where)))
            worker = f"w{number}"
            await join(store, worker)
            (had,) = await store.claim(worker, [PROGRAM], format=1, run="run_a")
        (last,) = await found(where)
        await write(store, item(had))
        after = await found(where)

    assert findings == [[], [("warning", "dying-runs")], [("warning", "dying-runs")]]
    assert f"3 times at most: run_a of {PROGRAM}" in last.what
    assert after == []


async def test_queued_runs_that_nobody_takes_are_found(where: Where, clock: ManualClock) -> None:
    async with opened(where.store()) as store:
        await queued(store)
        await queued(store)
        clock.advance(200)
        soon = await found(where)
        clock.advance(7000)
        alone = await found(where)
        await join(store, "w1")
        ignored = await found(where)

    assert soon == []
    assert told(alone) == [("warning", "overdue-runs")]
    assert f"2 due runs of {PROGRAM}: the first has waited for 2 hours" in alone[0].what
    assert "no worker is alive" in alone[0].what
    assert told(ignored) == [("note", "overdue-runs")]


async def test_live_runs_of_programs_that_the_app_has_not_are_found(where: Where) -> None:
    async with opened(where.store()) as store:
        await queued(store, program="desk@1")
        await queued(store, program="clerk@1")
        await queued(store, program="desk@2")
        await store.cancel(await queued(store, program="old@1"), b"end", 1, b"stop")

    findings = await found(where, "desk@2")

    assert told(findings) == [("warning", "orphan-runs")] * 2
    assert "clerk@1" in findings[0].what
    assert "desk@1" in findings[1].what
    assert "it has desk@2" in findings[1].what
    assert "Agent(name='desk', version='1', …)" in findings[1].mend


async def test_without_an_app_no_run_is_an_orphan(where: Where) -> None:
    async with opened(where.store()) as store:
        await queued(store, program="desk@1")

    assert await found(where) == []


async def test_runs_that_wait_for_very_long_are_noted(where: Where, clock: ManualClock) -> None:
    async with opened(where.store()) as store:
        had = await held(store, "run_a")
        clock.advance(10)
        fact = Paused(at=round(clock.wall() * 1000), asks=(Ask(key="k", question=None),))
        pause = item(had, codec.encode(fact), status="paused", seen=had.inbox, asks=["k"])
        await write(store, pause)
        clock.advance(7 * DAY - 5)
        soon = await found(where)
        clock.advance(5 * DAY + 5)
        late = await found(where)

    assert soon == []
    assert told(late) == [("note", "long-paused")]
    assert (
        "1 run waiting for an answer or a message, the longest for 12 days: run_a" in late[0].what
    )


async def test_a_run_that_sleeps_is_found_only_when_it_should_have_woken(
    where: Where, clock: ManualClock
) -> None:
    async with opened(where.store()) as store:
        had = await held(store, "run_a")
        due = clock.wall() + 30 * DAY
        fact = Paused(at=round(clock.wall() * 1000), asks=(), due=round(due * 1000))
        pause = item(had, codec.encode(fact), status="paused", seen=had.inbox, due=round(due * 1e6))
        assert isinstance(await write(store, pause), Appended)
        clock.advance(29 * DAY)
        asleep = await found(where)
        clock.advance(2 * DAY)
        late = await found(where)

    assert asleep == []
    assert told(late) == [("warning", "overdue-runs")]
    assert "has waited for 24 hours" in late[0].what
