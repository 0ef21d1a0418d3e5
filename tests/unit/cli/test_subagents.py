"""`remit runs` on a run in whose calls agents work, and agents in those."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from remit import App
from remit.cli import main
from remit.testing.model import Call, Say
from tests.journeys.office import chief, scout
from tests.unit.cli.stored import look_up, pay, store_in

Captured = pytest.CaptureFixture[str]


def paused(folder: Path) -> str:
    """A run that waits for a payment, two agents deep."""
    cashier = scout(
        [[Call("look_up", what="a\x1b[31mb"), Call("pay", to="Jo", amount=5)]],
        [look_up, pay],
        name="cashier",
    )
    clerk = chief([Call("cashier", task="Pay Jo")], cashier, name="clerk")

    async def drive() -> str:
        agent = chief([Call("clerk", task="See to Jo")], clerk)
        async with App([agent], store=store_in(folder)) as app:
            return (await app.run("chief", "please", user="u_1")).id

    return asyncio.run(drive())


def shown(folder: Path, run: str, capsys: Captured, *options: str) -> str:
    assert main(["runs", "show", run, "--store", store_in(folder), *options]) == 3
    return capsys.readouterr().out


def test_what_agents_inside_did_is_shown_where_they_work(tmp_path: Path, capsys: Captured) -> None:
    lines = shown(tmp_path, paused(tmp_path), capsys).splitlines()

    indents = {
        name: next(
            len(line) - len(line.lstrip()) for line in lines if line.lstrip().startswith(name)
        )
        for name in ("clerk(task", "cashier(task", "look_up(what", "pay(to")
    }
    assert indents == {"clerk(task": 2, "cashier(task": 6, "look_up(what": 10, "pay(to": 10}
    assert any("pay(to=" in line and line.endswith("in cashier in clerk") for line in lines)
    assert "\x1b" not in "".join(lines)


def test_what_agents_inside_did_is_in_json(tmp_path: Path, capsys: Captured) -> None:
    found = json.loads(shown(tmp_path, paused(tmp_path), capsys, "--json"))

    (clerk,) = found["turns"][0]["calls"]
    (cashier,) = clerk["turns"][0]["calls"]
    looked, pays = cashier["turns"][0]["calls"]
    assert (clerk["agent"], cashier["agent"]) == ("clerk@1", "cashier@1")
    assert (looked["agent"], looked["turns"], looked["result"]["status"]) == (None, [], "ok")
    (pending,) = found["pending"]
    assert (pending["id"], pending["within"]) == (pays["id"], ["clerk", "cashier"])


def test_a_call_inside_is_approved_by_its_id(tmp_path: Path, capsys: Captured) -> None:
    run = paused(tmp_path)
    (pending,) = json.loads(shown(tmp_path, run, capsys, "--json"))["pending"]
    where = ["--by", "staff_1", "--store", store_in(tmp_path)]

    assert main(["runs", "approve", run, pending["id"], *where]) == 0
    told: Any = capsys.readouterr().out
    assert "approved" in told.lower()
    cashier = scout([Say("paid")], [look_up, pay], name="cashier")
    clerk = chief([Say("seen to")], cashier, name="clerk")

    async def drive() -> str:
        async with App([chief([Say("done")], clerk)], store=store_in(tmp_path)) as app:
            return (await app.wait(run)).text

    assert asyncio.run(drive()) == "done"
