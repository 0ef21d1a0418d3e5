"""Which code is deployed here."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from remit.app.roster import Roster
from remit.flow.workflow import Workflow


def deployed(roster: Roster) -> str:
    """A digest of the programs that are driven here: their names and versions, the source of the
    modules that workflows stand in, and remit's version. The same in every process of one
    deployment."""
    parts = sorted(_parts(roster))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _parts(roster: Roster) -> Iterator[bytes]:
    yield metadata.version("remit").encode()
    for key, member in roster.programs:
        yield key.encode()
        if isinstance(member, Workflow):
            yield _source(member)


def _source(workflow: Workflow) -> bytes:
    """The text of the module that the workflow stands in; of its code where there is no file."""
    code = workflow.function.__code__
    file = inspect.getsourcefile(code)
    path = None if file is None else Path(file)
    if path is None or not path.is_file():
        return bytes(code.co_code) + repr(code.co_names).encode()
    return path.read_bytes()
