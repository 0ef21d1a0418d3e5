"""`returns=`: what a tool has promised of its result, and whether it kept it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from remit.tools import schema as schemas
from remit.tools.arguments import shown_path
from remit.tools.plain import compact
from remit.values.content import sendable
from remit.values.errors import ConfigError


class BrokenPromiseError(Exception):
    """A result does not have the form that its tool promised."""


@dataclass(frozen=True, slots=True, eq=False)
class Promise:
    """A type or a JSON Schema that the JSON form of every result must fit, without coercion."""

    adapter: Any = None
    schema: schemas.Schema | None = None

    def check(self, plain: Any) -> None:
        """Raises BrokenPromiseError, saying what does not fit, for plain values that do not."""
        if self.schema is not None:
            problems = [(p.path, p.text) for p in self.schema.problems(plain)]
        else:
            problems = self._mismatches(plain)
        if problems:
            raise BrokenPromiseError(
                "; ".join(f"{shown_path(path)}{text}" for path, text in problems[:8])
            )

    def _mismatches(self, plain: Any) -> list[tuple[tuple[str | int, ...], str]]:
        from pydantic import ValidationError

        try:
            # A lone surrogate, which the reader cannot read, is text as any other here.
            self.adapter.validate_json(sendable(compact(plain)), strict=True)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            return [(each["loc"], each["msg"]) for each in found]
        return []


def promise(returns: Any, what: str) -> Promise | None:
    """The promise of `returns=`, None for none. Raises ConfigError for neither type nor schema."""
    if returns is None:
        return None
    if isinstance(returns, Mapping):
        return Promise(schema=schemas.checked(returns, f"{what}: returns", arguments=False))
    from pydantic import TypeAdapter

    if isinstance(returns, str):
        raise ConfigError(f"{what}: returns must be the type itself, not its name {returns!r:.80}")
    try:
        return Promise(adapter=TypeAdapter(returns))
    except Exception as error:
        raise ConfigError(
            f"{what}: returns must be a type that Pydantic can check, or a JSON Schema, "
            f"not {returns!r:.80}"
        ) from error
