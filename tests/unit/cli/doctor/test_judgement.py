"""A finding is a pure function of what was read, also of what no test's machine has."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import pytest

from remit.cli.doctor import report
from remit.cli.doctor.database import NETWORKED, postgres, shut, sqlite
from remit.cli.doctor.finding import Finding, Level, Measures, Name
from remit.cli.doctor.machine import installed, python
from remit.cli.render.wording import span
from remit.store.upkeep import PostgresHealth, Shut, SqliteHealth, Why

HOW_TO = Path(__file__).parents[4] / "docs" / "how-to" / "keep-a-store-healthy.md"
OLDEST_SQLITE, OLDEST_SERVER = (3, 37, 0), 140000


def told(findings: Iterable[Finding]) -> list[tuple[Level, Name]]:
    return [(one.level, one.name) for one in findings]


@pytest.mark.parametrize(
    ("version", "names"),
    [((3, 10), ["python-untested"]), ((3, 11), []), ((3, 13), []), ((3, 14), ["python-untested"])],
)
def test_a_python_that_remit_is_not_tested_on_is_found(
    version: tuple[int, int], names: list[str]
) -> None:
    findings = list(python(version))

    assert [one.name for one in findings] == names
    assert all("use Python 3.11 to 3.13" in one.mend for one in findings)


@pytest.mark.parametrize(
    ("version", "others", "expected"),
    [
        ((3, 36, 9), 5, [("error", "sqlite-too-old")]),
        ((3, 37, 0), 0, [("note", "sqlite-wal-reset")]),
        ((3, 51, 2), 1, [("note", "sqlite-wal-reset")]),
        ((3, 51, 2), 2, [("warning", "sqlite-wal-reset")]),
        ((3, 51, 2), None, [("note", "sqlite-wal-reset")]),
        ((3, 51, 3), 9, []),
    ],
)
def test_a_sqlite_is_judged_by_its_version_and_its_users(
    version: tuple[int, int, int], others: int | None, expected: list[tuple[Level, Name]]
) -> None:
    health = SqliteHealth(sqlite=version, oldest=OLDEST_SQLITE, others=others)

    assert told(sqlite(health, "runs.db", Measures())) == expected


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p", "ext4", "overlay", None])
def test_a_network_file_system_is_found(kind: str | None) -> None:
    health = SqliteHealth(sqlite=(3, 60, 0), oldest=OLDEST_SQLITE, file_system=kind)

    expected = [("error", "network-file-system")] if kind in NETWORKED else []
    assert told(sqlite(health, "runs.db", Measures())) == expected
    assert bool(expected) == (kind not in ("ext4", "overlay", None))


@pytest.mark.parametrize(
    ("server", "expected"),
    [(130015, [("error", "postgres-too-old")]), (140000, []), (180001, [])],
)
def test_a_server_that_is_too_old_is_found(server: int, expected: list[tuple[Level, Name]]) -> None:
    health = PostgresHealth(server=server, oldest=OLDEST_SERVER)

    assert told(postgres(health, Measures())) == expected


@pytest.mark.parametrize(("ahead", "found"), [(4.9, 0), (-4.9, 0), (5.1, 1), (-5.1, 1)])
def test_a_small_difference_of_clocks_is_none(ahead: float, found: int) -> None:
    health = PostgresHealth(server=OLDEST_SERVER, oldest=OLDEST_SERVER, ahead=ahead)

    assert len(told(postgres(health, Measures()))) == found


@pytest.mark.parametrize("why", get_args(Why))
def test_what_keeps_a_database_shut_is_told_with_its_mend(why: Why) -> None:
    finding = shut(Shut(why, "the database x cannot be reached: look at it: twice."))

    assert finding.level == "error"
    assert finding.what == "the database x cannot be reached"
    assert finding.mend == "look at it: twice"


def test_a_package_is_there_or_not() -> None:
    assert installed("remit")
    assert not installed("no_such_package_of_anybody")
    assert not installed("no_such_package_of_anybody.part")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1, "1 second"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (7199, "119 minutes"),
        (7200, "2 hours"),
        (172_800, "2 days"),
    ],
)
def test_a_span_is_told_in_its_largest_unit(seconds: float, words: str) -> None:
    assert span(seconds) == words


@pytest.mark.parametrize("name", get_args(Name))
def test_every_finding_is_explained_where_people_look_for_it(name: Name) -> None:
    assert f"| `{name}` |" in HOW_TO.read_text()


def finding(level: Level) -> Finding:
    return Finding(level, "damaged", f"a {level}", "mend it")


def test_the_worst_comes_first_and_the_sum_last() -> None:
    findings = report.ordered([finding("note"), finding("error"), finding("warning")])

    assert [one.level for one in findings] == ["error", "warning", "note"]
    *told_, last = report.lines("runs.db", findings)
    assert [line["level"] for line in told_] == ["error", "warning", "note"]
    assert last == {
        "kind": "doctor",
        "store": "runs.db",
        "errors": 1,
        "warnings": 1,
        "notes": 1,
    }


@pytest.mark.parametrize(
    ("levels", "wrong"), [([], False), (["note"], False), (["warning"], True), (["error"], True)]
)
def test_a_note_alone_is_nothing_wrong(levels: list[Level], wrong: bool) -> None:
    assert report.wrong([finding(level) for level in levels]) is wrong
