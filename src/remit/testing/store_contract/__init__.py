"""Every law of a store, to be checked on a store of one's own; it needs pytest, pytest-asyncio
and hypothesis."""

import pytest

# Assertions explain themselves only in modules that pytest knows of before they are imported.
pytest.register_assert_rewrite(
    *(
        f"{__name__}.{module}"
        for module in (
            "answer",
            "arrange",
            "machine",
            "purse",
            "cancel",
            "claim",
            "deploy",
            "fence",
            "fork",
            "hold",
            "journal",
            "key",
            "lease",
            "ledger",
            "message",
            "meter",
            "order",
            "query",
            "queue",
            "retention",
            "settlement",
            "signal",
            "thread",
            "timer",
        )
    )
)

from remit.testing.store_contract.arrange import Handles
from remit.testing.store_contract.contract import StoreContract, StoreFixtures

__all__ = ["Handles", "StoreContract", "StoreFixtures"]
