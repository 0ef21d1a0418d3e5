"""Branches side by side: each has a scope of its own, and all are waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from remit.kernel.exits import is_error
from remit.kernel.lease import Cancelled, LeaseLost
from remit.kernel.scope import Scope
from remit.tools.leash import Leash
from remit.tools.threads import Threads
from remit.values.errors import LetGo

Branch = Callable[[Scope], Awaitable[Any]]


class _End(msgspec.Struct, frozen=True):
    """How a branch ended."""

    value: Any = None
    error: BaseException | None = None


async def gather(scope: Scope, branches: Sequence[Branch]) -> list[Any]:
    """What the branches give, in their order; when all have ended, the first failure by order is
    raised. What lets the run go ends them all."""
    path = scope.enter("gather")
    recorded = scope.course.script.branches.get(path.removesuffix("/"), 0)
    if recorded > len(branches):
        item = scope.course.script.items(f"{path}{recorded - 1}/")[0]
        raise scope.course.differ(item, f"{path.removesuffix('/')} of {len(branches)} branches")
    if not branches:
        return []
    with scope.doing(path.removesuffix("/")):
        ends = await _Gathering(scope, path, branches).ends()
    scope.course.check()
    for end in ends:
        if end.error is not None:
            raise end.error
    return [end.value for end in ends]


class _Gathering:
    """The branches of one gather, while they run."""

    def __init__(self, scope: Scope, path: str, branches: Sequence[Branch]) -> None:
        self._scope = scope
        self._branches = branches
        self._open = len(branches)
        self._threads = Threads()
        numbers = range(len(branches))
        # All at once: what is recorded of one that has not begun yet is not come to yet, either.
        self._scopes = [scope.inside(f"{path}{number}/") for number in numbers]
        self._leashes: list[Leash] = []
        self._tasks: list[asyncio.Task[_End]] = []

    async def ends(self) -> list[_End]:
        """How each ended. Whatever ends this call ends the branches."""
        self._scope.course.begin(len(self._branches))
        try:
            async with asyncio.TaskGroup() as group:
                for inner, branch in zip(self._scopes, self._branches, strict=True):
                    leash = Leash(self._live(inner, branch), self._threads)
                    self._leashes.append(leash)
                    self._tasks.append(group.create_task(_awaited(leash)))
        except BaseExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        finally:
            self._drop()
        return [
            _End(error=asyncio.CancelledError()) if task.cancelled() else task.result()
            for task in self._tasks
        ]

    async def _live(self, inner: Scope, branch: Branch) -> _End:
        inner.begin()
        try:
            return await _end(inner, branch)
        except LetGo as let_go:
            self._scope.course.end(let_go)
            if isinstance(let_go, LeaseLost | Cancelled):
                self._cut()
            return _End(error=let_go)
        except BaseExceptionGroup:
            # A task group of the branch's own may have wrapped what ended the drive.
            if self._scope.course.ended is None:
                raise
            return _End(error=self._scope.course.ended)
        finally:
            self._open -= 1
            self._scope.course.leave(last=not self._open)

    def _cut(self) -> None:
        """Nothing of the branches may be kept any more: stop them."""
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()

    def _drop(self) -> None:
        """Close what never began, and leave what would not be cancelled for good."""
        for task, leash in zip(self._tasks, self._leashes, strict=True):
            if task.done():
                leash.coroutine.close()
            else:
                leash.is_cut = True
                task.cancel()


async def _awaited(leash: Leash) -> _End:
    end: _End = await leash
    return end


async def _end(scope: Scope, branch: Branch) -> _End:
    try:
        value = await branch(scope)
    except BaseException as error:
        if not is_error(error):
            raise
        scope.close(f"an error in {scope.path.removesuffix('/')}: {error!r:.200}")
        return _End(error=error)
    scope.close(f"the end of {scope.path.removesuffix('/')}")
    return _End(value)
