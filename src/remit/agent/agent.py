"""The frozen description of an agent."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, get_args

from typing_extensions import TypeVar

from remit.agent.answer.finalize import Ending, Finalize, ending
from remit.agent.answer.given import TEXT, Given, Prompt, given
from remit.agent.answer.itemless import itemless
from remit.agent.answer.typed import FINAL, Form, form_of
from remit.agent.asking import Asking
from remit.agent.brakes import Brakes
from remit.agent.budget import Budget, OnLimit
from remit.agent.fold import Fold
from remit.agent.hooks import Hooks, check_in_place
from remit.agent.inside import AgentTool, agents_of, as_tool
from remit.agent.plan import DepsFactory, Plan
from remit.agent.routing.models import Given as Models
from remit.agent.routing.models import card_of, check_models, first_card, listed
from remit.agent.toolbox import Inventory, allowed, grant, inventory, toolbox
from remit.agent.unkept import OnEvent, run_unkept, stream_unkept
from remit.models.catalogue import Catalogue
from remit.models.protocol import Card, Model
from remit.models.retry import Retry
from remit.tools.tool import Approval, Tool
from remit.values.errors import ConfigError
from remit.values.events import Event
from remit.values.identity import Caller
from remit.values.messages import Message
from remit.values.results import Result

Deps = TypeVar("Deps", default=Any)
Output = TypeVar("Output", default=str)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, kw_only=True)
class Agent(Generic[Deps, Output]):
    """Who answers: a model with instructions, tools and bounds. Cheap, and made without I/O.

    `budget` is required. `grant` holds the capabilities that its tools may need. `model` is a
    `provider:name` of the `catalogue`, or a Model, or a list of them: where one is down, spent,
    unknown or switched off, the next takes over for the rest of the run. `retry` says how often a
    model that failed before its first token is asked again. `parallel` is how many calls of one
    turn run at once. `max_output` is the most tokens that one answer may have. Runs keep the
    `version` that they began with. `aliases` are the names that the agent had before, the first one
    first: its runs and threads of those times are its own. `brakes` stop what goes in circles; None
    takes them off. `hooks` are asked on the way. With `on_limit="answer"` the last turn that the
    budget has room for is one without tools, to answer with what is there. `input` is a type that
    Pydantic can check, of what it is asked in place of text, and `prompt` makes the message from
    it; without that the message is its JSON. `output` is such a type, too: answers are values of
    it, and one that does not fit goes back to the model with what to mend, twice. `finalize` is
    called once with an answered run's Result and gives its output; what its return annotation tells
    is checked and built again. `fold` says how long histories are made shorter; None leaves them as
    they are. Raises ConfigError for an agent that cannot work.
    """

    name: str
    model: Models
    budget: Budget
    instructions: str = ""
    tools: Sequence[Tool] = ()
    grant: Iterable[str] = frozenset()
    catalogue: Catalogue = field(default_factory=Catalogue)
    retry: Retry = field(default_factory=Retry)
    parallel: int = 4
    max_output: int = 4096
    version: str = "1"
    aliases: Sequence[str] = ()
    brakes: Brakes | None = field(default_factory=Brakes)
    fold: Fold | None = field(default_factory=Fold)
    on_limit: OnLimit = "stop"
    hooks: Hooks = field(default_factory=Hooks)
    input: Any = None
    prompt: Prompt | None = None
    output: type[Output] | None = None
    finalize: Finalize | None = None
    given: Given = field(init=False, repr=False, compare=False, default=TEXT)
    form: Form | None = field(init=False, repr=False, compare=False, default=None)
    ending: Ending | None = field(init=False, repr=False, compare=False, default=None)
    models: tuple[str | Model, ...] = field(init=False, repr=False, compare=False, default=())
    """Its models, in the order in which they take over."""

    def __post_init__(self) -> None:
        _check_words(self)
        _check_values(self)
        object.__setattr__(self, "aliases", _aliases(self))
        object.__setattr__(self, "tools", toolbox(self.name, self.tools))
        for tool in self.tools:
            check_in_place(self.hooks, tool)
        object.__setattr__(self, "grant", grant(self.grant, f"grant of agent {self.name!r}"))
        object.__setattr__(self, "models", listed(self.model))
        if len(self.models) > 1:
            object.__setattr__(self, "model", self.models)
        check_models(self.name, self.models, self.catalogue, self.budget)
        _check_inside(self)
        object.__setattr__(self, "given", given(self.name, self.input, self.prompt))
        object.__setattr__(self, "form", _form(self))
        last = ending(self.finalize, f"finalize of agent {self.name!r}")
        object.__setattr__(self, "ending", last)

    def replace(self, **changes: Any) -> Agent[Deps, Output]:
        """The same agent with `changes`, checked like a new one."""
        known = {name for name, each in self.__dataclass_fields__.items() if each.init}
        unknown = sorted(set(changes) - known)
        if unknown:
            raise ConfigError(f"Agent has no {', '.join(unknown)}: it cannot be replaced")
        return replace(self, **changes)

    @property
    def granted(self) -> frozenset[str]:
        """`grant` as a set."""
        return frozenset(self.grant)

    @property
    def card(self) -> Card:
        """What is known of the agent's model, the first that is not switched off."""
        return first_card(self.models, self.catalogue)

    def as_tool(
        self, *, description: str, name: str | None = None, approval: Approval = "never"
    ) -> AgentTool:
        """This agent as a tool of another, which writes it a task: a text, or its `input=`. It
        reads nothing else of the conversation, and its answer is the tool's result.

        It works in its outer agent's run: its steps live in that run's journal, its grant is
        narrowed by the outer agent's, and what it uses counts there; its own budget and what the
        outer agent has left bound it, whichever is lower. Calls of its own that a person must
        agree to wait in that run's `pending`. Raises ConfigError for more than 3 agents inside
        each other.
        """
        return as_tool(self, description, name, approval)

    def inventory(self, granted: Iterable[str] | None = None) -> Inventory:
        """Everything that the agent can do: each of its tools, with its schema and its policies,
        and for one that it may not call, why. `granted` is the grant of the app that it runs in.
        """
        app = None if granted is None else grant(granted, "what an inventory is taken for")
        return inventory(self, app)

    def plan(self, granted: frozenset[str], deps: DepsFactory | None = None) -> Plan:
        """The agent, ready to run inside `granted`: its own grant narrows that further.

        Raises ConfigError where a model of it has no adapter.
        """
        last, *others = reversed(self.models)
        plan = self._plan(last, granted, deps)
        for model in others:
            heirs = (plan, *plan.heirs)
            plan = replace(self._plan(model, granted, deps), heirs=heirs)
        return plan

    def _plan(self, model: str | Model, granted: frozenset[str], deps: DepsFactory | None) -> Plan:
        inside = self.granted & granted
        most = card_of(model, self.catalogue).max_output
        return Plan(
            name=self.name,
            version=self.version,
            model=self.catalogue.model(model) if isinstance(model, str) else model,
            instructions=self.instructions,
            tools=allowed(self.tools, inside),
            granted=inside,
            budget=self.budget,
            parallel=self.parallel,
            max_output=min(self.max_output, most or self.max_output),
            remodel=lambda name: self.replace(model=name).plan(granted, deps),
            retry=self.retry,
            deps=deps,
            brakes=self.brakes,
            hooks=self.hooks,
            on_limit=self.on_limit,
            polls=frozenset([tool.name for tool in self.tools if tool.polls]),
            given=self.given,
            form=self.form,
            ending=self.ending,
            fold=self.fold,
        )

    async def run(  # noqa: PLR0913  # each option stands alone, by name
        self,
        message: Any,
        *,
        history: Iterable[Message] = (),
        user: str | None = None,
        tenant: str | None = None,
        by: Caller | None = None,
        deps: Deps | None = None,
        on_event: OnEvent | None = None,
    ) -> Result[Output | None]:
        """Run without a store: nothing is kept, and a run that waits for approval ends there.

        `message` is text, or a list of texts, images and PDFs that the model's card accepts.
        `history` is what was said before. With None for a message the run goes on where that
        ends: calls with a result never run again, those without one pass every gate again, with
        the idempotency keys that they had.

        `on_event` gets every event in order and is awaited; what it raises ends the run. Raises
        ConfigError and UserIdError before anything runs, ProviderError and
        ConnectionFailedError from the model's provider, with what was done so far.
        """
        asked = self.given.message(message)
        asking = Asking(message=asked, history=history, user=user, tenant=tenant, by=by)
        asking.check(self.card)
        return await run_unkept(self._own_plan(deps), asking, on_event)

    def stream(
        self,
        message: Any,
        *,
        history: Iterable[Message] = (),
        user: str | None = None,
        tenant: str | None = None,
        by: Caller | None = None,
        deps: Deps | None = None,
    ) -> AsyncIterator[Event]:
        """The events of `run`, ending with `done` (`pending` where it waits for approval).

        Leaving the iteration early cancels the run. A reader that is slow does not slow it: it
        misses deltas where more than 256 wait, which `delta_id` tells, and no other event.
        """
        asked = self.given.message(message)
        asking = Asking(message=asked, history=history, user=user, tenant=tenant, by=by)
        asking.check(self.card)
        return stream_unkept(self._own_plan(deps), asking)

    def _own_plan(self, deps: Deps | None) -> Plan:
        return self.plan(self.granted, lambda user, tenant: deps)


