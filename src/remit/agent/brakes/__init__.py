"""What stops a loop."""

from remit.agent.brakes.decide import Brakes, advice, check
from remit.agent.brakes.ears import HEARD, Ears

__all__ = ["HEARD", "Brakes", "Ears", "advice", "check"]
