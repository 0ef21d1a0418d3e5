"""The errors that remit raises, each with its facts as fields."""

from remit.values.errors import (
    AlreadyDecidedError,
    ConfigError,
    ConnectionFailedError,
    EditRefusedError,
    NotPausedError,
    ProviderError,
    RemitError,
    RunEndedError,
    RunNotFoundError,
    StartKeyError,
    StoreError,
    ThreadBusyError,
    ToolError,
    UserIdError,
)

__all__ = [
    "AlreadyDecidedError",
    "ConfigError",
    "ConnectionFailedError",
    "EditRefusedError",
    "NotPausedError",
    "ProviderError",
    "RemitError",
    "RunEndedError",
    "RunNotFoundError",
    "StartKeyError",
    "StoreError",
    "ThreadBusyError",
    "ToolError",
    "UserIdError",
]
