"""What a vendor answers to a request that it refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A vendor's error: its status and words. `param` is the place in the request."""

    message: str
    status: int = 400
    type: str = "invalid_request_error"
    param: str | None = None
    code: str | None = None

    def as_openai(self) -> Body:
        """The body of an error of OpenAI's."""
        fields = ("message", "type", "param", "code")
        return {"error": {name: getattr(self, name) for name in fields}}

    def as_anthropic(self, request_id: str = "req_0001") -> Body:
        """The body of an error of Anthropic's."""
        error = {"type": self.type, "message": self.message}
        return {"type": "error", "error": error, "request_id": request_id}

    def as_gemini(self) -> Body:
        """The body of an error of Gemini's."""
        return {"error": {"code": self.status, "message": self.message, "status": self.type}}


Rule = Callable[[Body], Refusal | None]


class RefusedError(AssertionError):
    """The vendor would refuse the request."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def first(rules: Sequence[Rule], body: Body) -> Refusal | None:
    """The refusal of the first rule that `body` breaks; later rules rely on earlier ones."""
    for rule in rules:
        refusal = rule(body)
        if refusal is not None:
            return refusal
    return None


def repeated(values: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Each value that was there before, with its place."""
    seen: set[str] = set()
    for place, value in enumerate(values):
        if value in seen:
            yield place, value
        seen.add(value)
