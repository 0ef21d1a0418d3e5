"""Types at the border of the record: what goes in must come out the same, live and replayed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from remit.flow import canonical
from remit.flow.canonical import settled
from remit.tools.typeddict import lifted
from remit.values import codec
from remit.values.errors import ConfigError

_SCALARS = (str, bool, int, type(None))
_RETURNS = "give plain JSON data, or tell the type with returns="


_UNTOLD: dict[str, bool] = {"untold": True}


class MisfitError(Exception):
    """A value does not fit; the text says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What values of one type look like in the record. Without an `adapter` they are plain JSON
    data, and look like themselves; `mend` is what to do about one that is none."""

    adapter: Any = None
    name: str = "plain JSON data"
    mend: str = _RETURNS

    def keep(self, value: Any) -> Any:
        """`value` as plain data from which `load` can make it. Raises MisfitError."""
        if self.adapter is None:
            _check_plain(value, self.mend)
            return _copied(value)
        try:
            checked = self.adapter.validate_python(value)
            plain = settled(codec.decode(self.adapter.dump_json(checked), object), checked)
        except Exception as error:
            raise MisfitError(f"it does not fit {self.name}: {_told(error)}") from error
        self.load(plain)
        return plain

    def load(self, plain: Any) -> Any:
        """The value that `plain` stands for; the caller's own. Raises MisfitError."""
        if self.adapter is None:
            return plain if isinstance(plain, _SCALARS) else _copied(plain)
        try:
            return self.adapter.validate_json(codec.encode(plain))
        except Exception as error:
            raise MisfitError(f"it does not fit {self.name}: {_told(error)}") from error

    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of what `load` takes; None for any JSON value."""
        if self.adapter is None:
            return None
        try:
            found: dict[str, Any] = self.adapter.json_schema()
        except Exception as error:
            raise ConfigError(f"{self.name} has no JSON Schema: {_told(error)}") from error
        return found


PLAIN = Shape()
SENT = Shape(mend="give plain data, like model.model_dump(mode='json')")
"""What people answer and send, who have no type to tell."""
UNTOLD = Shape(mend="annotate it with its type, or give plain JSON data")
"""A workflow's input or output whose type is not annotated."""


def shape_of(type_: Any, what: str, plain: Shape = PLAIN) -> Shape:
    """The shape of a type, `plain` for None. Raises ConfigError, which begins with `what`,
    for what Pydantic cannot check."""
    if type_ is None or type_ is Any:
        return plain
    try:
        return _cached(type_)
    except TypeError:
        # It cannot be hashed, such as a type annotated with a list.
        pass
    except _NoType as error:
        raise ConfigError(f"{what}: {error}") from error.__cause__
    try:
        return _made(type_)
    except _NoType as error:
        raise ConfigError(f"{what}: {error}") from error.__cause__


def digest(given: Sequence[Any]) -> str | None:
    """What tells two lists of arguments apart, as far as each is plain data or something that
    Pydantic can serialise; None where none of them is."""
    told = [_told_apart(one) for one in given]
    if all(one is _UNTOLD for one in told):
        return None
    said = canonical.text(told).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=8).hexdigest()


def _told_apart(value: Any) -> Any:
    """`value` as plain data; `_UNTOLD` for what two processes could not compare."""
    try:
        _check_plain(value)
        return _copied(value)
    except (MisfitError, ValueError, RecursionError):
        pass
    from pydantic_core import to_jsonable_python

    try:
        if canonical.is_used_up(value):
            return _UNTOLD
        return settled(to_jsonable_python(value, bytes_mode="base64"), value)
    except Exception:
        return _UNTOLD


class _NoType(Exception):
    """It is no type that Pydantic can check."""


def _made(type_: Any) -> Shape:
    from pydantic import TypeAdapter

    name = getattr(type_, "__name__", None) or str(type_)
    try:
        return Shape(TypeAdapter(lifted(type_, {})), name[:100])
    except Exception as error:
        raise _NoType(f"{type_!r:.80} is no type that Pydantic can check") from error


_cached = lru_cache(maxsize=1024)(_made)


def _check_plain(value: Any, mend: str = _RETURNS, depth: int = 0) -> None:
    kind = type(value)
    if kind in _SCALARS:
        return
    if depth > 100:
        raise MisfitError("it holds itself, or is more than 100 deep: make it flatter")
    if kind is float:
        if not math.isfinite(value):
            raise MisfitError(f"{value} has no form in JSON: give None or text instead")
    elif kind is list or kind is tuple:
        for item in value:
            _check_plain(item, mend, depth + 1)
    elif kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise MisfitError(f"a key of {key!r:.60} would not stay what it is: {mend}")
            _check_plain(item, mend, depth + 1)
    else:
        raise MisfitError(f"a {kind.__name__[:80]} would not stay what it is: {mend}")


def _copied(plain: Any) -> Any:
    return codec.decode(codec.encode(plain), object)


def _told(error: Exception) -> str:
    errors = getattr(error, "errors", None)
    if errors is None or not callable(errors):
        return f"{type(error).__name__}: {error}"[:500]
    found = errors(include_url=False, include_context=False, include_input=False)
    parts = []
    for each in found[:5]:
        where = ".".join(map(str, each["loc"]))
        parts.append(f"{where}: {each['msg']}" if where else str(each["msg"]))
    return "; ".join(parts)[:500]
