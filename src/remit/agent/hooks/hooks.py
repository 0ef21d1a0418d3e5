"""Functions of the app's own that an agent asks on its way, and what they are given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

from remit.tools.function import is_async
from remit.tools.tool import Tool
from remit.values.content import Call
from remit.values.errors import ConfigError
from remit.values.messages import Message, ResultStatus
from remit.values.results import Turn
from remit.values.usage import Usage

CHOICES = frozenset({"auto", "none", "required"})


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a budget; None where it sets no bound."""

    turns: int | None = None
    cost: Decimal | None = None
    tool_calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookContext:
    """What a hook may know of the run. `turn` is counted from 0, `messages` is a copy of what the
    run has added to its conversation so far. `phase` is None: nothing fills it
    yet."""

    run_id: str
    turn: int
    phase: str | None
    messages: tuple[Message, ...]
    usage: Usage
    left: Left
    user: str | None
    tenant: str | None
    deps: Any


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model reads of a call."""

    text: str
    status: ResultStatus = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPlan:
    """How one turn is asked for; None leaves it as it is.

    `instructions` take the place of the agent's. `tools`, by name or as they are, are all that
    the turn may call: none may be added. `model` is a `provider:name` of the agent's catalogue.
    `tool_choice` is "auto", "none", "required" (some tool), or the name of one that must be
    called. Raises ConfigError for what has another form.
    """

    instructions: str | None = None
    tools: Iterable[str | Tool] | None = None
    model: str | None = None
    tool_choice: str | None = None

    def __post_init__(self) -> None:
        if self.tools is not None:
            if isinstance(self.tools, str | Tool) or not isinstance(self.tools, Iterable):
                raise ConfigError(f"TurnPlan.tools must be a list of tools, not {self.tools!r:.80}")
            names = [tool.name if isinstance(tool, Tool) else tool for tool in self.tools]
            object.__setattr__(self, "tools", tuple(names))
        for name in ("instructions", "model", "tool_choice"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ConfigError(f"TurnPlan.{name} must be text, not {value!r:.80}")

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of `tools`."""
        return None if self.tools is None else tuple(map(str, self.tools))


Prepare = Callable[[HookContext], TurnPlan | Awaitable[TurnPlan | None] | None]
Before = Callable[[HookContext, Call], ToolResult | Awaitable[ToolResult | None] | None]
After = Callable[[HookContext, Call, ToolResult], ToolResult | Awaitable[ToolResult | None] | None]
OnTurn = Callable[[HookContext, Turn], Awaitable[None] | None]
OnAnswer = Callable[[HookContext, str], str | Awaitable[str | None] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What an agent asks the app on its way; each sync or async, and None changes nothing.

    `prepare_turn` says how the next turn is asked for. `before_tool` may give a call a result
    instead of letting it run; it is asked before a person is, and again about the arguments that
    are about to run. Of a call's result only what `after_tool` gives is recorded, shown and
    traced. `on_turn` is told of each complete turn. `on_answer` sends an answer back with a
    reason; after `send_backs` of them the run ends `exhausted`. What is said is recorded, once
    for each asking. A hook that raises ends the run as an error, and one that takes longer than
    the budget's time ends it as that does. A sync one runs on the event
    loop, so it must not wait. Raises ConfigError for what is no function.
    """

    prepare_turn: Prepare | None = None
    before_tool: Before | None = None
    after_tool: After | None = None
    on_turn: OnTurn | None = None
    on_answer: OnAnswer | None = None
    send_backs: int = 2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "send_backs" and value is not None and not callable(value):
                raise ConfigError(f"Hooks.{field.name} must be a function, not {value!r:.80}")
        if type(self.send_backs) is not int or self.send_backs < 0:
            raise ConfigError(
                f"Hooks.send_backs must be a whole number of at least 0, not {self.send_backs!r}"
            )


def check_in_place(hooks: Hooks, tool: Tool) -> None:
    """Raise ConfigError where `after_tool` would have to wait inside a transaction that cannot."""
    if tool.transactional and not tool.is_async and is_async(hooks.after_tool):
        raise ConfigError(
            f"tool {tool.name!r} is transactional and sync, so what after_tool gives is recorded"
            " on the thread that writes: make that hook a plain `def`"
        )
