"""Under pytest a test fails if one of its scripts ran out or was not used up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ENDS = ("PASSED", "FAILED", "ERROR")
TESTS = """
import asyncio
import contextlib
import socket
import pytest
from remit import Agent, App, Budget, ModelRequest
from remit.testing import StrictProvider
from remit.testing.model import Say, ScriptedModel

REQUEST = ModelRequest(instructions="", messages=())
AGENT = Agent(name="desk", model="a:b", budget=Budget(turns=1))


async def ask(model):
    return [chunk async for chunk in model.stream(REQUEST)]


@pytest.fixture
def model():
    return ScriptedModel([Say("one")])


@pytest.fixture(scope="module")
def shared():
    return ScriptedModel([Say("one"), Say("two")])


async def test_good_first_half(shared):
    await ask(shared)


async def test_good_other_half(shared):
    await ask(shared)


def test_good_sync():
    asyncio.run(ask(ScriptedModel([Say("one")])))


async def test_good_async():
    await ask(ScriptedModel([Say("one")]))


async def test_good_fixture(model):
    await ask(model)


def test_bad_left_sync():
    ScriptedModel([Say("one")])


async def test_bad_left_async():
    ScriptedModel([Say("one")])


async def test_bad_left_in_a_task():
    async def make():
        ScriptedModel([Say("one")])
    await asyncio.create_task(make())


def test_bad_left_fixture(model):
    pass


async def test_bad_ran_out_and_was_caught():
    with contextlib.suppress(AssertionError):
        await ask(ScriptedModel([]))


async def test_bad_ran_out_inside_an_app():
    desk = AGENT.replace(model=ScriptedModel([]))
    async with App(agents=[desk], store="memory:") as app:
        run = await app.run("desk", "Hello")
    assert run.status == "failed"


def test_bad_provider_left():
    StrictProvider([Say("one")])


def test_bad_reaches_out(no_network):
    socket.getaddrinfo("example.com", 80)


def test_bad_own_error():
    ScriptedModel([Say("one")])
    raise ValueError("the error of the test itself")


def test_good_after_bad():
    pass
"""


@pytest.mark.slow
def test_a_test_cannot_pass_beside_its_script(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
    plugin = ["-p", "remit.testing.plugin", "-o", "asyncio_mode=auto", "-rA", "--tb=line"]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), *plugin, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    lines = done.stdout.splitlines()
    ended = [line.split() for line in lines if line.startswith(ENDS) and "::" in line]
    passed = {words[1].partition("::")[2] for words in ended if words[0] == "PASSED"}
    failed = {words[1].partition("::")[2] for words in ended if words[0] != "PASSED"}
    assert passed, done.stdout + done.stderr
    assert all(name.startswith("test_good") for name in passed), done.stdout
    assert all(name.startswith("test_bad") for name in failed), done.stdout
    assert len(passed) == 6
    assert len(failed) == 9
    assert "ValueError: the error of the test itself" in done.stdout
