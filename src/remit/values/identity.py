"""Who asks: users, tenants and callers."""

from __future__ import annotations

import re

import msgspec

_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


class Caller(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who asks or decides: an app's own id of a person, their tenant, roles and permissions."""

    user: str | None = None
    tenant: str | None = None
    roles: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()


def is_id(value: object) -> bool:
    """Whether `value` has the shape of a user's or tenant's id (1 to 64 of A-Za-z0-9._:-)."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None
