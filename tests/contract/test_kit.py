"""The contract refuses what is broken, by the law that it breaks, and asks little of its user."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from remit.testing import store_contract
from remit.testing.store_contract import StoreContract
from tests.docs.markdown import read

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "own-store.md"

BROKEN = {
    "NoToken": ["a_lost_lease_cannot_write", "a_write_under_another_token_is_fenced"],
    "NoSequence": [
        "a_write_at_another_sequence_number_is_fenced",
        "two_writes_at_one_sequence_number_one_wins",
    ],
    "DecideInTwoSteps": ["two_decisions_one_wins"],
    "CountingDeliver": [
        "answers_to_different_keys_strand_no_run",
        "answers_side_by_side_leave_a_true_count",
    ],
    "ThreadInTwoSteps": ["starts_side_by_side_on_a_thread_one_wins"],
    "SumInTheWhere": ["runs_side_by_side_cannot_overrun_a_ceiling"],
    "DeafPause": [
        "a_pause_that_missed_a_signal_is_news",
        "pause_against_cancel_leaves_one_truth",
        "a_stop_against_a_message_leaves_one_truth",
    ],
    "MoneyFirst": ["denied_money_refuses_no_entry", "money_harms_no_neighbour_in_a_batch"],
    "HarmfulBatch": ["a_refused_item_harms_no_neighbour", "money_harms_no_neighbour_in_a_batch"],
    "ClaimInTwoSteps": ["two_that_claim_one_run_get_it_once"],
    "KeyInTwoSteps": ["starts_side_by_side_under_a_key_make_one_run"],
    "EnqueueInTwoSteps": ["finish_against_enqueue_strands_no_run"],
    "BaseAtTheStart": ["a_base_is_pinned_when_its_turn_comes"],
    "ForkOnAnyThread": [
        "a_fork_takes_no_thread_that_had_a_run",
    ],
    "SettledTooLate": [
        "a_settlement_belongs_to_the_day_of_its_hold",
        "a_settlement_leaves_a_window_with_its_hold",
    ],
    "UnseededMeters": ["a_fresh_meter_begins_with_what_was_spent"],
    "OrphanHolds": ["an_end_settles_what_is_held_at_its_bound"],
    "NamesUsedTwice": ["a_name_holds_money_once"],
    "RoundedSums": ["sums_are_exact_whatever_their_size"],
    "CarelessDeletion": ["what_a_living_fork_builds_on_stays"],
    "EagerTimer": ["a_sleeper_is_claimed_at_its_time"],
    "TimelessClaim": ["a_claim_tells_the_stores_own_time"],
    "Deathless": ["each_loss_is_a_death"],
}
ANY_ORDER = "any_order_of_calls_gives_what_the_plain_store_says"
SEEN_IN_ANY_ORDER = [
    "NoToken",
    "NoSequence",
    "DeafPause",
    "MoneyFirst",
    "BaseAtTheStart",
    "SettledTooLate",
    "OrphanHolds",
    "EagerTimer",
    "TimelessClaim",
    "Deathless",
]


def pytest_in(folder: Path, *options: str, **environment: str) -> str:
    """What pytest tells in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.stdout + done.stderr


Outcomes = dict[str, tuple[set[str], set[str]]]
"""By a store's name the laws that refuse it, and those that do not."""


def outcomes(laws: Mapping[str, Sequence[str]], examples: int) -> Outcomes:
    """What becomes of `laws` by their stores' names; where none are named, of all."""
    told = pytest_in(
        ROOT,
        *("-n0", "-rA", "--tb=no", "tests/contract/kit_on_broken_stores.py"),
        *("-k", " or ".join(chosen(store, some) for store, some in laws.items())),
        REMIT_KIT_STORES=" ".join(laws),
        REMIT_KIT_EXAMPLES=str(examples),
    )
    found = re.findall(r"^(FAILED|PASSED|ERROR) \S+::Test(\w+)::test_(\w+)", told, re.MULTILINE)
    assert not [law for outcome, _, law in found if outcome == "ERROR"], told
    ends: Outcomes = {store: (set(), set()) for store in laws}
    for outcome, store, law in found:
        ends[store][outcome == "PASSED"].add(law)
    assert all(failed | kept for failed, kept in ends.values()), told
    return {store: (failed, kept - failed) for store, (failed, kept) in ends.items()}


