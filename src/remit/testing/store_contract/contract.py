"""The laws of a store in one class, and the fixtures that they ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.store_contract.answer import AnswerLaws
from remit.testing.store_contract.arrange import Handles, opened
from remit.testing.store_contract.cancel import CancelLaws
from remit.testing.store_contract.claim import ClaimLaws
from remit.testing.store_contract.deploy import DeployLaws
from remit.testing.store_contract.fence import FenceLaws
from remit.testing.store_contract.fork import ForkLaws
from remit.testing.store_contract.journal import JournalLaws
from remit.testing.store_contract.key import KeyLaws
from remit.testing.store_contract.lease import LeaseLaws
from remit.testing.store_contract.message import MessageLaws
from remit.testing.store_contract.money.hold import HoldLaws
from remit.testing.store_contract.money.ledger import LedgerLaws
from remit.testing.store_contract.money.meter import MeterLaws, SeedLaws
from remit.testing.store_contract.money.settlement import SettlementLaws
from remit.testing.store_contract.order.laws import OrderLaws
from remit.testing.store_contract.query import QueryLaws
from remit.testing.store_contract.queue import QueueLaws
from remit.testing.store_contract.retention import DeletionLaws, ForgetLaws
from remit.testing.store_contract.signal import SignalLaws
from remit.testing.store_contract.thread import ThreadLaws
from remit.testing.store_contract.timer import TimerLaws


class StoreFixtures:
    """What the laws ask for: override `handles`."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def clock(self) -> ManualClock:
        """The time that all handles of a test share."""
        return ManualClock()

    @pytest.fixture
    def handles(self, clock: ManualClock) -> Handles:
        """Your stores: what each call returns is not opened yet."""
        raise NotImplementedError(
            f"{type(self).__name__} tells no stores: override the fixture `handles`, see"
            " docs/how-to/own-store.md"
        )

    @pytest_asyncio.fixture
    async def store(self, handles: Handles) -> AsyncIterator[Store]:
        """A store that is open."""
        async with opened(handles()) as store:
            yield store

    @pytest_asyncio.fixture
    async def other_store(self, handles: Handles) -> AsyncIterator[Store]:
        """A second handle on the runs of `store`, open."""
        async with opened(handles()) as store:
            yield store


class StoreContract(
    FenceLaws,
    JournalLaws,
    ClaimLaws,
    DeployLaws,
    LeaseLaws,
    SignalLaws,
    AnswerLaws,
    MessageLaws,
    TimerLaws,
    CancelLaws,
    ThreadLaws,
    QueueLaws,
    ForkLaws,
    KeyLaws,
    HoldLaws,
    SettlementLaws,
    MeterLaws,
    SeedLaws,
    LedgerLaws,
    DeletionLaws,
    ForgetLaws,
    QueryLaws,
    OrderLaws,
    StoreFixtures,
):
    """What every store must do. Subclass it in a test module under a name that pytest collects,
    and override `handles`; each law is then a test of yours.

    All handles of a test work on the same runs, which no other test sees, and take their time
    from the test's `clock`: the laws move it. A store whose time is its database's own takes the
    clock's instead where it is given one, as `PostgresStore` does. Where that cannot be, override
    `clock` with a fixture that calls `pytest.skip`: the laws that move time are then left out.
    """
