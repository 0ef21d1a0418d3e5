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
            "cancel",
            "claim",
            "deploy",
            "fence",
            "fork",
            "journal",
            "key",
            "lease",
            "message",
            "money",
            "order",
            "query",
            "queue",
            "retention",
            "signal",
            "thread",
            "timer",
        )
    )
)

from remit.testing.store_contract.arrange import Handles
from remit.testing.store_contract.contract import StoreContract, StoreFixtures

__all__ = ["Handles", "StoreContract", "StoreFixtures"]
