"""`remit runs show` on a run whose model calls failed."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path

import pytest

from remit import App, Card, Pricing
from remit.cli import main
from remit.errors import ProviderError
from remit.options import Retry
from remit.testing import ScriptedModel
from remit.testing.model import Call, Say
from tests.journeys.office import chief, scout
from tests.unit.cli.stored import look_up, store_in

Captured = pytest.CaptureFixture[str]
CUT = ProviderError(status=504, message="too \x1b[31mlate")
BUSY = ProviderError(status=529, message="busy")
RATED = Card(pricing=Pricing(input=1, output=10), max_output=100)
ONCE_MORE = Retry(attempts=2, first=0)


def failing(folder: Path) -> str:
    """A run whose first call failed once, that of an agent inside once, and the last one twice."""
    inner = scout(
        [], [look_up], model=ScriptedModel([CUT, Say("seen")], card=RATED), retry=ONCE_MORE
    )
    outer = ScriptedModel([CUT, Call("scout", task="x"), BUSY, CUT], card=RATED)

    async def drive() -> str:
        agent = chief(outer, inner, retry=ONCE_MORE)
        async with App([agent], store=store_in(folder)) as app:
            return (await app.run("chief", "please", user="u_1")).id

    return asyncio.run(drive())


def shown(folder: Path, run: str, capsys: Captured, *options: str) -> str:
    main(["runs", "show", run, "--store", store_in(folder), *options])
    return capsys.readouterr().out


def test_each_attempt_stands_in_its_turn_with_what_it_may_have_cost(
    tmp_path: Path, capsys: Captured
) -> None:
    found = json.loads(shown(tmp_path, failing(tmp_path), capsys, "--json"))

    (turn,) = found["turns"]
    (call,) = turn["calls"]
    attempts = [*turn["attempts"], *call["turns"][0]["attempts"], *found["attempts"]]
    assert [one["status"] for one in attempts] == [504, 504, 529, 504]
    assert [one["failure"] for one in attempts] == [
        "unanswered",
        "unanswered",
        "busy",
        "unanswered",
    ]
    paid = [one["usage"] for one in attempts if one["usage"] is not None]
    assert len(paid) == 3
    assert all(one["estimated"] and one["output_tokens"] == 100 for one in paid)
    answers = [turn["usage"], *(inner["usage"] for inner in call["turns"])]
    total = sum((Decimal(one["cost"]) for one in [*paid, *answers]), Decimal(0))
    assert total == Decimal(found["usage"]["cost"])


def test_attempts_are_told_in_words(tmp_path: Path, capsys: Captured) -> None:
    page = shown(tmp_path, failing(tmp_path), capsys)

    lines = [line for line in page.splitlines() if " failed: " in line]
    assert len(lines) == 4
    assert sum("100 out (estimated)  cost 0.00" in line for line in lines) == 3
    assert "asked again after 0 s" in lines[0]
    assert lines[-1].endswith("the run fails")
    assert "Turn 1  no answer" in page
    assert "\x1b" not in page
