"""Laws of what a meter counts, and for how long."""

from __future__ import annotations

import asyncio

import pytest

from remit.store.money import Ceiling, Denied, Granted, Meter, MeterState
from remit.store.protocol import Store
from remit.store.records import Appended
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import held, item, now
from remit.testing.store_contract.money.purse import (
    MINUTE,
    a_day,
    a_spender,
    an_hour,
    bound,
    cost,
    state,
)
from remit.testing.store_contract.money.settlement import TO_MIDNIGHT


class MeterLaws:
    """Money counts until its period is over, never shorter and at most one slot longer."""

    async def test_a_day_ends_at_midnight(self, store: Store, clock: ManualClock) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.settle("call", 100, meters=(day,))
        clock.advance(TO_MIDNIGHT - 1)
        assert await payer.hold("no", 1, Ceiling(day, 100)) == Denied("day", 100, 100, 0)

        clock.advance(1)

        assert await state(store, day) == (0, 0)
        assert await payer.hold("yes", 100, Ceiling(day, 100)) == Granted()
        clock.advance(24 * 3600 - 1)
        assert await state(store, day) == (0, 100)
        clock.advance(1)
        assert await state(store, day) == (0, 0)

    async def test_a_window_rolls(self, store: Store, clock: ManualClock) -> None:
        payer, hour = await a_spender(store), an_hour()
        for number in range(3):
            await payer.settle(f"call {number}", 10**number, meters=(hour,))
            clock.advance(20 * 60)

        seen = []
        for _ in range(4):
            seen.append(await state(store, hour))
            clock.advance(59)
            seen.append(await state(store, hour))
            clock.advance(19 * 60 + 1)

        assert [spent for spent, _ in seen] == [111, 111, 110, 110, 100, 100, 0, 0]

    async def test_money_counts_for_the_whole_window_and_one_slot_more(
        self, store: Store, clock: ManualClock
    ) -> None:
        payer, hour = await a_spender(store), an_hour()
        clock.advance(30)
        await payer.settle("call", 100, meters=(hour,))
        clock.advance(3600)
        assert await state(store, hour) == (100, 0)
        clock.advance(29)
        assert await payer.hold("no", 1, Ceiling(hour, 100)) == Denied("hour", 100, 100, 0)

        clock.advance(1)

        assert await payer.hold("yes", 100, Ceiling(hour, 100)) == Granted()

    async def test_held_money_leaves_the_window_too(self, store: Store, clock: ManualClock) -> None:
        payer, hour = await a_spender(store), an_hour()
        await payer.hold("one", 40, Ceiling(hour, 100))
        clock.advance(30 * 60)
        await payer.hold("two", 60, Ceiling(hour, 100))
        assert await state(store, hour) == (0, 100)

        clock.advance(31 * 60)

        assert await state(store, hour) == (0, 60)
        denied = await payer.hold("three", 41, Ceiling(hour, 100))
        assert denied == Denied("hour", 100, 0, 60)
        assert await payer.hold("four", 40, Ceiling(hour, 100)) == Granted()

    @pytest.mark.parametrize("minutes", [61, 122, 1_000_000])
    async def test_a_meter_that_slept_is_empty(
        self, store: Store, clock: ManualClock, minutes: int
    ) -> None:
        payer, hour = await a_spender(store), an_hour()
        for number in range(61):
            await payer.settle(f"call {number}", 1, meters=(hour,))
            clock.advance(60)
        assert await state(store, hour) == (60, 0)

        clock.advance(minutes * 60)

        assert await state(store, hour) == (0, 0)

    async def test_meters_are_told_in_their_order(self, store: Store) -> None:
        payer = await a_spender(store)
        meters = [a_day(key, tenant="nobody") for key in ("b", "a\0", "\ud800", "ä", "")]
        for number, meter in enumerate(meters):
            await payer.settle(f"s{number}", number, meters=(meter,))
            await payer.hold(f"h{number}", 10, Ceiling(meter, 100))

        told = await store.meters([*meters, meters[0], a_day("never seen", tenant="nobody")])

        states = [MeterState(number, 10) for number in range(5)]
        assert told == [*states, states[0], MeterState(0, 0)]
        assert await store.meters([]) == []

    async def test_a_meter_keeps_apart_what_others_count(self, store: Store) -> None:
        payer, one, two = await a_spender(store), a_day("one"), a_day("two")
        await payer.hold("call", 70, Ceiling(one, 100))

        assert await payer.hold("other", 70, Ceiling(two, 100)) == Granted()
        await payer.settle("call", 5)

        assert [await state(store, meter) for meter in (one, two)] == [(5, 0), (0, 70)]


