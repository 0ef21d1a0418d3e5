"""Laws of what was really spent."""

from __future__ import annotations

import pytest

from remit.store.money import Ceiling, Charge, Denied, Granted
from remit.store.protocol import Store
from remit.store.records import Stopped
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import pause, row, status
from remit.testing.store_contract.money.purse import (
    MINUTE,
    a_day,
    a_spender,
    an_hour,
    bound,
    cost,
    spent,
    state,
    usage,
)

TO_MIDNIGHT = 16 * 3600.0
"""How many seconds a `ManualClock` stands before midnight at first."""


class SettlementLaws:
    """What was spent is written, whatever was held for it, at the instant of its hold."""

    async def test_a_settlement_takes_the_place_of_its_hold(self, store: Store) -> None:
        payer, day, hour = await a_spender(store), a_day(), an_hour()
        await payer.hold("call", 70, Ceiling(day, 100), Ceiling(hour, 100))

        await payer.settle("call", 25)

        assert await state(store, day) == await state(store, hour) == (25, 0)
        assert await spent(store, payer.had.run) == (25, 0, 1)

    async def test_a_settlement_above_its_hold_is_written(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.hold("call", 70, Ceiling(day, 100))

        await payer.settle("call", 130)

        assert await state(store, day) == (130, 0)
        assert await spent(store, payer.had.run) == (130, 0, 1)
        assert await payer.hold("more", 1, Ceiling(day, 100)) == Denied("day", 100, 130, 0)

    async def test_what_was_never_sent_is_given_back(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.hold("call", 70, Ceiling(day, 100))

        await payer.settle("call", 0, charge=None)

        assert await state(store, day) == (0, 0)
        assert await spent(store, payer.had.run) == (0, 0, 0)
        await payer.write(status="succeeded")
        assert await spent(store, payer.had.run) == (0, 0, 0)

    async def test_a_call_that_cost_nothing_is_written(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.hold("call", 70, Ceiling(day, 100))

        await payer.settle("call", 0)

        assert await state(store, day) == (0, 0)
        assert await spent(store, payer.had.run) == (0, 0, 1)

    async def test_money_is_given_back_before_it_is_held_again(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.hold("turn/1", 90, Ceiling(day, 100))

        outcome = await payer.write(
            settles=(cost("turn/1", 0, charge=None),),
            holds=(bound("turn/2", 100, Ceiling(day, 100)),),
        )

        assert outcome.grants == (Granted(),)
        assert await state(store, day) == (0, 100)

    async def test_what_nobody_held_counts_from_its_writing(
        self, store: Store, clock: ManualClock
    ) -> None:
        payer, day, hour = await a_spender(store), a_day(), an_hour()

        await payer.settle("call", 40, meters=(day, hour))

        assert await state(store, day) == await state(store, hour) == (40, 0)
        assert await spent(store, payer.had.run) == (40, 0, 1)
        clock.advance(61 * 60)
        assert await state(store, hour) == (0, 0)

    async def test_a_settlement_belongs_to_the_day_of_its_hold(
        self, store: Store, clock: ManualClock
    ) -> None:
        payer, day = await a_spender(store), a_day()
        clock.advance(TO_MIDNIGHT - 1)
        await payer.hold("call", 70, Ceiling(day, 100))
        clock.advance(2)
        assert await payer.hold("next", 60, Ceiling(day, 100)) == Granted()

        await payer.settle("call", 90)

        assert await state(store, day) == (0, 60)
        await payer.settle("next", 60)
        days = [(found.group, found.nano) for found in await usage(store, "day")]
        assert days == [(("2027-01-15",), 90), (("2027-01-16",), 60)]

    async def test_a_settlement_leaves_a_window_with_its_hold(
        self, store: Store, clock: ManualClock
    ) -> None:
        payer, hour = await a_spender(store), an_hour()
        await payer.hold("call", 70, Ceiling(hour, 100))
        clock.advance(30 * 60)
        await payer.settle("call", 50)
        clock.advance(30 * 60)
        assert await state(store, hour) == (50, 0)

        clock.advance(60)

        assert await state(store, hour) == (0, 0)

    @pytest.mark.parametrize("minutes", [61, 62, 122, 100_000])
    async def test_a_settlement_that_comes_after_its_window_changes_no_other(
        self, store: Store, clock: ManualClock, minutes: int
    ) -> None:
        payer, hour = await a_spender(store), an_hour()
        await payer.hold("call", 70, Ceiling(hour, 100))
        clock.advance(minutes * 60)
        assert await payer.hold("next", 40, Ceiling(hour, 100)) == Granted()

        await payer.settle("call", 10)

        assert await state(store, hour) == (0, 40)
        assert await spent(store, payer.had.run) == (10, 0, 1)

    async def test_the_first_settlement_of_a_name_is_kept(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.hold("call", 70, Ceiling(day, 100))
        await payer.settle("call", 25)

        await payer.settle("call", 60, estimated=True)

        assert await spent(store, payer.had.run) == (25, 0, 1)
        assert await state(store, day) == (25, 0)

    async def test_a_settlement_that_comes_again_counts_once(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        for nano in (40, 40, 50):
            await payer.settle("call", nano, meters=(day,))

        assert await state(store, day) == (40, 0)
        assert await spent(store, payer.had.run) == (40, 0, 1)

    @pytest.mark.parametrize("end", ["succeeded", "failed", "cancelled"])
    async def test_an_end_settles_what_is_held_at_its_bound(self, store: Store, end: str) -> None:
        payer, day = await a_spender(store), a_day()
        for name, nano in (("a", 10), ("b", 20), ("c", 40)):
            await payer.hold(name, nano, Ceiling(day, 100))

        await payer.write(status=end, settles=(cost("b", 5),))

        assert await state(store, day) == (55, 0)
        assert await spent(store, payer.had.run) == (55, 50, 3)

    @pytest.mark.parametrize("was", ["queued", "paused"])
    async def test_a_cancel_settles_what_is_held_at_its_bound(self, store: Store, was: str) -> None:
        payer, day = await a_spender(store, tenant="acme"), a_day()
        charge = Charge(model="dear", purpose="brief", body=b"bound")
        await payer.hold("call", 70, Ceiling(day, 100), charge=charge)
        if was == "queued":
            await store.release(payer.worker, payer.had.run, payer.had.token)
        else:
            await pause(store, payer.had, "k", seq=payer.seq)
        assert await status(store, payer.had.run) == was
        assert await state(store, day) == (0, 70)

        assert isinstance(await store.cancel(payer.had.run, b"end", 1, b"stop"), Stopped)

        assert await state(store, day) == (70, 0)
        (found,) = await usage(store, "model", "purpose", "tenant")
        assert (found.group, found.nano, found.estimated) == (("dear", "brief", "acme"), 70, 70)

    async def test_what_is_settled_at_an_end_belongs_to_the_instant_of_its_hold(
        self, store: Store, clock: ManualClock
    ) -> None:
        payer, hour = await a_spender(store), an_hour()
        await payer.hold("call", 70, Ceiling(hour, 100))
        held_at = (await row(store, payer.had.run)).created
        clock.advance(50 * 60)

        await payer.write(status="failed")

        assert await usage(store, until=held_at + MINUTE) == await usage(store)
        clock.advance(11 * 60)
        assert await state(store, hour) == (0, 0)

    async def test_a_pause_leaves_money_held(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.hold("call", 70, Ceiling(day, 100))

        await pause(store, payer.had, "k", seq=payer.seq)

        assert await state(store, day) == (0, 70)
        assert await spent(store, payer.had.run) == (0, 0, 0)
