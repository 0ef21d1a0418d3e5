"""Laws of holding money: no ceiling is ever overrun, and no entry refused."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from remit.store.money import MOST, Ceiling, Denied, Granted
from remit.store.protocol import Store
from remit.store.records import Appended, Fenced, News
from remit.testing.clock import ManualClock
from remit.testing.store_contract.arrange import (
    Handles,
    bodies,
    claim,
    held,
    item,
    lose,
    opened,
    row,
    write,
)
from remit.testing.store_contract.money.purse import (
    a_day,
    a_spender,
    an_hour,
    bound,
    cost,
    spent,
    state,
)

BIG = 2**53 + 1
HUGE = 2**60
"""The most that one call may cost."""


class HoldLaws:
    """Money is held if every ceiling has room for it, and not at all otherwise."""

    async def test_money_is_held_while_there_is_room(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()

        grants = [await payer.hold(f"call {n}", 40, Ceiling(day, 100)) for n in range(3)]

        assert grants == [Granted(), Granted(), Denied("day", 100, 0, 80)]
        assert await state(store, day) == (0, 80)

    async def test_a_ceiling_may_be_reached_and_not_passed(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()

        assert await payer.hold("over", 101, Ceiling(day, 100)) == Denied("day", 100, 0, 0)
        assert await payer.hold("all", 100, Ceiling(day, 100)) == Granted()
        assert await payer.hold("nothing", 0, Ceiling(day, 100)) == Granted()
        assert await payer.hold("more", 1, Ceiling(day, 100)) == Denied("day", 100, 0, 100)

    async def test_denied_money_refuses_no_entry(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()

        outcome = await payer.write(holds=(bound("call", 5, Ceiling(day, 4)),))

        assert outcome == Appended(2, 0, (Denied("day", 4, 0, 0),))
        assert await bodies(store, payer.had.run) == [b"asked", b"fact"]
        assert await state(store, day) == (0, 0)

    async def test_what_is_spent_and_what_is_held_are_told_apart(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.hold("one", 30, Ceiling(day, 100))
        await payer.settle("one", 25)
        await payer.hold("two", 60, Ceiling(day, 100))

        denied = await payer.hold("three", 20, Ceiling(day, 100))

        assert denied == Denied("day", 100, spent=25, held=60)
        assert await state(store, day) == (25, 60)

    async def test_all_ceilings_have_room_or_none_is_touched(self, store: Store) -> None:
        payer = await a_spender(store)
        a, b, c = a_day("a"), an_hour("b"), a_day("c")
        await payer.hold("before", 50, Ceiling(b, 100), Ceiling(c, 100))

        denied = await payer.hold("call", 60, Ceiling(a, 100), Ceiling(b, 100), Ceiling(c, 100))

        assert denied == Denied("b", 100, 0, 50)
        assert [await state(store, meter) for meter in (a, b, c)] == [(0, 0), (0, 50), (0, 50)]
        granted = await payer.hold("less", 50, Ceiling(c, 100), Ceiling(a, 100), Ceiling(b, 100))
        assert granted == Granted()
        assert [await state(store, meter) for meter in (a, b, c)] == [(0, 50), (0, 100), (0, 100)]

    async def test_the_holds_of_a_write_are_answered_in_order(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        wanted = [("one", 60), ("two", 60), ("three", 40), ("four", 1)]

        outcome = await payer.write(
            holds=tuple(bound(name, nano, Ceiling(day, 100)) for name, nano in wanted)
        )

        assert outcome.grants == (
            Granted(),
            Denied("day", 100, 0, 60),
            Granted(),
            Denied("day", 100, 0, 100),
        )

    async def test_the_ceiling_of_the_moment_counts(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.hold("one", 80, Ceiling(day, 100))

        assert await payer.hold("two", 10, Ceiling(day, 50)) == Denied("day", 50, 0, 80)
        assert await payer.hold("three", 120, Ceiling(day, 200)) == Granted()

    async def test_without_a_ceiling_money_is_held_and_nothing_counted(self, store: Store) -> None:
        payer = await a_spender(store)

        assert await payer.hold("call", BIG) == Granted()

        await payer.write(status="succeeded")
        assert await spent(store, payer.had.run) == (BIG, BIG, 1)

    async def test_a_refused_write_holds_and_settles_nothing(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.hold("before", 10, Ceiling(day, 100))
        await store.cancel(payer.had.run, b"end", 1, b"stop")
        money = {
            "settles": (cost("before", 5), cost("other", 7, meters=(day,))),
            "seq": payer.seq,
        }
        holds = (bound("call", 5, Ceiling(day, 100)),)

        outcomes = [
            await write(store, item(payer.had, **money, holds=holds, token=payer.had.token + 1)),
            await write(store, item(payer.had, **{**money, "seq": 1}, holds=holds)),
            await write(store, item(payer.had, **money, status="failed")),
            await write(store, item(payer.had, **money, holds=holds, withdraws=("k",))),
        ]

        assert outcomes == [Fenced(), Fenced(), News(1), News(1)]
        assert await state(store, day) == (0, 10)
        assert await spent(store, payer.had.run) == (0, 0, 0)

    async def test_money_harms_no_neighbour_in_a_batch(self, store: Store) -> None:
        day, other = a_day(), a_day("other")
        rich, poor, plain, lost, told, last = [await held(store) for _ in range(6)]
        await store.cancel(told.run, b"end", 1, b"stop")

        def wants(nano: int) -> dict[str, object]:
            return {"holds": (bound("call", nano, Ceiling(other, 500), Ceiling(day, 100)),)}

        outcomes = await store.append(
            [
                item(rich, **wants(70)),
                item(poor, **wants(70)),
                item(plain),
                item(lost, token=lost.token + 1, **wants(1)),
                item(told, status="failed", settles=(cost("call", 99, meters=(day,)),)),
                item(last, **wants(30)),
            ]
        )

        assert outcomes == [
            Appended(2, 0, (Granted(),)),
            Appended(2, 0, (Denied("day", 100, 0, 70),)),
            Appended(2, 0),
            Fenced(),
            News(1),
            Appended(2, 0, (Granted(),)),
        ]
        seqs = [(await row(store, one.run)).seq for one in (rich, poor, plain, lost, told, last)]
        assert seqs == [2, 2, 2, 1, 1, 2]
        assert [await state(store, meter) for meter in (day, other)] == [(0, 100), (0, 100)]

    async def test_a_batch_cannot_overrun_a_ceiling(self, store: Store) -> None:
        day = a_day()
        claims = [await held(store) for _ in range(16)]

        outcomes = await store.append(
            [item(one, holds=(bound("call", 30, Ceiling(day, 150)),)) for one in claims]
        )

        full = Denied("day", 150, 0, 150)
        assert outcomes == [
            Appended(2, 0, (Granted() if number < 5 else full,)) for number in range(16)
        ]

    async def test_runs_side_by_side_cannot_overrun_a_ceiling(
        self, store: Store, handles: Handles
    ) -> None:
        async with AsyncExitStack() as stack:
            others = [await stack.enter_async_context(opened(handles())) for _ in range(3)]
            await self._spend([store, *others])

    async def _spend(self, stores: list[Store]) -> None:
        store = stores[0]
        payers = [await a_spender(stores[number % 4]) for number in range(16)]
        for turn in range(25):
            day, hour = a_day(f"day {turn}"), an_hour(f"hour {turn}")
            grants = await asyncio.gather(
                *(
                    payer.hold(f"call {turn}", 30, Ceiling(day, 150), Ceiling(hour, 1000))
                    for payer in payers
                )
            )
            assert grants.count(Granted()) == 5
            assert await store.meters([day, hour]) == await stores[1].meters([day, hour])
            assert await state(store, day) == await state(store, hour) == (0, 150)

    async def test_ceilings_in_any_order_block_nobody(
        self, store: Store, other_store: Store
    ) -> None:
        meters = [a_day(letter) for letter in "abc"]
        payers = [await a_spender((store, other_store)[number % 2]) for number in range(6)]
        for turn in range(25):
            order = [Ceiling(meter, 10**9) for meter in meters]
            grants = await asyncio.gather(
                *(
                    payer.hold(f"call {turn}", 1, *(order if number % 2 else order[::-1]))
                    for number, payer in enumerate(payers)
                )
            )
            assert grants == [Granted()] * 6

        assert [await state(store, meter) for meter in meters] == [(0, 150)] * 3

    async def test_settlement_against_hold_leaves_one_truth(
        self, store: Store, other_store: Store
    ) -> None:
        one, two = await a_spender(store), await a_spender(other_store)
        for turn in range(40):
            day = a_day(f"day {turn}", tenant="nobody")
            assert await one.hold(f"call {turn}", 100, Ceiling(day, 100)) == Granted()
            settling = one.settle(f"call {turn}", 40)
            holding = two.hold(f"call {turn}", 60, Ceiling(day, 100))
            if turn % 2:
                _, grant = await asyncio.gather(settling, holding)
            else:
                grant, _ = await asyncio.gather(holding, settling)
            assert grant in (Granted(), Denied(day.key, 100, 0, 100))
            assert await state(store, day) == (40, 60 if grant == Granted() else 0)

    async def test_a_lost_holders_money_stays_held(self, store: Store, clock: ManualClock) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.hold("call", 70, Ceiling(day, 100))
        await lose(store, clock)
        assert await state(store, day) == (0, 70)
        again = await claim(store, payer.had.run)

        outcome = await write(
            store,
            item(
                again,
                settles=(cost("call", 70, estimated=True),),
                holds=(bound("call again", 30, Ceiling(day, 100)),),
            ),
        )

        assert outcome == Appended(3, 0, (Granted(),))
        assert await state(store, day) == (70, 30)
        assert await spent(store, payer.had.run) == (70, 70, 1)

    async def test_sums_are_exact_whatever_their_size(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        for number in range(3):
            await payer.hold(f"call {number}", BIG, Ceiling(day, 2**60))
        await payer.settle("call 0", BIG - 2)

        assert await state(store, day) == (BIG - 2, 2 * BIG)
        denied = await payer.hold("more", 2**60 - 3 * BIG + 3, Ceiling(day, 2**60))
        assert denied == Denied("day", 2**60, BIG - 2, 2 * BIG)
        assert await payer.hold("rest", 2**60 - 3 * BIG + 2, Ceiling(day, 2**60)) == Granted()

    async def test_a_meter_that_is_full_to_the_brim_takes_every_settlement_and_no_hold(
        self, store: Store
    ) -> None:
        payer, day, full = await a_spender(store), a_day(), Ceiling(a_day(), MOST)
        for number in range(12):
            await payer.settle(f"call {number}", HUGE, meters=(day,))

        assert await state(store, day) == (MOST, 0)
        assert await payer.hold("more", 1, full) == Denied("day", MOST, MOST, 0)
        assert await spent(store, payer.had.run) == (12 * HUGE, 0, 12)
        assert await state(store, a_day("fresh")) == (MOST, 0)
        assert await payer.hold("more", 1, Ceiling(a_day("made"), MOST)) != Granted()

    async def test_holds_without_end_fill_a_meter_and_no_more(self, store: Store) -> None:
        payer, day, most = await a_spender(store), a_day(), Ceiling(a_day(), MOST)

        grants = [await payer.hold(f"call {number}", HUGE, most) for number in range(9)]

        assert grants == [Granted()] * 7 + [Denied("day", MOST, 0, 7 * HUGE)] * 2
        assert await payer.hold("rest", HUGE - 1, most) == Granted()
        assert await state(store, day) == (0, MOST)
        await payer.write(status="succeeded")
        assert await state(store, day) == (MOST, 0)

    async def test_a_name_holds_money_once(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.hold("call", 10, Ceiling(day, 100))

        assert await payer.hold("call", 200, Ceiling(day, 100)) == Granted()
        assert await state(store, day) == (0, 10)
        await payer.settle("call", 7)
        assert await payer.hold("call", 20, Ceiling(day, 100)) == Granted()
        await payer.settle("call", 20)

        assert await state(store, day) == (7, 0)
        assert await spent(store, payer.had.run) == (7, 0, 1)
        with pytest.raises(ValueError, match="once under a name"):
            item(payer.had, holds=(bound("x", 1), bound("x", 1)))

    async def test_a_name_that_was_given_back_holds_money_again(self, store: Store) -> None:
        payer, day = await a_spender(store), a_day()
        await payer.hold("call", 10, Ceiling(day, 100))
        await payer.settle("call", 0, charge=None)
        assert await payer.hold("more", 101, Ceiling(day, 100)) == Denied("day", 100, 0, 0)

        assert await payer.hold("call", 20, Ceiling(day, 100)) == Granted()
        assert await payer.hold("more", 80, Ceiling(day, 100)) == Granted()

        assert await state(store, day) == (0, 100)

    @pytest.mark.parametrize("nano", [-1, HUGE + 1, 1.5, True, "1"])
    async def test_what_is_no_money_is_refused(self, nano: Any) -> None:
        for make in (bound, cost):
            with pytest.raises(ValueError, match="nano-units"):
                make("call", nano)

    async def test_no_stop_holds_money(self, store: Store) -> None:
        had = await held(store)

        for status in ("paused", "succeeded"):
            with pytest.raises(ValueError, match="for a run that goes on"):
                item(had, status=status, holds=(bound("call", 1),))
