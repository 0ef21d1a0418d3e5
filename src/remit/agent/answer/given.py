"""What an agent is given to answer: text, or a value of a type and the message made from it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from remit.values.errors import ConfigError

Prompt = Callable[[Any], str]


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """How a message is made: the value is checked by `adapter`, if any, and told by `prompt`."""

    agent: str = ""
    adapter: Any = None
    prompt: Prompt | None = None

    def message(self, value: Any) -> Any:
        """The message that asks about `value`. None, where that is no such value, asks nothing:
        a history is gone on with. Raises ConfigError for one that does not fit."""
        if value is None and self.adapter is None:
            return None
        text = value
        if self.adapter is not None:
            if value is None and not self._takes_none():
                return None
            try:
                value = self.adapter.validate_python(value)
                text = self.adapter.dump_json(value).decode()
            except ValueError as error:
                raise ConfigError(f"input of agent {self.agent!r} does not fit: {error}") from error
        if self.prompt is not None:
            text = self.prompt(value)
        return text

    def _takes_none(self) -> bool:
        try:
            self.adapter.validate_python(None)
        except ValueError:
            return False
        return True


TEXT = Given()


def given(agent: str, input: Any, prompt: Any) -> Given:
    """How the messages of an agent with this `input=` and `prompt=` are made. Raises ConfigError
    for what cannot make them."""
    if prompt is not None and (not callable(prompt) or inspect.iscoroutinefunction(prompt)):
        raise ConfigError(
            f"prompt of agent {agent!r} must be a function from its input to text,"
            f" not {prompt!r:.80}"
        )
    if input is None or input is str:
        return Given(agent, None, prompt)
    from pydantic import TypeAdapter

    try:
        return Given(agent, TypeAdapter(input), prompt)
    except Exception as error:
        raise ConfigError(
            f"input of agent {agent!r} must be a type that Pydantic can check, not {input!r:.80}"
        ) from error
