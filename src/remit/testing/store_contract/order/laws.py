"""The law above the laws: calls in any order give what the plain store says."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from remit.store.protocol import Store
from remit.testing.clock import ManualClock


class OrderLaws:
    """No order of calls finds a store that differs from the plain one.

    `examples` orders of up to `steps` calls are tried each time; set them on your class.
    """

    examples: ClassVar[int] = 20
    steps: ClassVar[int] = 50

    async def test_any_order_of_calls_gives_what_the_plain_store_says(
        self, store: Store, clock: ManualClock
    ) -> None:
        # Half a second of imports, which no other law needs.
        from remit.testing.store_contract.order.machine import drive

        loop = asyncio.get_running_loop()
        await asyncio.to_thread(drive, store, clock, loop, self.examples, self.steps)
