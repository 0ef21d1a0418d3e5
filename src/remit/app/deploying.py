"""Which code is deployed here."""

from __future__ import annotations

import ast
import hashlib
import sys
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType

from remit.agent.agent import Agent
from remit.agent.inside import agents_of
from remit.app.roster import Roster
from remit.flow.workflow import Workflow


def deployed(roster: Roster) -> str:
    """A digest of the programs that are driven here: their names and versions, remit's version,
    and the source of the modules that workflows stand in, with those of the app's own that they
    name, and so on. The same in every process of one deployment."""
    parts = sorted(_parts(roster))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _parts(roster: Roster) -> Iterator[bytes]:
    yield metadata.version("remit").encode()
    for key, member in roster.programs:
        yield key.encode()
        if isinstance(member, Agent):
            inner = agents_of(member.tools)
            yield from (f"{agent.name}@{agent.version}".encode() for agent in inner)
        if isinstance(member, Workflow):
            code = member.function.__code__
            yield bytes(code.co_code) + repr(code.co_names).encode()
            for file in _files(member.function.__module__):
                yield file.read_bytes()


def _files(module: str) -> list[Path]:
    """The files of a module and of all that it imports, as far as they are the app's own: of the
    same package, or not installed at all."""
    package = module.partition(".")[0]
    files: dict[str, Path] = {}
    left = {module}
    while left:
        name = left.pop()
        found = sys.modules.get(name)
        file = getattr(found, "__file__", None)
        if name in files or found is None or file is None or not file.endswith(".py"):
            continue
        if name.partition(".")[0] == package or not _is_installed(Path(file).resolve()):
            files[name] = Path(file)
            left |= set(_imported(found, files[name]))
    return [files[name] for name in sorted(files)]


def _imported(module: ModuleType, file: Path) -> Iterator[str]:
    """The modules that a module names in its imports, and what may be modules among them."""
    package = (module.__package__ or "").split(".")
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            around = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*around, *([node.module] if node.module else [])])
            yield name
            yield from (f"{name}.{alias.name}" for alias in node.names)


def _is_installed(file: Path) -> bool:
    return any(file.is_relative_to(place) for place in _INSTALLED)


_INSTALLED = {
    Path(path).resolve()
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
    if (path := sysconfig.get_path(name))
} | {Path(__file__).resolve().parents[1]}
