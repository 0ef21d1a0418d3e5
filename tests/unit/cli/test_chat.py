"""`remit chat`, as a process of its own, against a server on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import Loopback, Reply, delta, events, loopback, plain, stream

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[3] / "src"
USED = {"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 200}}


def reply(*pieces: str) -> Reply:
    return stream(*(delta(content=piece) for piece in pieces), delta("stop"), USED)


def command(server: Loopback | None, *words: str) -> list[str]:
    told = ["-m", "remit.cli", "chat", "--model", "openai:gpt-test"]
    return [*told, *(["--base-url", server.base_url] if server else []), *words]


def surroundings(**more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return kept | {"PYTHONPATH": str(SOURCE), "TERM": "xterm", "OPENAI_API_KEY": "sk-test"} | more


async def talk(
    server: Loopback | None, said: str, *words: str, folder: Path | None = None
) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a chat whose input is `said`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command(server, *words),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=surroundings(),
        cwd=folder,
    )
    out, err = await asyncio.wait_for(process.communicate(said.encode()), 40)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_each_line_is_a_message_of_one_thread() -> None:
    async with loopback(reply("Hel", "lo."), reply("Ada.")) as server:
        code, out, err = await talk(
            server, "I am Ada.\n\n  \nWho am I?", "--instructions", "Be brief."
        )

    assert (code, err) == (0, "")
    assert out == "Hello.\nAda.\n"
    assert server.requests[1].body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "I am Ada."},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Who am I?"},
    ]


async def test_a_thread_in_a_store_is_taken_up_again(tmp_path: Path) -> None:
    words = ["--store", "sqlite:///chat.db", "--thread", "t_1"]
    async with loopback(reply("Hello."), reply("Ada.")) as server:
        await talk(server, "I am Ada.\n", *words, folder=tmp_path)
        code, out, _ = await talk(server, "Who am I?\n", *words, folder=tmp_path)

    assert (code, out) == (0, "Ada.\n")
    assert [m["content"] for m in server.requests[1].body["messages"]] == [
        "I am Ada.",
        "Hello.",
        "Who am I?",
    ]
    assert (tmp_path / "chat.db").exists()


async def test_json_lines_hold_the_text_and_the_cost() -> None:
    async with loopback(reply("Hel", "lo.")) as server:
        code, out, _ = await talk(server, "Hi\n", "--json", "--price", "3,15")

    lines: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert {line["v"] for line in lines} == {1}
    assert lines[-1]["kind"] == "done"
    assert (lines[-1]["text"], lines[-1]["finish"]) == ("Hello.", "answer")
    assert lines[-1]["usage"]["cost"] == "0.006"
    assert [line["text"] for line in lines[:-1]] == ["Hel", "lo."]


async def test_without_prices_no_cost_is_told() -> None:
    async with loopback(reply("Hi")) as server:
        _, out, _ = await talk(server, "Hi\n", "--json")

    assert json.loads(out.splitlines()[-1])["usage"]["cost"] is None


async def test_what_a_terminal_would_obey_is_escaped() -> None:
    async with loopback(reply("a\x1b[2J", "b")) as server:
        _, out, _ = await talk(server, "Hi\n")

    assert out == "a\\x1b[2Jb\n"


async def test_a_failed_answer_is_told_and_the_talk_goes_on() -> None:
    refused = plain({"error": {"message": "Too fast", "code": "invalid_request_error"}}, 400)
    async with loopback(refused, reply("Hello.")) as server:
        code, out, err = await talk(server, "Hi\nHi again\n")

    assert (code, out) == (1, "Hello.\n")
    assert err.startswith("remit: failed: ")
    assert "Too fast" in err
    assert err.count("\n") == 1


async def test_a_model_that_is_asked_again_is_told_before_its_answer() -> None:
    busy = plain({"error": {"message": "Overloaded"}}, 503)
    async with loopback(busy, reply("Hello."), busy, reply("Again.")) as server:
        code, out, err = await talk(server, "Hi\n")
        _, lines, _ = await talk(server, "Hi\n", "--json")

    assert (code, out) == (0, "Hello.\n")
    assert re.fullmatch(r"remit: openai:\S+: busy 503, asking again in 0\.\d s\n", err)
    told = json.loads(lines.splitlines()[0])
    assert (told["kind"], told["failure"], told["status"]) == ("retry", "busy", 503)


async def test_what_cannot_work_is_told_before_the_first_message() -> None:
    for words, told in (
        (["--price", "3"], "--price"),
        (["--model", "groq:x"], "no adapter"),
        (["--model", "gpt"], "provider:name"),
        (["--base-url", "localhost"], "http://"),
        (["--turns", "0"], "--turns"),
    ):
        code, out, err = await talk(None, "Hi\n", *words)
        assert (code, out) == (2, "")
        assert told in err
        assert err.count("\n") == 1


@dataclass
class Terminal:
    """A chat in a terminal, seen from the other end of it."""

    process: Process
    end: int
    left: bytes = b""
    """What was shown and not yet looked at."""

    def write(self, keys: str) -> None:
        os.write(self.end, keys.encode())

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    async def until(self, words: str) -> str:
        """What is shown up to `words`."""
        while words.encode() not in self.left:
            self.left += await asyncio.wait_for(asyncio.to_thread(os.read, self.end, 1024), 20)
        shown, found, self.left = self.left.partition(words.encode())
        return (shown + found).decode()

    async def gone(self) -> int:
        """The exit status."""
        return await asyncio.wait_for(self.process.wait(), 20)


@asynccontextmanager
async def terminal(server: Loopback, *words: str) -> AsyncIterator[Terminal]:
    """A chat in a terminal of its own."""
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command(server, *words),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=surroundings(),
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(ours)


async def test_in_a_terminal_it_asks_and_tells_what_was_used() -> None:
    async with loopback(reply("Hel", "lo.")) as server, terminal(server, "--price", "3,15") as at:
        await at.until("> ")
        at.write("Hi\n")
        shown = await at.until("]\r\n\r\n> ")
        at.write("\x04")
        code = await at.gone()

    assert "Hello." in shown
    assert "[1000 in, 200 out, cost 0.006]" in shown
    assert code == 0


async def test_text_is_shown_while_it_comes() -> None:
    pieces = [events(delta(content=piece), done=False) for piece in ("One ", "two ")]
    async with loopback(Reply(pieces, ending="hang")) as server, terminal(server) as at:
        await at.until("> ")
        at.write("Count\n")
        assert "One two" in await at.until("two")


async def test_ctrl_c_cancels_an_answer_and_the_talk_goes_on() -> None:
    endless = Reply([events(delta(content="Well"), done=False)], ending="hang")
    async with loopback(endless, reply("Hello.")) as server, terminal(server) as at:
        await at.until("> ")
        at.write("Talk\n")
        await at.until("Well")
        at.interrupt()
        await asyncio.wait_for(server.left.wait(), 10)
        shown = await at.until("> ")
        at.write("Hi\n")
        await at.until("Hello.")
        await at.until("> ")
        at.write("\x04")
        code = await at.gone()

    assert "cancelled" in shown
    assert code == 1


async def test_ctrl_c_at_the_prompt_leaves() -> None:
    async with loopback() as server, terminal(server) as at:
        await at.until("> ")
        at.interrupt()

        assert await at.gone() == 130