def chosen(store: str, laws: Sequence[str]) -> str:
    """What tells pytest to run laws on a store."""
    some = " or ".join(f"test_{law}" for law in laws)
    return f"(Test{store} and ({some}))" if laws else f"Test{store}"


@pytest.fixture(scope="module")
def seen() -> Outcomes:
    """What becomes of the laws that each broken store breaks, and of all these where nothing is
    broken."""
    all_laws = sorted({law for laws in BROKEN.values() for law in laws})
    return outcomes({**BROKEN, "MemoryStore": all_laws}, examples=1)


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_store_is_refused_by_the_law_that_it_breaks(broken: str, seen: Outcomes) -> None:
    assert seen[broken] == (set(BROKEN[broken]), set())


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_same_laws_hold_where_nothing_is_broken(seen: Outcomes) -> None:
    failed, kept = seen["MemoryStore"]

    assert failed == set()
    assert kept == {law for laws in BROKEN.values() for law in laws}


@pytest.mark.chaos
@pytest.mark.timeout(600)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_store_keeps_the_other_laws(broken: str) -> None:
    failed, kept = outcomes({broken: []}, examples=100)[broken]

    assert failed >= set(BROKEN[broken])
    assert len(kept) > 5 * len(failed)
    assert ANY_ORDER in failed or broken not in SEEN_IN_ANY_ORDER


def test_no_two_laws_bear_one_name() -> None:
    laws = Counter(
        name for part in StoreContract.__bases__ for name in vars(part) if name.startswith("test_")
    )

    assert laws
    assert [name for name, count in laws.items() if count > 1] == []


def test_every_module_of_laws_explains_its_failures() -> None:
    told = Path(store_contract.__file__)
    modules = [path for path in told.parent.rglob("*.py") if "assert " in path.read_text()]
    parts = {path.relative_to(told.parent).with_suffix("").parts[0] for path in modules}

    assert len(parts) > 10
    assert {part for part in parts if f'"{part}"' not in told.read_text()} == set()


QUIET = ("-q", "-rs", "-W", "error", "-o", "asyncio_default_fixture_loop_scope=function")
UNTOLD = """
from remit.testing.store_contract import StoreContract


class TestUntold(StoreContract):
    pass
"""


def documented(*blocks: int) -> str:
    """Blocks of the page that tells how to run the contract, as one module."""
    found = [block for block in read(PAGE).blocks if block.language == "python"]
    return "\n".join(found[number].source for number in blocks)


@pytest.mark.slow
def test_anyone_can_run_it_in_a_project_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(documented(0, 2))

    told = pytest_in(tmp_path, *QUIET, "-k", f"TestMyFence or lapsed or {ANY_ORDER}")

    assert re.search(r"^\d\d passed, \d+ deselected in", told, flags=re.MULTILINE), told


@pytest.mark.slow
def test_a_store_by_its_own_time_is_spared_the_laws_that_move_time(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(documented(0, 1))

    told = pytest_in(tmp_path, *QUIET, "-k", "ByItsOwnTime and (key or lapsed)")

    assert re.search(r"^\d+ passed, \d+ skipped, \d+ deselected in", told, re.MULTILINE), told
    assert "its time is its database's own" in told


@pytest.mark.slow
def test_who_tells_no_stores_is_told_what_to_give(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(UNTOLD)

    told = pytest_in(tmp_path, "-q", "-k", "lapsed")

    assert "TestUntold tells no stores: override the fixture `handles`" in told


def test_the_package_does_without_pytest() -> None:
    program = "import remit, remit.testing, sys; sys.exit('pytest' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
