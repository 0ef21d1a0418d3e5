"""A guard that lets nothing out of this machine."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import sys
import sysconfig
from asyncio import base_events
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

_INTERNET = (socket.AF_INET, socket.AF_INET6)
_CONNECTS = ("socket.connect", "socket.sendto", "socket.sendmsg")
_LOOKS_UP = ("socket.getaddrinfo", "socket.gethostbyname")
_NOT_WHO = tuple(
    str(Path(place)) for place in (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
)


class NetworkRefusedError(AssertionError):
    """Something wanted to reach further than loopback."""

    def __init__(self, address: object, who: str) -> None:
        super().__init__(
            f"{who} wanted to reach {address!r}: no_network lets nothing out but to loopback"
        )
        self.address = address


@contextmanager
def no_network() -> Iterator[None]:
    """Refuse every connection and every look-up of a name but those of loopback and of Unix
    sockets, in every thread, with a NetworkRefusedError that says who tried.

    What does not go through Python's sockets is not seen: a database driver in C, another
    process, another event loop than asyncio's own.
    """
    guard = _guard()
    guard.depth += 1
    try:
        yield
    finally:
        guard.depth -= 1


class _Guard:
    """Refuses while it is entered, `depth` times."""

    def __init__(self) -> None:
        self.depth = 0

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        """An audit hook: what it raises, the call that is audited raises."""
        if not self.depth:
            return
        if event in _CONNECTS:
            if args[0].family in _INTERNET:
                self.check(args[1])
        elif event in _LOOKS_UP:
            self.check((args[0], 0))

    def check(self, address: object) -> None:
        """Raise unless `address` is on this machine. A socket that is connected already sends to
        no address."""
        if not isinstance(address, tuple) or _is_here(address[0]):
            return
        raise NetworkRefusedError(address, _who(sys._getframe(1)))


@cache
def _guard() -> _Guard:
    """The one guard of this process. Audit hooks can never be taken away."""
    guard = _Guard()
    looked_up = base_events.BaseEventLoop.getaddrinfo

    async def getaddrinfo(loop: Any, host: Any, port: Any, **options: Any) -> Any:
        # The look-up itself is made on a thread, where nobody can be seen to have asked.
        if guard.depth:
            guard.check((host, port))
        return await looked_up(loop, host, port, **options)

    base_events.BaseEventLoop.getaddrinfo = getaddrinfo  # type: ignore[method-assign, assignment]  # as said
    sys.addaudithook(guard.hook)
    return guard


def _is_here(host: object) -> bool:
    if host is None:
        return True
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    name = name.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    found = mapped or address
    # The unspecified address is for listening; who connects to it reaches this machine.
    return found.is_loopback or found.is_unspecified


def _who(frame: FrameType | None) -> str:
    """The code nearest to the attempt that is not of the standard library, and the task it is."""
    found = "something"
    while frame is not None:
        name = frame.f_code.co_filename
        if name != __file__ and not _is_standard(name):
            found = f"{name}:{frame.f_lineno} ({frame.f_code.co_name})"
            break
        frame = frame.f_back
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return found
    return found if task is None else f"{found}, in the task {task.get_name()},"


def _is_standard(name: str) -> bool:
    return name.startswith("<") or (name.startswith(_NOT_WHO) and "site-packages" not in name)
