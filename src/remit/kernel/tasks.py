"""Starting tasks in a group that may be ending."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from remit.kernel.lease import Leaving


def spawn(tasks: asyncio.TaskGroup, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """`work` as a child of `tasks`; raises Leaving where the group is ending already."""
    try:
        return tasks.create_task(work)
    except RuntimeError:
        work.close()
        raise Leaving from None
