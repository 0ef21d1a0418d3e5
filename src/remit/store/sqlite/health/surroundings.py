"""What is around a database file: its disk, its folder, and who else has it open."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress

_MOUNTS = "/proc/self/mountinfo"
_OCTAL = re.compile(r"\\([0-7]{3})")


def writable(path: str) -> bool:
    """Whether this process may write there, as the user that it acts as."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def free_bytes(folder: str) -> int | None:
    """How much room its disk has."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def file_system(folder: str) -> str | None:
    """The kind of the file system that `folder` is on; None where the system does not tell."""
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as mounts:
            return kind_of(os.path.realpath(folder), mounts.read())
    except OSError:
        return None


def kind_of(folder: str, mounts: str) -> str | None:
    """The kind of file system that is mounted nearest above `folder`, by Linux's `mountinfo`.

    Of two on one place the later one hides the other.
    """
    kind, nearest = None, -1
    for line in mounts.splitlines():
        before, found, after = line.partition(" - ")
        fields = before.split(" ")
        if not found or len(fields) < 5:
            continue
        place = _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), fields[4])
        if os.path.commonpath([place, folder]) == place and len(place) >= nearest:
            kind, nearest = after.split(" ")[0], len(place)
    return kind


def others(path: str) -> int | None:
    """How many other processes have the file open, of those that this user may look at; None
    where the system does not tell."""
    if not os.path.isdir("/proc/self/fd"):
        return None
    file = os.path.realpath(path)
    own = str(os.getpid())
    pids = [name for name in os.listdir("/proc") if name.isdigit() and name != own]
    return sum(any(opened == file for opened in _opened(pid)) for pid in pids)


def _opened(pid: str) -> Iterator[str]:
    folder = f"/proc/{pid}/fd"
    with suppress(OSError):
        for number in os.listdir(folder):
            with suppress(OSError):
                yield os.readlink(f"{folder}/{number}")
