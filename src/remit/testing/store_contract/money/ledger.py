"""Laws of what the ledger answers."""

from __future__ import annotations

import pytest

from remit.store.money import Charge, LedgerSum
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import now
from remit.testing.store_contract.money.purse import a_spender, spent, usage
from remit.testing.store_contract.money.settlement import TO_MIDNIGHT

BIG = 2**53 + 1


async def spend(store: Store, clock: ManualClock) -> None:
    """Three runs' money: a power of two a call, on two days."""
    one = await a_spender(store, id="r1", tenant="acme", user="u", program="clerk@1")
    two = await a_spender(store, id="r2", tenant="acme", user="v", program="clerk@2")
    three = await a_spender(store, id="r3", program="other")
    dear, cheap = Charge(model="dear", purpose="turn", body=b"1"), "cheap"
    await one.settle("a", 1, charge=dear)
    await one.settle("b", 2, charge=Charge(model=cheap, purpose="brief", body=b"2"))
    await two.settle("a", 4, charge=dear, estimated=True)
    clock.advance(TO_MIDNIGHT)
    await two.settle("b", 8, charge=Charge(model=cheap, purpose="turn", body=b"3"))
    await three.settle("a", 16, charge=dear, estimated=True)


def sums(*rows: tuple[str | None, int, int, int]) -> list[LedgerSum]:
    return [LedgerSum((group,), nano, estimated, calls) for group, nano, estimated, calls in rows]


GROUPED = {
    "user": sums((None, 16, 16, 1), ("u", 3, 0, 2), ("v", 12, 4, 2)),
    "tenant": sums((None, 16, 16, 1), ("acme", 15, 4, 4)),
    "run": sums(("r1", 3, 0, 2), ("r2", 12, 4, 2), ("r3", 16, 16, 1)),
    "program": sums(("clerk", 15, 4, 4), ("other", 16, 16, 1)),
    "model": sums(("cheap", 10, 0, 2), ("dear", 21, 20, 3)),
    "purpose": sums(("brief", 2, 0, 1), ("turn", 29, 20, 4)),
    "day": sums(("2027-01-15", 7, 4, 3), ("2027-01-16", 24, 16, 2)),
}


class LedgerLaws:
    """Each call that was paid for stands in the ledger once, for ever, and adds up exactly."""

    async def test_without_groups_all_is_one_sum(self, store: Store, clock: ManualClock) -> None:
        assert await usage(store) == [LedgerSum((), 0, 0, 0)]
        await spend(store, clock)

        assert await usage(store) == [LedgerSum((), 31, 20, 5)]
        assert await usage(store, user="nobody") == [LedgerSum((), 0, 0, 0)]

    @pytest.mark.parametrize("by", GROUPED)
    async def test_money_is_grouped(self, store: Store, clock: ManualClock, by: str) -> None:
        assert await usage(store, by) == []
        await spend(store, clock)

        assert await usage(store, by) == GROUPED[by]

    async def test_a_call_of_an_agent_inside_another_is_that_agents(self, store: Store) -> None:
        """Settled, or left held when its run ends."""
        run = await a_spender(store, id="r1", program="chief@1")
        inner = Charge(model="m", purpose="turn", body=b"1", program="scout")
        await run.settle("a", 1, charge=inner)
        await run.settle("b", 2, charge=Charge(model="m", purpose="turn", body=b"2"))
        await run.hold("c", 4, charge=inner)
        await run.write(status="succeeded")

        assert await usage(store, "program") == sums(("chief", 2, 0, 1), ("scout", 5, 4, 2))

    async def test_money_is_grouped_by_several(self, store: Store, clock: ManualClock) -> None:
        await spend(store, clock)

        assert await usage(store, "day", "model", "user") == [
            LedgerSum(("2027-01-15", "cheap", "u"), 2, 0, 1),
            LedgerSum(("2027-01-15", "dear", "u"), 1, 0, 1),
            LedgerSum(("2027-01-15", "dear", "v"), 4, 4, 1),
            LedgerSum(("2027-01-16", "cheap", "v"), 8, 0, 1),
            LedgerSum(("2027-01-16", "dear", None), 16, 16, 1),
        ]
        assert [found.group for found in await usage(store, "user", "tenant")] == [
            (None, None),
            ("u", "acme"),
            ("v", "acme"),
        ]

    async def test_money_is_narrowed_by_all_that_is_named(
        self, store: Store, clock: ManualClock
    ) -> None:
        await spend(store, clock)
        day = now(clock)

        async def nano(**fields: object) -> int:
            (found,) = await usage(store, **fields)
            return found.nano

        assert await nano(user="u") == 3
        assert await nano(tenant="acme") == 15
        assert await nano(run="r2") == 12
        assert await nano(name="clerk") == 15
        assert await nano(name="clerk@1") == 0
        assert await nano(since=day) == 24
        assert await nano(until=day) == 7
        assert await nano(since=day, until=day) == 0
        assert await nano(since=day, until=day + 1, tenant="acme") == 8

    async def test_an_unknown_group_is_refused(self, store: Store) -> None:
        with pytest.raises(ValueError, match="colour"):
            await usage(store, "user", "colour")

    async def test_groups_come_in_one_order(self, store: Store) -> None:
        for user in ("b", "B", "ä", "a", "a b", None, "Z", "z"):
            payer = await a_spender(store, user=user)
            await payer.settle("call", 1)

        users = [found.group[0] for found in await usage(store, "user")]

        assert users == [None, "B", "Z", "a", "a b", "b", "z", "ä"]

    async def test_the_ledger_outlives_the_runs(self, store: Store, clock: ManualClock) -> None:
        one, two = await a_spender(store, user="u"), await a_spender(store)
        for payer in (one, two):
            await payer.settle("call", 7)
            await payer.write(status="succeeded")
        clock.advance(1)
        await store.forget("u", None)
        assert await store.delete_before(now(clock)) == 1

        assert await spent(store, one.had.run) == await spent(store, two.had.run) == (7, 0, 1)
        assert await usage(store, "user") == sums((None, 7, 0, 1), ("u", 7, 0, 1))

    async def test_the_ledger_adds_up_exactly(self, store: Store) -> None:
        payer = await a_spender(store)
        for number in range(5):
            await payer.settle(f"call {number}", BIG, estimated=number == 0)

        assert await usage(store) == [LedgerSum((), 5 * BIG, BIG, 5)]
