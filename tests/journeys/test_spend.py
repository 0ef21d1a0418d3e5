"""`remit spend` tells the same whole sum of a store, by whatever it is grouped."""

from __future__ import annotations

from decimal import Decimal

from remit.app.spending import Group
from remit.cli.render import plain
from remit.cli.spend.listing import line, ordered, page
from remit.store.protocol import Store
from remit.testing.clock import ManualClock
from remit.testing.model import Call, Say
from tests.journeys.clerk import app_of, soon
from tests.journeys.office import chief, scout
from tests.journeys.test_ledger import GROUPS, odd, said


async def test_every_page_and_every_json_line_come_to_what_the_runs_cost(
    store: Store, clock: ManualClock
) -> None:
    inner = scout(odd(said(Say("x"), read=11), name="m:small"))
    agent = chief(
        odd(said(Call("scout", task="a")), said(Say("so"), read=5), said(Say("y"))), inner
    )
    async with app_of(agent, store, clock) as app:
        runs = [await soon(app.run("chief", "x", user="u_1", tenant="t_1"))]
        clock.advance(86_400)
        runs.append(await soon(app.run("chief", "x", user="u_2")))
        costs = [run.usage.cost or Decimal(0) for run in runs]

        asked: list[tuple[Group, ...]] = [(group,) for group in GROUPS]
        for groups in [*asked, ("user", "model", "day"), GROUPS]:
            sums = ordered(await app.spend(groups))
            *_, last = plain.lines(page(groups, sums))
            assert last.split()[:2] == ["whole", "sum"]
            assert (Decimal(last.split()[2]), last.split()[-1]) == (sum(costs), "4")
            lines = [line(each) for each in sums]
            assert sum(Decimal(each["cost"]) for each in lines) == sum(costs)
            assert [tuple(each["by"]) for each in lines] == [groups] * len(lines)
        *rows, _ = list(plain.lines(page(("day",), ordered(await app.spend("day")))))[1:]
        assert [Decimal(row.split()[1]) for row in rows] == costs