def _form(agent: Agent[Any, Any]) -> Form | None:
    form = form_of(agent.output, f"output of agent {agent.name!r}")
    place = None if form is None else itemless(form.output.schema)
    if place is not None:
        raise ConfigError(
            f"output of agent {agent.name!r} has a tuple ({place}), whose schema providers refuse:"
            " make it a list of one type, or a model with a name for each of its parts"
        )
    if form is not None and any(tool.name == FINAL for tool in agent.tools):
        raise ConfigError(
            f"agent {agent.name!r} has a tool named {FINAL!r}, by which answers of a type are"
            " given: give the tool another name="
        )
    return form


def _check_words(agent: Agent[Any, Any]) -> None:
    name = agent.name
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ConfigError(f"agent name {name!r}: use 1 to 64 ASCII letters, digits, _ and -")
    if not isinstance(agent.version, str) or _NAME.fullmatch(agent.version) is None:
        raise ConfigError(
            f"version {agent.version!r} of agent {name!r}: use 1 to 64 letters, digits, _ and -"
        )
    if not isinstance(agent.budget, Budget):
        raise ConfigError(
            f"agent {name!r} needs budget=Budget(turns=…) or Budget(cost=…), not {agent.budget!r}"
        )
    if not isinstance(agent.instructions, str):
        raise ConfigError(f"instructions of agent {name!r} must be text")
    if agent.brakes is not None and not isinstance(agent.brakes, Brakes):
        raise ConfigError(
            f"brakes of agent {name!r} must be Brakes(…), or None on purpose, not {agent.brakes!r}"
        )
    if agent.on_limit not in get_args(OnLimit):
        raise ConfigError(
            f'on_limit of agent {name!r} must be "stop" or "answer", not {agent.on_limit!r:.80}'
        )
    if not isinstance(agent.hooks, Hooks):
        raise ConfigError(f"hooks of agent {name!r} must be Hooks(…), not {agent.hooks!r:.80}")
    for option in ("parallel", "max_output"):
        value = getattr(agent, option)
        if type(value) is not int or value < 1:
            raise ConfigError(f"{option} of agent {name!r} must be at least 1, not {value!r}")


