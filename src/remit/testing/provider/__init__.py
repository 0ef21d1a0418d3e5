"""A provider on loopback that refuses what the vendors refuse."""

from remit.testing.provider.anthropic_rules import check_anthropic
from remit.testing.provider.gemini_parts import sign_call, sign_text
from remit.testing.provider.gemini_rules import check_gemini
from remit.testing.provider.openai_rules import check_openai
from remit.testing.provider.refusal import Refusal, RefusedError
from remit.testing.provider.responses_rules import check_responses
from remit.testing.provider.script import Quirks, Reply, Sent, Think
from remit.testing.provider.server import StrictProvider
from remit.testing.provider.signing import sign

__all__ = [
    "Quirks",
    "Refusal",
    "RefusedError",
    "Reply",
    "Sent",
    "StrictProvider",
    "Think",
    "check_anthropic",
    "check_gemini",
    "check_openai",
    "check_responses",
    "sign",
    "sign_call",
    "sign_text",
]
