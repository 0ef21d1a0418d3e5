"""A turn's tool calls: n steps side by side, each of them allowed, asked about or refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

import msgspec

from remit.agent.doubt import doubt, kept_back, question
from remit.agent.effect import take_effect, told
from remit.agent.hooks import Hooked
from remit.agent.hooks.hooks import CHOICES
from remit.agent.inside import AgentTool, Delegates, Time
from remit.agent.plan import Deps, Plan
from remit.agent.recorded.unmade import cut_off, not_run
from remit.agent.state import INSIDE, AgentState, Decision
from remit.agent.telling import telling
from remit.agent.toolbox import groups
from remit.kernel.facts import Ask, Started, Stepped
from remit.kernel.interrupt import Unfit
from remit.kernel.lease import Leaving
from remit.kernel.nested import ASKED
from remit.kernel.run import ActiveRun
from remit.tools.abandoned import Abandoned
from remit.tools.approval import asks, digest
from remit.tools.arguments import ArgumentsError
from remit.tools.context import ToolContext
from remit.tools.execute import Outcome, execute
from remit.tools.inside import Inside
from remit.tools.patience import patiently
from remit.tools.tool import Tool
from remit.values import codec
from remit.values.content import Call
from remit.values.events import ToolProgressEvent
from remit.values.messages import ToolMessage
from remit.values.results import Pending


class Ready(msgspec.Struct, frozen=True):
    """The call may run, with these checked arguments."""

    tool: Tool
    checked: Any


Gate = Ready | Ask | ToolMessage


def step_name(turn: int, number: int) -> str:
    """The name of a call's step, and the key of the question about it. Turn -1 is what the
    history that the run began with had asked for."""
    if turn < 0:
        return f"history/call:{number}"
    return f"turn:{turn}/call:{number}"


class Actor:
    """Runs the calls of one drive's turns."""

    def __init__(
        self,
        plan: Plan,
        abandoned: Abandoned,
        run: ActiveRun,
        hooked: Hooked,
        deps: Deps,
        delegates: Delegates | None,
    ) -> None:
        self._plan = plan
        self._abandoned = abandoned
        self._run = run
        self._asked = run.asked
        self._deps = deps
        self.hooked = hooked
        self._delegates = delegates
        self._lets_work = delegates is not None or any(
            INSIDE in fact.name for _, fact in run.facts if isinstance(fact, Stepped)
        )
        self._exclusive = {name for name, tool in plan.tools.items() if tool.exclusive}
        self._news = asyncio.Event()
        self._tools = plan.tools

    async def act(self, state: AgentState, time: Time) -> list[Ask]:
        """Give every open call its result, or a question to wait with. The questions are given
        back in call order; every other call has run, and its result is recorded."""
        self._time = time
        self._tools = self._plan.tools
        if state.preparation is not None:
            self._tools = _callable(self._plan, state)
        turn = len(state.turns) - 1
        before = state.calls_asked - len(state.open_calls)
        todo = [
            (partial(self._call, turn, number, call, before + number), call.name in self._exclusive)
            for number, call in enumerate(state.open_calls)
            if call.id not in state.results
        ]
        if not self._deps.are_built:
            await self._deps.build()
        if self._run.settle is not None:
            work = partial(self._in_order, groups(todo))
            return await telling(self._run.settle, self._news, work)
        return await (self._alone([todo[0][0]]) if len(todo) == 1 else self._in_order(groups(todo)))

    async def _in_order(self, todo: Sequence[Sequence[Callable[[], Any]]]) -> list[Ask]:
        asks: list[Ask] = []
        for group in todo:
            asks += await (self._side_by_side(group) if len(group) > 1 else self._alone(group))
        return asks

    async def _alone(self, todo: Sequence[Callable[[], Any]]) -> list[Ask]:
        return list(await todo[0]())

    async def _side_by_side(self, todo: Sequence[Callable[[], Any]]) -> list[Ask]:
        room = asyncio.Semaphore(self._plan.parallel)

        async def one(call: Callable[[], Any]) -> Sequence[Ask] | Leaving:
            async with room:
                try:
                    found: Sequence[Ask] = await call()
                except Leaving as leaving:
                    # Raised here it would cut the calls beside this one, which may finish.
                    return leaving
                return found

        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(one(call)) for call in todo]
        except BaseExceptionGroup as group:
            # What ends one call for good ends the turn: it goes on as itself.
            raise group.exceptions[0] from None
        asks: list[Ask] = []
        for task in running:
            found = task.result()
            if isinstance(found, Leaving):
                raise found
            asks += found
        return asks

    async def _call(self, turn: int, number: int, call: Call, ordinal: int) -> Sequence[Ask]:
        name = step_name(turn, number)
        if self._lets_work and self._run.recorded(name + INSIDE + ASKED) is not None:
            return await self._let_work(name, call, None)
        gate = await self._doubt(name, turn, call) or await self._gate(name, turn, call, ordinal)
        if type(gate) is Ready and self._plan.hooks.before_tool is not None:
            gate = await self._heard(name, call, gate)
        match gate:
            case Ask():
                return [gate]
            case ToolMessage():
                await self._run.step(name, partial(_same, gate), ToolMessage)
            case Ready(tool=AgentTool()):
                return await self._let_work(name, call, gate.checked)
            case Ready(tool=Tool(transactional=True)):
                await self._take_effect(name, call, gate, self._context(turn, call))
            case Ready():
                await self._outwait(gate.tool, turn)
                await self._run.step(
                    name, partial(self._execute, name, turn, call, gate), ToolMessage
                )
        return ()

    async def _let_work(self, name: str, call: Call, checked: Any) -> Sequence[Ask]:
        tool = self._plan.tools.get(call.name)
        if not isinstance(tool, AgentTool) or self._delegates is None:
            raise Unfit(f"an agent is to go on in {call.name}, which is none here")
        found = await self._delegates.work(name, call, tool, checked, self._time)
        if not isinstance(found, ToolMessage):
            return found
        result = found

        async def after() -> ToolMessage:
            return await self.hooked.after(_seen(call, tool), result)

        await self._run.step(name, after, ToolMessage)
        return ()

    async def _doubt(self, name: str, turn: int, call: Call) -> Ask | ToolMessage | None:
        """A call that another process may have made waits for a person's word, which is asked
        for once that process must be done with it."""
        key = doubt(self._run, name)
        if key is None:
            return None
        answered = self._run.answer(key)
        if answered is not None:
            return kept_back(call, codec.convert(answered.value, Decision))
        await self._outwait(self._plan.tools.get(call.name), turn)
        return question(key, call)

    async def _gate(self, name: str, turn: int, call: Call, ordinal: int) -> Gate:
        """Whether the call may run. The order matters: nobody is asked about a call that could
        not run, and a decision is looked at only for the arguments that it was made for."""
        tool = self._tools.get(call.name) if call.misnamed is None else None
        limit = self._plan.budget.tool_calls
        if limit is not None and ordinal >= limit:
            return not_run(call, f"the run may make {limit} tool calls")
        if tool is None:
            return self._unknown(call)
        if turn < 0 and isinstance(tool, AgentTool):
            # How far it came is in no history, and what it did again would have other keys.
            return cut_off(call, "an agent may have worked in it, in another run")
        if call.malformed is not None:
            return _error(call, "The arguments are not a JSON object. Send them as one.")
        try:
            checked = tool.check(call.arguments)
        except ArgumentsError as error:
            return _error(call, str(error))
        answered = self._run.answer(name)
        if answered is not None:
            decision = codec.convert(answered.value, Decision)
            return _decided(decision, call, tool) or Ready(tool, checked)
        ready = Ready(tool, checked)
        if tool.approval == "never" and self._plan.hooks.before_tool is None:
            return ready
        return await self._agreed(name, turn, call, ready)

    async def _agreed(self, name: str, turn: int, call: Call, ready: Ready) -> Gate:
        """Whether the app's hook and its people let the call run, in this order."""
        tool, checked = ready.tool, ready.checked
        if self._plan.hooks.before_tool is not None:
            kept = await self.hooked.before(name, _seen(call, tool))
            if kept is not None:
                return kept
        if tool.approval == "never":
            return ready
        context = self._context(turn, call)
        why = await asks(tool, checked, context, clock=self._run.clock, abandoned=self._abandoned)
        if why is None:
            return ready
        shown = tool.canonical(call.arguments)
        asked = Pending(
            id=call.id,
            tool=call.name,
            arguments=shown,
            why=why,
            digest=digest(call.name, shown),
        )
        return Ask(name, asked)

    async def _heard(self, name: str, call: Call, ready: Ready) -> Ready | ToolMessage:
        """The hook has the last word about what is about to run."""
        decided = self._run.answer(name) is not None
        seen = _seen(call, ready.tool)
        return await self.hooked.before_it_runs(name, seen, decided=decided) or ready

    async def _execute(self, name: str, turn: int, call: Call, ready: Ready) -> ToolMessage:
        run, tool = self._run, ready.tool
        # What was once begun is seen through, where it cannot be begun again elsewhere.
        check = run.check
        if tool.repeat == "ask":
            await run.record(Started(name=name, at=run.now()))
            check = run.lease.check
            check()
        deadline = None if tool.seconds is None else run.clock.steady() + tool.seconds

        async def attempt() -> Outcome:
            context = self._context(turn, call, deadline)
            try:
                return await execute(
                    tool,
                    ready.checked,
                    context,
                    clock=run.clock,
                    abandoned=self._abandoned,
                    grace=run.tenure.grace,
                )
            except BaseException:
                run.left_behind = run.left_behind or context.life.left_behind
                raise

        outcome = await patiently(attempt, tool, deadline, run.clock, check)
        result = told(call, outcome)
        if self._plan.hooks.after_tool is None:
            return result
        return await self.hooked.after(_seen(call, tool), result)

    async def _take_effect(
        self, name: str, call: Call, ready: Ready, context: ToolContext[Any]
    ) -> None:
        """Nothing that a dead process left running need be waited for: it can commit nothing."""
        run = self._run
        inside = Inside(
            ready.tool,
            ready.checked,
            context,
            run.clock,
            self._abandoned,
            run.tenure.grace,
        )
        seen, hooked = _seen(call, ready.tool), self.hooked
        after = None if ready.tool.is_async else await hooked.after_in_place()

        def tell(outcome: Outcome) -> ToolMessage | Awaitable[ToolMessage]:
            result = told(call, outcome)
            return hooked.after(seen, result) if after is None else after(seen, result)

        await take_effect(run, name, inside, tell)

    async def _outwait(self, tool: Tool | None, turn: int) -> None:
        """A call that a dead process may have been running starts when that one must be over."""
        asked_at = self._run.recorded_at(f"turn:{turn}/think")
        if asked_at is None or asked_at > self._run.resumed_at:
            return
        longest = self._run.tenure.grace
        if tool is not None and not tool.is_async and tool.seconds is not None:
            longest = max(longest, tool.seconds)
        self._time.extend(self._run.rest(longest))
        await self._run.outwait(longest)

    def _context(self, turn: int, call: Call, deadline: float | None = None) -> ToolContext[Any]:
        run, asked = self._run, self._asked
        return ToolContext(
            run_id=run.id,
            turn=turn,
            call_id=call.id,
            idempotency_key=call.key,
            user=asked.user,
            tenant=asked.tenant,
            grant=self._plan.granted,
            attempt=run.attempt,
            lease_token=run.tenure.token,
            deps=self._deps.value,
            deadline=deadline,
            report=partial(self._report, turn, call, count()),
        )

    def _report(
        self,
        turn: int,
        call: Call,
        numbers: Iterator[int],
        text: str | None,
        fraction: float | None,
    ) -> None:
        self._run.show(
            ToolProgressEvent(
                turn=turn,
                attempt=self._run.attempt,
                delta_id=next(numbers),
                call_id=call.id,
                text=text,
                fraction=fraction,
            )
        )
        self._news.set()

    def _unknown(self, call: Call) -> ToolMessage:
        names = ", ".join(self._tools) or "none"
        called = call.name if call.misnamed is None else call.misnamed
        return ToolMessage(
            call.id, call.name, f"There is no tool {called!r} here. Tools: {names}.", "refused"
        )


