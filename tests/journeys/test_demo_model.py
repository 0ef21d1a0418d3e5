"""The demo with a model behind HTTP in place of the rules: a server of ours on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from asyncio.subprocess import PIPE
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from remit.errors import ProviderError
from remit.testing import Call, Quirks, Reply, Say, StrictProvider
from remit.testing.provider import Sent
from remit.values.usage import Usage
from tests.unit.models import strict

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2] / "src"
MESSAGES = [
    {"id": "small", "user": "u_105", "text": "Refund 20 euros on A-1045, please."},
    {"id": "large", "user": "u_109", "text": "Refund 150 euros on A-1049, please."},
    {"id": "ask", "user": "u_101", "text": "Where is my order A-1042?"},
]
USED = Usage(input_tokens=1000, output_tokens=100)


def desk(sent: Sent) -> Reply:
    """What a good model would do next: look up, refund what is asked for, reply, answer."""
    strict.check(sent.body)
    messages = sent.body["messages"]
    text = next(m["content"] for m in messages if m["role"] == "user")
    done = [c["function"]["name"] for m in messages for c in m.get("tool_calls", ())]
    order, amount = re.search(r"A-\d+", text), re.search(r"(\d+) euros", text)
    assert order
    if "find_order" not in done:
        return call("find_order", number=order[0])
    if amount and "refund" not in done:
        return call("refund", order=order[0], amount=amount[1])
    if "send_reply" not in done:
        return call("send_reply", text="Done.")
    return Reply(Say("Done."), usage=USED)


def call(name: str, **arguments: str) -> Reply:
    return Reply(Call(name, **arguments), usage=USED, quirks=Quirks(ids="repeated"))


async def demo(
    server: StrictProvider, folder: Path, *words: str
) -> tuple[int, list[dict[str, Any]]]:
    """The exit status and the JSON lines of a demo with these messages."""
    file = folder / "messages.jsonl"
    file.write_text("".join(json.dumps(message) + "\n" for message in MESSAGES))
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "remit.cli", "demo", "--json", "--messages", str(file)),
        *("--dir", str(folder / "demo"), "--model", "openai:gpt-test"),
        *("--base-url", server.openai_url, *words),
        stdout=PIPE,
        stderr=PIPE,
        env=kept | {"PYTHONPATH": str(SOURCE), "OPENAI_API_KEY": "sk-test"},
    )
    out, err = await asyncio.wait_for(process.communicate(), 55)
    assert process.returncode is not None
    assert not err, err.decode()
    return process.returncode, [json.loads(line) for line in out.decode().splitlines()]


def books(lines: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = [line for line in lines if line["kind"] == "books"]
    return found


async def test_a_models_refunds_are_made_once_though_a_worker_dies(tmp_path: Path) -> None:
    async with StrictProvider(desk) as server:
        code, lines = await demo(server, tmp_path, "--price", "3,15")

    found = books(lines)
    assert code == 0, lines[-1]
    assert found["runs"] == {"succeeded": 3}
    refunds = {(one["order"], one["amount"]): one["refunds"] for one in found["refunds"]}
    assert refunds == {("A-1045", "20.00"): 1, ("A-1049", "150.00"): 1}
    assert max(one["entered"] for one in found["refunds"]) > 1
    assert [line for line in lines if line.get("step") == "decided"]
    assert found["spend"]["rates"] == "at 3 in and 15 out per million tokens, as declared"
    costs = sorted(Decimal(one["cost"]) for one in found["spend"]["by_run"])
    assert costs == [Decimal("0.0135"), Decimal("0.018"), Decimal("0.018")]
    assert "openai:gpt-test" in next(line["text"] for line in lines if line.get("step") == "model")


async def test_without_prices_no_money_is_shown(tmp_path: Path) -> None:
    async with StrictProvider(desk) as server:
        code, lines = await demo(server, tmp_path)

    spend = books(lines)["spend"]
    assert code == 0, lines[-1]
    assert (spend["rates"], spend["total"]) == ("no rates were declared", None)
    assert {one["cost"] for one in spend["by_run"]} == {"-"}


async def test_a_model_that_refuses_everybody_fails_the_demo(tmp_path: Path) -> None:
    refused = ProviderError(status=404, message="No such model", code="model_not_found")
    async with StrictProvider(lambda sent: refused) as server:
        code, lines = await demo(server, tmp_path)

    assert code == 1
    assert "model_not_found" in json.dumps(lines[-1])


@pytest.mark.parametrize(
    "words", [["--base-url", "http://x"], ["--price", "1,2"], ["--json-tools"]]
)
def test_options_about_a_model_need_one(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    from remit.cli import main

    assert main(["demo", *words]) == 2
    assert "--model" in capsys.readouterr().err
