"""Who asks: users, tenants and callers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from remit.values.kinds import ConfigError

_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


class Caller(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who asks or decides: an app's own id of a person, their tenant, roles and permissions.
    Raises ConfigError for what is no text, and no set of texts."""

    user: str | None = None
    tenant: str | None = None
    roles: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name in ("user", "tenant"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ConfigError(f"Caller.{name} must be an id, which is text, not {value!r:.80}")
        for name in ("roles", "may"):
            given = getattr(self, name)
            if type(given) is not frozenset or not all(isinstance(each, str) for each in given):
                msgspec.structs.force_setattr(self, name, _texts(name, given))


def is_id(value: object) -> bool:
    """Whether `value` has the shape of a user's or tenant's id (1 to 64 of A-Za-z0-9._:-)."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _texts(name: str, given: Any) -> frozenset[str]:
    """`given` as a set of texts. Raises ConfigError."""
    listed = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    found = list(given) if listed else []
    if not listed or not all(isinstance(each, str) for each in found):
        raise ConfigError(
            f"Caller.{name} must be a set of texts, like {{'staff'}}, not {given!r:.80}"
        )
    return frozenset(found)
