"""What users test their agents with, and remit itself."""

from remit.testing.clock import ManualClock
from remit.testing.crash import Crash, CrashStore
from remit.testing.model import Answer, Call, Say, ScriptedModel

__all__ = ["Answer", "Call", "Crash", "CrashStore", "ManualClock", "Say", "ScriptedModel"]
