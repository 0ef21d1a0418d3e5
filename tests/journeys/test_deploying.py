"""Which code is deployed is told from what workflows lead to."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from remit.app.deploying import deployed
from remit.app.roster import Roster

FLOW = """
from remit import WorkflowRun, workflow
from shopparts import words
import json

@workflow
async def order(run: WorkflowRun, input: str) -> str:
    return await run.step("greet", words.greet, input)
"""
WORDS = "from shopparts.deep import hello\n\ndef greet(name):\n    return hello + name\n"
DEEP = "hello = 'Hello '\n"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workflow in one module, and what it calls in a package beside it."""
    (tmp_path / "shopparts").mkdir()
    for name, text in {
        "shopflow.py": FLOW,
        "shopparts/__init__.py": "",
        "shopparts/words.py": WORDS,
        "shopparts/deep.py": DEEP,
    }.items():
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    forget()


def forget() -> None:
    for name in [
        name for name in sys.modules if name.partition(".")[0] in ("shopflow", "shopparts")
    ]:
        del sys.modules[name]


def digest() -> str:
    forget()
    importlib.invalidate_caches()
    return deployed(Roster(workflows=[importlib.import_module("shopflow").order]))


def test_the_same_code_has_the_same_name_each_time(shop: Path) -> None:
    assert digest() == digest()


@pytest.mark.parametrize("name", ["shopflow.py", "shopparts/words.py", "shopparts/deep.py"])
def test_a_change_in_what_a_workflow_leads_to_is_another_deployment(shop: Path, name: str) -> None:
    before = digest()
    with (shop / name).open("a") as file:
        file.write("# changed\n")
    assert digest() != before


def test_what_a_workflow_does_not_lead_to_is_none_of_its_code(shop: Path) -> None:
    before = digest()
    (shop / "shopparts" / "other.py").write_text("x = 1\n")
    assert digest() == before
