"""Asking the hooks of one drive; what they say is recorded, and not asked for again."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeVar, get_args

from remit.agent.budget import Budget, left
from remit.agent.hooks.hooks import CHOICES, HookContext, Hooks, Left, ToolResult, TurnPlan
from remit.agent.hooks.lent import lent_call, lent_messages, lent_turn
from remit.agent.recorded.verdicts import Judged, Noted, Prepared, Verdict
from remit.agent.state import AgentState
from remit.kernel.run import ActiveRun
from remit.values.content import Call, well_formed
from remit.values.errors import ConfigError, StoreError
from remit.values.messages import ResultStatus, ToolMessage

T = TypeVar("T")
_STATUSES = frozenset(get_args(ResultStatus))


class Hooked:
    """The hooks, with the run that they are asked about. `deps` builds what they are given;
    `least` bounds what is left by what the run's outer agents have."""

    def __init__(
        self,
        hooks: Hooks,
        budget: Budget,
        run: ActiveRun,
        state: AgentState,
        deps: Callable[[], Awaitable[Any]],
        least: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        self._hooks, self._budget, self._least = hooks, budget, least
        self._run, self._state, self._deps = run, state, deps
        self.looks = hooks.on_turn is not None or hooks.on_answer is not None
        """Whether `look` does anything."""

    async def prepare(self, tools: Collection[str], check_model: Callable[[str], object]) -> None:
        """Ask how the next turn is to be asked for. Raises ConfigError for a tool that is not
        one of `tools`, and what `check_model` raises."""
        hook, turn = self._hooks.prepare_turn, len(self._state.turns)
        if hook is None:
            return

        async def ask() -> Prepared:
            plan = await self._ask("prepare_turn", hook, turn)
            if plan is None:
                return Prepared()
            _check_plan(plan, tools)
            if plan.model is not None:
                check_model(plan.model)
            return Prepared(
                instructions=plan.instructions,
                tools=plan.names,
                model=plan.model,
                tool_choice=plan.tool_choice,
            )

        await self._run.step(f"turn:{turn}/prepare", ask, Prepared)
        self._state.catch_up(self._run.facts)

    async def look(self, *, is_answer: bool) -> bool:
        """Show a complete turn, and have an answer judged; whether something new is recorded."""
        state, hooks = self._state, self._hooks
        turn = len(state.turns) - 1
        if turn < 0 or state.open_calls:
            return False
        if hooks.on_turn is not None and state.told.noted < turn:
            await self._run.step(f"turn:{turn}/noted", self._note, Noted)
            return True
        if hooks.on_answer is not None and is_answer and state.told.judged < turn:
            await self._run.step(f"turn:{turn}/judged", self._judge, Judged)
            return True
        return False

    async def before(self, name: str, call: Call) -> ToolMessage | None:
        """The result of the call with the step `name`, if it is not to run; before anybody else
        is asked about it."""
        if self._hooks.before_tool is None:
            return None
        return (await self._run.step(f"{name}/before", self._verdict(call), Verdict)).result

    async def before_it_runs(self, name: str, call: Call, *, decided: bool) -> ToolMessage | None:
        """`before`, about a call that is about to run: it is asked again where a person decided
        about the call, and wherever another process began with it."""
        if self._hooks.before_tool is None:
            return None
        keys = [f"{name}/before", f"{name}/ready:0"]
        if not decided and self._run.is_of_this_hold(*keys):
            return None
        number = 0
        while True:
            key, number = f"{name}/ready:{number}", number + 1
            verdict = await self._run.step(key, self._verdict(call), Verdict)
            if verdict.result is not None:
                return verdict.result
            if self._run.is_of_this_hold(key, f"{name}/ready:{number}"):
                return None

    async def after(self, call: Call, result: ToolMessage) -> ToolMessage:
        """What is to be recorded of the result."""
        hook = self._hooks.after_tool
        if hook is None:
            return result
        found = await self._ask("after_tool", hook, self._turn, lent_call(call), _shown(result))
        return _told("after_tool", call, found) or result

    async def after_in_place(self) -> Callable[[Call, ToolMessage], ToolMessage]:
        """`after`, for a result that is made where nothing can be awaited."""
        hook = self._hooks.after_tool
        if hook is None:
            return lambda call, result: result
        context = await self._context(self._turn)

        def after(call: Call, result: ToolMessage) -> ToolMessage:
            try:
                found = hook(context, lent_call(call), _shown(result))
            except StoreError as error:
                raise _failed("after_tool", error) from error
            return _told("after_tool", call, found) or result

        return after

    @property
    def _turn(self) -> int:
        return len(self._state.turns) - 1

    async def _note(self) -> Noted:
        if self._hooks.on_turn is not None:
            await self._ask(
                "on_turn", self._hooks.on_turn, self._turn, lent_turn(self._state.turns[-1])
            )
        return Noted()

    async def _judge(self) -> Judged:
        hook, state = self._hooks.on_answer, self._state
        reason = (
            None if hook is None else await self._ask("on_answer", hook, self._turn, state.text)
        )
        if reason is None:
            return Judged()
        if not isinstance(reason, str) or not reason.strip():
            raise ConfigError(f"on_answer must give a reason or None, not {reason!r:.80}")
        return Judged(
            reason=well_formed(reason), last=state.told.sent_back >= self._hooks.send_backs
        )

    def _verdict(self, call: Call) -> Callable[[], Awaitable[Verdict]]:
        async def ask() -> Verdict:
            hook = self._hooks.before_tool
            found = (
                None
                if hook is None
                else await self._ask("before_tool", hook, self._turn, lent_call(call))
            )
            return Verdict(_told("before_tool", call, found))

        return ask

    async def _ask(self, name: str, hook: Callable[..., Any], turn: int, *about: Any) -> Any:
        context = await self._context(turn)
        try:
            found = hook(context, *about)
            return await found if inspect.isawaitable(found) else found
        except StoreError as error:
            raise _failed(name, error) from error

    async def _context(self, turn: int) -> HookContext:
        state, asked = self._state, self._run.asked
        rest = left(state, self._budget)
        return HookContext(
            run_id=self._run.id,
            turn=turn,
            phase=None,
            messages=lent_messages(state.all_messages()),
            usage=state.usage,
            left=Left(**(rest if self._least is None else self._least(rest))),
            user=asked.user,
            tenant=asked.tenant,
            deps=await self._deps(),
        )


def _failed(name: str, error: StoreError) -> ConfigError:
    # Another store's; passed on it would be taken for the failure of the run's own.
    return ConfigError(f"the hook {name} failed: {error}")


def _check_plan(plan: object, tools: Collection[str]) -> None:
    if not isinstance(plan, TurnPlan):
        raise ConfigError(f"prepare_turn must give a TurnPlan or None, not {plan!r:.80}")
    wanted = plan.names or ()
    if plan.tool_choice is not None and plan.tool_choice not in CHOICES:
        wanted = (*wanted, plan.tool_choice)
    inside = tools if plan.names is None else [name for name in plan.names if name in tools]
    for name in wanted:
        if name not in inside:
            raise ConfigError(
                f"prepare_turn wants {name!r}, which is no tool that this run may call: it can"
                f" choose of {', '.join(inside) or 'none'}"
            )


def _shown(result: ToolMessage) -> ToolResult:
    return ToolResult(result.text, result.status)


def _told(name: str, call: Call, found: object) -> ToolMessage | None:
    """What a hook gave, as the call's result."""
    if found is None:
        return None
    if not isinstance(found, ToolResult):
        if inspect.iscoroutine(found):
            found.close()
        raise ConfigError(f"{name} must give a ToolResult or None, not {found!r:.80}")
    if not isinstance(found.text, str) or found.status not in _STATUSES:
        raise ConfigError(
            f"{name} gave {found!r:.80}: its text must be text, and its status one of"
            f" {', '.join(sorted(_STATUSES))}"
        )
    return ToolMessage(call.id, call.name, well_formed(found.text), found.status)
