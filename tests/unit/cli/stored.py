"""Databases with runs in every state, as an App leaves them for an operator."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from remit import Agent, App, Budget, Pricing, tool
from remit.cli import address
from remit.errors import ProviderError
from remit.models.protocol import Card
from remit.testing.model import Answer, Call, Item, Say, ScriptedModel
from remit.values.usage import Usage

RATES = Card(pricing=Pricing(input=3, output=15))


@tool(approval="always")
async def pay(to: str, amount: int) -> str:
    """Pays somebody."""
    return f"paid {amount} to {to}"


@tool
async def look_up(what: str) -> str:
    """Looks something up."""
    return f"{what} is there"


def clerk(items: Sequence[Item], turns: int = 5) -> Agent[Any, Any]:
    return Agent(
        name="clerk",
        model=ScriptedModel(items, card=RATES),
        tools=[pay, look_up],
        budget=Budget(turns=turns),
    )


def store_in(folder: Path) -> str:
    return address.of_file(folder / "desk.db")


def stored(
    folder: Path, items: Sequence[Item], *, turns: int = 5, cancel: bool = False, **asked: Any
) -> str:
    """A run with this script, driven to its end or its pause; its id."""

    async def drive() -> str:
        async with App(agents=[clerk(items, turns)], store=store_in(folder)) as app:
            asked.setdefault("user", "u_1")
            run = await app.run("clerk", "please look into it", **asked)
            if cancel:
                await app.cancel(run.id, reason="not wanted any more")
            return run.id

    return asyncio.run(drive())


def driven_on(folder: Path, run: str, items: Sequence[Item]) -> Any:
    """The run after another process has worked on the store."""

    async def drive() -> Any:
        async with App(agents=[clerk(items)], store=store_in(folder)) as app:
            return await app.wait(run)

    return asyncio.run(drive())


def answered(folder: Path) -> str:
    return stored(
        folder,
        [
            Call("look_up", what="A-1"),
            Answer(Say("It is there."), usage=Usage(input_tokens=1000, output_tokens=10)),
        ],
        thread="t_1",
    )


def paused(folder: Path, calls: int = 1) -> str:
    return stored(folder, [[Call("pay", to=f"c_{n}", amount=n) for n in range(1, calls + 1)]])


def limited(folder: Path) -> str:
    return stored(folder, [Call("look_up", what="A-1")], turns=1)


def failed(folder: Path) -> str:
    return stored(folder, [ProviderError(status=400, message="no such model")])


def cancelled(folder: Path) -> str:
    return stored(folder, [Call("pay", to="c_1", amount=1)], cancel=True)


def run_remit(
    *arguments: str, folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`remit` with `arguments`, in a process of its own and with its output in a pipe."""
    return subprocess.run(
        [sys.executable, "-m", "remit.cli", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
