"""Nothing gets out of the machine, and who tried is named."""

from __future__ import annotations

import asyncio
import socket
import threading
from pathlib import Path

import httpx2
import pytest

from remit import Agent, Budget
from remit.models.openai_chat import OpenAIChat
from remit.testing import NetworkRefusedError, Say, StrictProvider, no_network

ELSEWHERE = "192.0.2.1"
"""An address for documentation: nobody has it."""


def test_a_connection_to_elsewhere_is_refused_and_says_who_tried() -> None:
    with no_network(), socket.socket() as sock, pytest.raises(NetworkRefusedError) as raised:
        sock.connect((ELSEWHERE, 80))

    assert f"{__file__}:" in str(raised.value)
    assert "test_a_connection_to_elsewhere" in str(raised.value)
    assert raised.value.address == (ELSEWHERE, 80)


def test_a_packet_to_elsewhere_is_refused() -> None:
    with no_network(), socket.socket(type=socket.SOCK_DGRAM) as sock:
        with pytest.raises(NetworkRefusedError):
            sock.sendto(b"x", (ELSEWHERE, 9))
        with pytest.raises(NetworkRefusedError):
            sock.sendmsg([b"x"], [], 0, (ELSEWHERE, 9))


@pytest.mark.parametrize("name", ["example.com", b"example.com", ELSEWHERE, "localhost.example"])
def test_a_name_is_not_looked_up(name: str | bytes) -> None:
    with no_network(), pytest.raises(NetworkRefusedError):
        socket.getaddrinfo(name, 80)


def test_an_old_look_up_is_refused_too() -> None:
    with no_network(), pytest.raises(NetworkRefusedError):
        socket.gethostbyname("example.com")


async def test_a_client_is_told_and_the_error_names_its_task() -> None:
    with no_network():
        async with httpx2.AsyncClient() as client:
            with pytest.raises(NetworkRefusedError) as raised:
                await client.get("http://example.com/")

    assert "in the task" in str(raised.value)
    assert "'example.com'" in str(raised.value)


async def test_a_look_up_of_the_loops_says_who_asked() -> None:
    with no_network(), pytest.raises(NetworkRefusedError, match="of_the_loops_says_who_asked"):
        await asyncio.get_running_loop().getaddrinfo("example.com", 80)


def test_another_thread_is_guarded() -> None:
    found: list[BaseException] = []

    def reach() -> None:
        try:
            socket.getaddrinfo("example.com", 80)
        except NetworkRefusedError as error:
            found.append(error)

    with no_network():
        thread = threading.Thread(target=reach)
        thread.start()
        thread.join()
    assert len(found) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "localhost", "::1", "0.0.0.0", None])
def test_loopback_is_let_through(host: str | None) -> None:
    with no_network():
        assert socket.getaddrinfo(host, 80)


async def test_a_provider_on_loopback_can_be_asked(no_network: None) -> None:
    async with StrictProvider([Say("Hi")]) as provider, httpx2.AsyncClient() as client:
        response = await client.post(
            f"{provider.openai_url}/chat/completions",
            json={"model": "m", "messages": [{"role": "user", "content": "a"}]},
            headers={"authorization": "Bearer k"},
        )
    assert response.json()["choices"][0]["message"]["content"] == "Hi"


def test_a_unix_socket_is_let_through(tmp_path: Path, no_network: None) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(path)
        server.listen()
        client.connect(path)


def test_the_guard_ends_with_its_block_and_guards_can_be_nested() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        with no_network():
            with no_network():
                pass
            with pytest.raises(NetworkRefusedError):
                sock.connect((ELSEWHERE, 9))
        # A datagram socket connects without a packet; a machine without a route says so itself.
        assert sock.connect_ex((ELSEWHERE, 9)) in range(200)


def test_connecting_by_number_is_refused() -> None:
    with no_network(), socket.socket() as sock, pytest.raises(NetworkRefusedError):
        sock.connect_ex((ELSEWHERE, 80))


async def test_an_agents_model_out_there_is_not_reached(no_network: None) -> None:
    model = OpenAIChat("gpt-test", base_url="http://example.com/v1", api_key="k")
    agent = Agent(name="a", model=model, budget=Budget(turns=1))
    with pytest.raises(NetworkRefusedError, match=r"example\.com"):
        await agent.run("Hi")
