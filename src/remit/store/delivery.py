"""Whether answers can be delivered: all of them, or none."""

from __future__ import annotations

from collections.abc import Mapping

from remit.store.records import Undelivered
from remit.values.results import Status


def undelivered(
    status: Status, asked: Mapping[str, bytes | None], answers: Mapping[str, bytes]
) -> Undelivered | None:
    """Why a run that asks for the keys of `asked` cannot take all of `answers`, if so. Keys that
    are answered already have their answer."""
    answered = {key: had for key in answers if (had := asked.get(key)) is not None}
    unknown = tuple([key for key in answers if key not in asked])
    return Undelivered(status, answered, unknown) if answered or unknown else None