def _decided(decision: Decision, call: Call, tool: Tool) -> ToolMessage | None:
    """The result of a call that a person refused; None for one that may run."""
    if decision.verdict == "deny":
        reason = f": {decision.reason}" if decision.reason else "."
        return ToolMessage(call.id, call.name, f"A person refused this call{reason}", "denied")
    if decision.verdict == "edit":
        # An edit that was made for this call stands in it by now.
        bound = decision.arguments == call.arguments
    else:
        bound = decision.digest == digest(call.name, tool.canonical(call.arguments))
    if not bound:
        return ToolMessage(
            call.id, call.name, "The decision was made for other arguments. Not run.", "refused"
        )
    return None


def _callable(plan: Plan, state: AgentState) -> Mapping[str, Tool]:
    """The tools that the newest turn may call."""
    prepared = state.prepared(len(state.turns) - 1)
    if prepared is None:
        return plan.tools
    choice = prepared.tool_choice
    if choice == "none":
        return {}
    inside: Collection[str] = plan.tools if prepared.tools is None else prepared.tools
    if choice is not None and choice not in CHOICES:
        inside = (choice,)
    return {name: tool for name, tool in plan.tools.items() if name in inside}


def _seen(call: Call, tool: Tool) -> Call:
    """The call as approvals and hooks see it: with the arguments that the tool is given."""
    return msgspec.structs.replace(call, arguments=tool.canonical(call.arguments))


def _error(call: Call, text: str) -> ToolMessage:
    return ToolMessage(call.id, call.name, text, "error")


async def _same(message: ToolMessage) -> ToolMessage:
    return message
