"""A process whose run raises what cannot be told from Ctrl-C, and which leaves as for Ctrl-C."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from datetime import timedelta

from remit import App, LeaseTerms, WorkflowRun, workflow
from remit.store.records import Query

TERMS = LeaseTerms(
    lasts=timedelta(seconds=0.6),
    renew_every=timedelta(seconds=0.2),
    sweep_every=timedelta(seconds=0.1),
    grace=timedelta(0),
    max_deaths=2,
)


async def interrupt() -> None:
    raise KeyboardInterrupt


@workflow
async def interrupted(run: WorkflowRun, input: None) -> None:
    await run.step("interrupt", interrupt)


async def main(path: str) -> None:
    async with App(workflows=[interrupted], store=f"sqlite:///{path}", lease=TERMS) as app:
        rows = await app.store.find(Query())
        run = rows[0].id if rows else await app.start("interrupted")
        await asyncio.wait_for(app.wait(run), 20)


def live(path: str) -> int:
    # Without a runner, which has a handler of its own for SIGINT.
    loop = asyncio.new_event_loop()
    task = loop.create_task(main(path))
    try:
        loop.run_until_complete(task)
    except KeyboardInterrupt:
        left = asyncio.all_tasks(loop)
        for one in left:
            one.cancel()
        with suppress(KeyboardInterrupt):
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(live(sys.argv[1]))
