"""What may be wrong with the Python that runs this, and with what is installed in it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from remit.cli.doctor.finding import Finding

_TESTED = ((3, 11), (3, 13))


def python(version: tuple[int, int]) -> Iterator[Finding]:
    """`version` is major and minor."""
    oldest, newest = _TESTED
    if not oldest <= version <= newest:
        yield Finding(
            "warning",
            "python-untested",
            f"remit is not tested on Python {_dotted(version)}",
            f"use Python {_dotted(oldest)} to {_dotted(newest)}",
        )


def installed(package: str) -> bool:
    """Whether the package could be imported."""
    try:
        return find_spec(package) is not None
    except (ValueError, ModuleNotFoundError):  # the second where what it stands in is missing
        return False


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
