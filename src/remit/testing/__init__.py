"""What users test their agents with, and remit itself."""

from remit.testing.clock import ManualClock
from remit.testing.crash import Crash, CrashStore
from remit.testing.harness import Harness
from remit.testing.model import Answer, Call, Say, ScriptedModel
from remit.testing.network import NetworkRefusedError, no_network
from remit.testing.provider import (
    Quirks,
    RefusedError,
    Reply,
    StrictProvider,
    Think,
    check_anthropic,
    check_gemini,
    check_openai,
    check_responses,
)

__all__ = [
    "Answer",
    "Call",
    "Crash",
    "CrashStore",
    "Harness",
    "ManualClock",
    "NetworkRefusedError",
    "Quirks",
    "RefusedError",
    "Reply",
    "Say",
    "ScriptedModel",
    "StrictProvider",
    "Think",
    "check_anthropic",
    "check_gemini",
    "check_openai",
    "check_responses",
    "no_network",
]
