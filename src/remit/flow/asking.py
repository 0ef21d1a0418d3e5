"""What somebody asks of a workflow, and where its runs stand in a thread."""

from __future__ import annotations

from typing import Any

import msgspec

from remit.kernel.facts import Asked
from remit.values.errors import ConfigError, UserIdError
from remit.values.identity import is_id


class FlowInput(msgspec.Struct, frozen=True, tag="workflow", tag_field="t"):
    """The input of a workflow's run, plain, as its first fact holds it."""

    input: Any


def check_ids(user: str | None, tenant: str | None, thread: str | None) -> None:
    """Raise UserIdError or ConfigError for ids of another shape."""
    for kind, value in (("user", user), ("tenant", tenant)):
        if value is not None and not is_id(value):
            raise UserIdError(kind=kind, value=value)
    if thread is not None and not is_id(thread):
        raise ConfigError(f"thread {thread!r} is no id: use 1 to 64 of A-Z a-z 0-9 . _ : -")


def thread_key(workflow: str, asked: Asked) -> str | None:
    """The thread's key in the store: a thread is its workflow's and its user's own."""
    if asked.thread is None:
        return None
    return f"{asked.tenant or ''}/{asked.user or ''}/{workflow}/{asked.thread}"
