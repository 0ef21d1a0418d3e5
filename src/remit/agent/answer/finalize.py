"""The last function of an agent: from its answered run to what the run gives."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from remit.agent.hooks.lent import lent_messages, lent_turn
from remit.agent.state import AgentState
from remit.kernel.run import ActiveRun
from remit.tools.plain import to_plain
from remit.values import codec
from remit.values.errors import ConfigError
from remit.values.results import Result

Finalize = Callable[[Result], Any | Awaitable[Any]]


class Finalized(msgspec.Struct, frozen=True, tag="final", tag_field="t"):
    """What the function gave, as plain data."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """The function, and what checks and builds what it returns where it tells a type."""

    function: Finalize
    adapter: Any = None

    async def make(self, run: ActiveRun, state: AgentState, output: Any) -> Any:
        """What the function gives for the answered run, from the journal or by calling it. A
        message that comes after an answer leads to another, which has an ending of its own."""
        name = f"turn:{len(state.turns) - 1}/finalize"
        done = await run.step(name, partial(self._call, state, output), Finalized)
        return done.value

    def build(self, plain: Any) -> Any:
        """The value that `plain` stands for; `plain` itself where it fits the type no more."""
        if self.adapter is None:
            return plain
        try:
            return self.adapter.validate_json(codec.encode(plain))
        except ValueError:
            return plain

    async def _call(self, state: AgentState, output: Any) -> Finalized:
        value = self.function(
            Result(
                run_id=state.run_id,
                finish="answer",
                text=state.text,
                output=output,
                messages=lent_messages(state.all_messages()),
                turns=tuple(map(lent_turn, state.turns)),
                usage=state.usage,
            )
        )
        if inspect.isawaitable(value):
            value = await value
        if self.adapter is None:
            return Finalized(to_plain(value))
        try:
            value = self.adapter.validate_python(value)
        except ValueError as error:
            raise ConfigError(
                f"finalize gave what its return annotation denies: {error}"
            ) from error
        return Finalized(codec.decode(self.adapter.dump_json(value), object))


def ending(function: Any, what: str) -> Ending | None:
    """The ending that `function` is. Raises ConfigError, which begins with `what`, for none."""
    if function is None:
        return None
    if not callable(function):
        raise ConfigError(f"{what} must be a function of the run's result, not {function!r:.80}")
    try:
        returned = typing.get_type_hints(function).get("return", Any)
    except Exception as error:
        raise ConfigError(f"{what}: its return type cannot be read: {error}") from error
    if returned is Any or returned is type(None):
        return Ending(function)
    from pydantic import TypeAdapter

    try:
        return Ending(function, TypeAdapter(returned))
    except Exception as error:
        raise ConfigError(
            f"{what} must return what Pydantic can check, not {returned!r:.80}"
        ) from error