def _check_values(agent: Agent[Any, Any]) -> None:
    if agent.fold is not None and not isinstance(agent.fold, Fold):
        raise ConfigError(
            f"fold of agent {agent.name!r} must be a Fold(…) or None, not {agent.fold!r}"
        )
    if not isinstance(agent.retry, Retry):
        raise ConfigError(
            f"retry of agent {agent.name!r} must be a Retry(…), with attempts=1 for none, not"
            f" {agent.retry!r:.80}"
        )


def _aliases(agent: Agent[Any, Any]) -> tuple[str, ...]:
    if isinstance(agent.aliases, str) or not isinstance(agent.aliases, Iterable):
        raise ConfigError(f"aliases of agent {agent.name!r} must be a list of its earlier names")
    aliases = tuple(agent.aliases)
    for alias in aliases:
        if not isinstance(alias, str) or _NAME.fullmatch(alias) is None or alias == agent.name:
            raise ConfigError(f"alias {alias!r} of agent {agent.name!r} is no earlier name of it")
    return aliases


def _check_inside(agent: Agent[Any, Any]) -> None:
    for inner in agents_of(agent.tools):
        cards = [card_of(model, inner.catalogue) for model in inner.models]
        if agent.budget.cost is not None and any(card.pricing is None for card in cards):
            raise ConfigError(
                f"agent {agent.name!r} has a cost budget, and the model of {inner.name!r}, which"
                " works inside it, has no rates: declare them in the catalogue of that agent"
            )