class SeedLaws:
    """A meter that is not there yet begins with what the ledger holds."""

    async def test_a_fresh_meter_begins_with_what_was_spent(self, store: Store) -> None:
        for number, (tenant, user) in enumerate(
            [("acme", "u"), ("acme", "v"), ("other", "u"), (None, "u"), (None, None)]
        ):
            payer = await a_spender(store, tenant=tenant, user=user)
            await payer.settle("call", 10**number)
        meters = [
            a_day("of a user", tenant="acme", user="u"),
            a_day("of a tenant", tenant="acme"),
            a_day("of a user anywhere", user="u"),
            a_day("of all"),
            a_day("of nobody", tenant="acme", user="w"),
        ]

        assert [spent for spent, _ in [await state(store, meter) for meter in meters]] == [
            1,
            11,
            1101,
            11111,
            0,
        ]

    async def test_the_first_hold_on_a_meter_sees_what_was_spent(self, store: Store) -> None:
        payer = await a_spender(store, tenant="acme")
        await payer.settle("before", 80)
        day = a_day(tenant="acme")

        assert await payer.hold("call", 21, Ceiling(day, 100)) == Denied("day", 100, 80, 0)
        assert await payer.hold("less", 20, Ceiling(day, 100)) == Granted()
        assert await state(store, day) == (80, 20)

    @pytest.mark.parametrize("way", ["settle", "hold", "read"])
    async def test_nothing_is_counted_twice(self, store: Store, way: str) -> None:
        payer, day = await a_spender(store, tenant="acme"), a_day(tenant="acme")
        await payer.settle("before", 80)

        if way == "settle":
            await payer.settle("call", 5, meters=(day,))
        else:
            if way == "read":
                assert await state(store, day) == (80, 0)
            await payer.hold("call", 10, Ceiling(day, 100))
            await payer.settle("call", 5)

        assert await state(store, day) == (85, 0)

    async def test_what_was_spent_leaves_a_fresh_meter_in_its_own_time(
        self, store: Store, clock: ManualClock
    ) -> None:
        payer, hour = await a_spender(store, tenant="acme"), an_hour(tenant="acme")
        for number in range(4):
            await payer.settle(f"call {number}", 10**number)
            clock.advance(25 * 60)

        seen = []
        for _ in range(5):
            seen.append((await state(store, hour))[0])
            clock.advance(10 * 60)

        assert seen == [1100, 1100, 1000, 1000, 0]

    async def test_a_settlement_across_midnight_seeds_the_day_before(
        self, store: Store, clock: ManualClock
    ) -> None:
        payer = await a_spender(store, tenant="acme")
        clock.advance(TO_MIDNIGHT - 1)
        await payer.hold("call", 70)
        clock.advance(2)
        await payer.settle("call", 60)

        assert await state(store, a_day(tenant="acme")) == (0, 0)

    async def test_the_money_of_deleted_runs_still_counts(
        self, store: Store, clock: ManualClock
    ) -> None:
        payer, day = await a_spender(store, tenant="acme", user="u"), a_day(tenant="acme")
        await payer.hold("call", 60, Ceiling(day, 100))
        await payer.write(status="succeeded")
        assert await store.forget("u", "acme") == 1

        fresh = a_day("fresh", tenant="acme", user="u")

        assert [await state(store, meter) for meter in (day, fresh)] == [(60, 0)] * 2

    async def test_first_holds_side_by_side_see_what_was_spent(
        self, store: Store, other_store: Store
    ) -> None:
        for turn in range(20):
            tenant = f"t{turn}"
            payers = [
                await a_spender((store, other_store)[number % 2], tenant=tenant)
                for number in range(4)
            ]
            await payers[0].settle("before", 40)
            day = a_day(f"day {turn}", tenant=tenant)
            grants = await asyncio.gather(
                *(payer.hold("call", 30, Ceiling(day, 100)) for payer in payers)
            )
            assert grants.count(Granted()) == 2
            assert await state(store, day) == (40, 60)

    async def test_a_meter_of_another_period_counts_by_its_own(
        self, store: Store, clock: ManualClock
    ) -> None:
        payer = await a_spender(store, tenant="acme")
        await payer.settle("call", 100)
        clock.advance(5 * 60)
        two_minutes = Meter(key="short", slots=3, width=MINUTE, tenant="acme")
        week = Meter(key="week", slots=61, width=7 * 24 * 60 * MINUTE // 60, tenant="acme")

        assert [await state(store, meter) for meter in (two_minutes, week)] == [(0, 0), (100, 0)]
        assert now(clock) % MINUTE == 0

    async def test_a_meter_made_in_a_batch_counts_what_the_batch_spent_before(
        self, store: Store
    ) -> None:
        one, two, three = [await held(store, tenant="acme") for _ in range(3)]
        day = a_day(tenant="acme")

        outcomes = await store.append(
            [
                item(one, settles=(cost("call", 80, meters=(day,)),)),
                item(three, settles=(cost("call", 5, meters=(day,)),)),
                item(two, holds=(bound("call", 16, Ceiling(day, 100)),)),
                item(one, seq=2, holds=(bound("next", 15, Ceiling(day, 100)),)),
            ]
        )

        assert outcomes == [
            Appended(2, 0),
            Appended(2, 0),
            Appended(2, 0, (Denied("day", 100, 85, 0),)),
            Appended(3, 0, (Granted(),)),
        ]
        assert await state(store, day) == (85, 15)

    async def test_money_held_before_a_meter_was_made_is_counted_once(self, store: Store) -> None:
        payer, other = [await a_spender(store, tenant="acme") for _ in range(2)]
        await payer.hold("call", 70)
        day = a_day(tenant="acme")

        outcomes = await store.append(
            [
                item(payer.had, seq=payer.seq, settles=(cost("call", 60, meters=(day,)),)),
                item(other.had, holds=(bound("call", 40, Ceiling(day, 100)),)),
            ]
        )

        assert outcomes == [Appended(3, 0), Appended(2, 0, (Granted(),))]
        assert await state(store, day) == (60, 40)

    async def test_a_clock_that_is_set_back_gives_no_money_back(
        self, store: Store, clock: ManualClock
    ) -> None:
        payer, day = await a_spender(store), a_day()
        assert await payer.hold("a", 60, Ceiling(day, 100)) == Granted()

        clock.advance(-24 * 3600)

        assert await payer.hold("b", 60, Ceiling(day, 100)) == Denied("day", 100, 0, 60)
        assert await payer.hold("c", 30, Ceiling(day, 100)) == Granted()
        assert await payer.hold("d", 30, Ceiling(day, 100)) == Denied("day", 100, 0, 90)
        await payer.settle("c", 20)
        await payer.settle("e", 5, meters=(day,))
        assert await state(store, day) == (25, 60)

    async def test_a_meter_of_another_shape_goes_on_with_what_is_spent_and_held(
        self, store: Store, clock: ManualClock
    ) -> None:
        payer, day, hour = await a_spender(store), a_day("one"), an_hour("one")
        await payer.hold("a", 20, Ceiling(day, 100))
        await payer.settle("a", 15)
        await payer.hold("b", 30, Ceiling(day, 100))

        assert await state(store, hour) == (15, 30)
        assert await payer.hold("c", 60, Ceiling(hour, 100)) == Denied("one", 100, 15, 30)
        await payer.settle("b", 1)
        assert await state(store, hour) == (16, 0)
        clock.advance(3600)
        assert await state(store, hour) == (16, 0)
        clock.advance(60)
        assert await state(store, hour) == (0, 0)

    async def test_asking_in_another_shape_changes_no_meter(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day("one", tenant="acme")
        await payer.hold("a", 20, Ceiling(day, 100))
        await payer.settle("a", 15)
        assert await state(store, an_hour("one", tenant="acme")) == (0, 0)

        assert await state(store, day) == (15, 0)
