"""What the ledger answers about money."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypedDict, get_args

from remit.app.house import House
from remit.app.named import check_no_run, check_options
from remit.store.money import LedgerQuery, LedgerSum
from remit.values.clock import Clock
from remit.values.content import well_formed
from remit.values.errors import ConfigError, UserIdError
from remit.values.exact import from_nano
from remit.values.identity import is_id
from remit.values.moment import microseconds
from remit.values.spent import Spent

Group = Literal["user", "tenant", "run", "agent", "model", "purpose", "day"]
By = Group | Iterable[Group]
_GROUPS: tuple[str, ...] = get_args(Group)


class SpendOptions(TypedDict, total=False):
    """Which model calls `App.spend` adds up: those of a user, a tenant, a run, or an agent, inside
    others, too; made at `since` or later, and before `until`, both aware times."""

    user: str | None
    tenant: str | None
    run: str | None
    agent: str | None
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """`SpendOptions`, checked. Raises ConfigError and UserIdError."""

    by: By = ()
    user: str | None = None
    tenant: str | None = None
    run: str | None = None
    agent: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    groups: tuple[str, ...] = field(init=False)
    """The names of the groups, in order."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", _groups(self.by))
        for kind in ("user", "tenant"):
            value = getattr(self, kind)
            if value is not None and not is_id(value):
                raise UserIdError(kind=kind, value=value)
        check_no_run(self.run)
        for kind in ("run", "agent"):
            value = getattr(self, kind)
            if value is not None and (not isinstance(value, str) or well_formed(value) != value):
                raise ConfigError(f"{kind}= takes a text, not {value!r:.80}")
        for kind in ("since", "until"):
            value = getattr(self, kind)
            if value is not None:
                microseconds(value, kind)

    @classmethod
    def of(cls, method: str, by: By, options: SpendOptions) -> Spending:
        """The options that `method` was given."""
        more = ["by", "every"] if method == "watch_spend" else ["by"]
        check_options(method, options, [*SpendOptions.__annotations__, *more])
        return cls(by=by, **options)

    def query(self) -> LedgerQuery:
        """What the store is asked."""
        return LedgerQuery(
            by=tuple("program" if group == "agent" else group for group in self.groups),
            user=self.user,
            tenant=self.tenant,
            run=self.run,
            name=self.agent,
            since=None if self.since is None else microseconds(self.since, "since"),
            until=None if self.until is None else microseconds(self.until, "until"),
        )

    def told(self, found: LedgerSum) -> Spent:
        """A sum as people see it."""
        return Spent(
            by=dict(zip(self.groups, found.group, strict=True)),
            cost=from_nano(found.nano),
            estimated=from_nano(found.estimated),
            calls=found.calls,
        )


def _groups(by: object) -> tuple[str, ...]:
    groups = (by,) if isinstance(by, str) else by
    if not isinstance(groups, Iterable):
        raise ConfigError(f"by= takes names of groups, not {by!r:.80}")
    found = tuple(groups)
    for group in found:
        if group not in _GROUPS:
            raise ConfigError(f"by= takes any of {', '.join(_GROUPS)}, not {group!r:.80}")
    if len(set(found)) < len(found):
        raise ConfigError(f"by= names a group twice: {', '.join(map(str, found))}")
    return tuple(map(str, found))


async def spend(house: House, spending: Spending) -> list[Spent]:
    """`App.spend`."""
    return [spending.told(each) for each in await house.store.usage(spending.query())]


async def watch(
    house: House, clock: Clock, spending: Spending, every: float
) -> AsyncIterator[list[Spent]]:
    """`App.watch_spend`."""
    if isinstance(every, bool) or not isinstance(every, int | float) or not 0 < every <= 86_400:
        raise ConfigError(f"every= takes seconds, more than 0 and up to a day, not {every!r:.80}")
    newest: list[Spent] | None = None
    while True:
        found = await spend(house, spending)
        if found != newest:
            newest = found
            yield found
        await clock.sleep(every)
