"""A first agent: two tools, a durable run in SQLite, and a model of one's own. It needs no key.

python examples/first_agent.py
"""

import asyncio
import json
from collections.abc import AsyncIterator

from remit import Agent, App, Budget, Card, ModelRequest, tool
from remit.models.request import CallChunk, Chunk, StopChunk, TextChunk

SHELF = {"Middlemarch": "on the shelf", "Ulysses": "lent until Friday"}


@tool
async def find_book(title: str) -> str:
    """Says where a book is.

    Args:
        title: The book's title.
    """
    return SHELF.get(title, "not in this library")


@tool
async def lend_book(title: str) -> str:
    """Lends a book that is on the shelf."""
    return f"{title} is yours for two weeks."


class Librarian:
    """A model: anything with a name, a card and a stream. Yours would ask a provider."""

    name = "example:librarian"
    card = Card()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Chunk]:
        asked, *rest = request.messages
        title = next((title for title in SHELF if title in asked.text), "that book")
        results = [message.text for message in rest if message.text]
        if not results:
            yield CallChunk(0, "find_book", json.dumps({"title": title}))
        elif results == ["on the shelf"]:
            yield CallChunk(0, "lend_book", json.dumps({"title": title}))
        else:
            yield TextChunk(f"About {title}: {results[-1]}")
            yield StopChunk("end")


desk: Agent[None, str] = Agent(
    name="desk",
    model=Librarian(),
    instructions="You run the desk of a small library.",
    tools=[find_book, lend_book],
    budget=Budget(turns=4),
)


async def main() -> None:
    async with App(agents=[desk], store="sqlite:///first_agent.db") as app:
        run = await app.run("desk", "Can I borrow Middlemarch?", user="u_1")
        print(run.text)

    # The run is kept: any process can read it, and would have finished it had this one died.
    async with App(agents=[desk], store="sqlite:///first_agent.db") as app:
        again = await app.get(run.id)
        for turn in again.turns:
            print(turn.number, [call.name for call in turn.calls] or turn.text)


if __name__ == "__main__":
    asyncio.run(main())
