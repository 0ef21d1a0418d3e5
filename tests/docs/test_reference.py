"""The reference names everything that is public, and nothing else."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

import remit
from remit import errors, events, messages
from remit import results as public_results
from remit.agent import hooks, loop
from remit.agent.brakes import Brakes
from remit.agent.fold import Fold
from remit.agent.recorded.verdicts import Brake
from remit.agent.toolbox import Inventory
from remit.agent.toolbox.inventory import ToolEntry
from remit.app.spending import Spending, SpendOptions
from remit.app.starting import Starting, StartOptions
from remit.cli import commands, status
from remit.flow.workflow import workflow
from remit.kernel.difference import Difference
from remit.models import request
from remit.models.anthropic import AnthropicMessages
from remit.models.bridge import Bridge
from remit.models.google import GoogleGemini, Thinking
from remit.models.local import LocalModel
from remit.models.openai_chat import OpenAIChat
from remit.models.openai_responses import OpenAIResponses
from remit.models.prices import Suggestion
from remit.models.retry import Retry
from remit.store import payload
from remit.store.connect import connect
from remit.tools.abandoned import LeftBehind
from remit.tools.result import render
from remit.tools.tool import ToolOptions
from remit.values import results
from remit.values.clock import Clock, SystemClock
from remit.values.events import Event, FactEvent, PassingEvent
from remit.values.messages import ResultStatus
from remit.values.spent import Spent
from tests.docs import public
from tests.docs.markdown import HEADING, read
from tests.docs.tables import Rows, tables

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
Sections = Mapping[str, Rows]


def app() -> Sections:
    addresses = re.findall(r"(?:memory|sqlite|postgresql):[^ ,]*", _refusal_of("none"))
    starting, spending = public.options(Starting), public.options(Spending)
    return {
        "Options": public.parameters(remit.App.__init__),
        "Store addresses": public.named(addresses),
        "LeaseTerms": public.options(remit.LeaseTerms),
        "Payload codecs": public.named(
            map(public.signature, (payload.Compressed, payload.Encrypted, payload.Chain))
        ),
        "Clock": public.methods(Clock),
        "Properties": public.properties(remit.App),
        "Methods": public.methods(remit.App),
        "SpendOptions": {name: spending[name] for name in SpendOptions.__optional_keys__},
        "StartOptions": {name: starting[name] for name in StartOptions.__optional_keys__},
        "Caller": public.fields(remit.Caller),
        "Difference": public.fields(Difference),
        "LeftBehind": public.fields(LeftBehind),
        "Without async": public.named([public.signature(remit.run_sync)]),
    }


def agent() -> Sections:
    return {
        "Options": public.options(remit.Agent),
        "Properties": public.properties(remit.Agent),
        "Methods": public.methods(remit.Agent),
        "Budget": public.options(remit.Budget),
        "Hooks": public.options(hooks.Hooks),
        "HookContext": public.fields(hooks.HookContext),
        "Left": public.fields(hooks.Left),
        "ToolResult": public.options(hooks.ToolResult),
        "TurnPlan": public.options(hooks.TurnPlan),
        "Brakes": public.options(Brakes),
        "Fold": public.options(Fold),
        "Retry": public.options(Retry),
        "Catalogue": public.parameters(remit.Catalogue.__init__),
        "Methods of Catalogue": public.methods(remit.Catalogue),
        "Card": public.options(remit.Card),
        "Pricing": public.options(remit.Pricing),
        "Suggested prices": public.fields(Suggestion),
        "Methods of a suggestion": public.methods(Suggestion),
        "OpenAIChat": public.options(OpenAIChat),
        "AnthropicMessages": public.options(AnthropicMessages),
        "GoogleGemini": public.options(GoogleGemini),
        "Thinking": public.options(Thinking),
        "LocalModel": public.options(LocalModel),
        "Methods of LocalModel": public.methods(LocalModel),
        "Bridge": public.options(Bridge),
        "Methods of Bridge": public.methods(Bridge),
        "OpenAIResponses": public.options(OpenAIResponses),
        "Model": {**public.properties(remit.Model), **public.methods(remit.Model)},
        "ModelRequest": public.fields(remit.ModelRequest),
        "ToolSpec": public.fields(request.ToolSpec),
        "OutputSpec": public.fields(request.OutputSpec),
        "Pieces of an answer": _with_fields([*get_args(request.Chunk)]),
        "Stops": public.choices(request.Stop),
        "Inventory": public.fields(Inventory),
        "ToolEntry": public.fields(ToolEntry),
        "Messages": _with_fields([*get_args(remit.Message)]),
        "Parts": _with_fields(
            [messages.Text, messages.Image, messages.Pdf, messages.Reasoning, messages.Call]
        ),
        "Saving": public.named(map(public.signature, (messages.dump, messages.load))),
    }


def tools() -> Sections:
    given = public.options(remit.Tool)
    chosen = [name for name in given if name in ToolOptions.__optional_keys__]
    # A function brings these two along.
    return {
        "Options of @tool and Tool": {
            name: {} if name in ("name", "description") else given[name] for name in chosen
        },
        "Options of Tool alone": {name: given[name] for name in given if name not in chosen},
        "Methods of Tool": public.methods(remit.Tool),
        "ToolContext": public.fields(remit.ToolContext),
        "Methods of ToolContext": public.methods(remit.ToolContext),
        "Results": public.named(_forms()),
        "Statuses of a result": public.choices(ResultStatus),
    }


def runs() -> Sections:
    both = [public.field_names(remit.Run), public.field_names(remit.Result)]
    return {
        "Statuses": public.choices(results.Status),
        "Finishes": public.choices(results.Finish),
        "Reasons": public.named(_reasons()),
        "What facts carry": public.fields(FactEvent),
        "What passing events carry": public.named(["id", *public.field_names(PassingEvent)]),
        "Event": dict(_events()),
        "Run and Result": {
            name: {"Run": _yes(name in both[0]), "Result": _yes(name in both[1])}
            for name in dict.fromkeys(both[0] + both[1])
        },
        "Turn": public.fields(remit.Turn),
        "Usage": public.fields(remit.Usage),
        "Spent": public.fields(Spent),
        "Pending": public.fields(remit.Pending),
        "Question": public.fields(results.Question),
    }


def workflows() -> Sections:
    return {
        "Options of @workflow": {
            name: row for name, row in public.parameters(workflow).items() if name != "function"
        },
        "Workflow": public.fields(remit.Workflow),
        "Methods of Workflow": public.methods(remit.Workflow),
        "Properties of WorkflowRun": public.properties(remit.WorkflowRun),
        "Methods of WorkflowRun": public.methods(remit.WorkflowRun),
    }


def errors_() -> Sections:
    own = ("messages", "usage")
    return {
        "What every error has": public.named(own),
        "Errors": {
            name: {"fields": public.listed(_facts_of(getattr(errors, name)))}
            for name in errors.__all__
        },
    }


def command() -> Sections:
    numbers = [str(value) for value in vars(status).values() if type(value) is int]
    # The parsed options alone hold what the command line takes.
    found = public.commands(public.built(commands._app(None)))
    return {"Exit statuses": public.named(numbers), **dict(found)}


PAGES: dict[str, Callable[[], Sections]] = {
    "app.md": app,
    "agent.md": agent,
    "tools.md": tools,
    "runs.md": runs,
    "workflows.md": workflows,
    "errors.md": errors_,
    "command.md": command,
}


def _refusal_of(address: str) -> str:
    with pytest.raises(errors.ConfigError) as refused:
        connect(address, SystemClock())
    return str(refused.value).partition(": ")[2]


def _with_fields(classes: list[Any]) -> Rows:
    return {
        one.__name__: {
            "fields": public.listed(public.field_names(one)),
            "properties": public.listed(public.properties(one)),
        }
        for one in classes
    }


def _forms() -> Iterator[str]:
    """The kinds of values in the table that `render` has."""
    rows = re.findall(r"^\s*\| (.+?) \|", render.__doc__ or "", re.MULTILINE)
    return (row for row in rows if row != "value" and not row.startswith("---"))


def _reasons() -> Iterator[str]:
    yield from get_args(Brake)
    yield from dict.fromkeys(re.findall(r'End\("exhausted", "(\w+)"\)', inspect.getsource(loop)))


def _events() -> Iterator[tuple[str, dict[str, str]]]:
    for event in get_args(Event):
        base = FactEvent if issubclass(event, FactEvent) else PassingEvent
        own = [name for name in event.__struct_fields__ if name not in base.__struct_fields__]
        kind = "passing" if base is PassingEvent else "fact"
        yield event.kind, {"class": f"`{event.__name__}`", "is": kind, "fields": public.listed(own)}


def _facts_of(error: type[errors.RemitError]) -> list[str]:
    return list(getattr(error, "__dataclass_fields__", ()))


def _yes(there: bool) -> str:
    return "yes" if there else "-"


def misses(page: Path, expected: Sections) -> Iterator[str]:
    """What the page lacks, has too much or has wrong, each with its mend."""
    found = tables(page)
    for title in found.keys() - expected.keys():
        yield f"section {title!r}: nothing proves its table; give it a law in {Path(__file__).name}"
    for title, rows in expected.items():
        there = found.get(title, {})
        for name in rows.keys() - there.keys():
            yield f"section {title!r}: add a row for `{name}`"
        for name in there.keys() - rows.keys():
            yield f"section {title!r}: take out the row of `{name}`, which is not there"
        for name in rows.keys() & there.keys():
            for column, text in rows[name].items():
                if there[name].get(column) != text:
                    yield f"section {title!r}, row of `{name}`: make its {column!r} {text}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_what_is_there_and_nothing_else(page: str) -> None:
    wrong = sorted(misses(FOLDER / page, PAGES[page]()))

    assert not wrong, "\n".join(f"docs/reference/{page}, {what}" for what in wrong)


def test_what_a_page_lacks_or_has_wrong_is_told_with_its_mend(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n## `Budget`\n\n| option | default | for |\n| --- | --- | --- |\n"
        "| `turns` | `8` | model calls |\n| `days` | none | days |\n\n"
        "## More\n\n| a | b |\n| --- | --- |\n| c | d |\n"
    )
    expected = {"Budget": {"turns": {"default": "`None`"}, "cost": {"default": "`None`"}}}

    assert sorted(misses(page, expected)) == [
        "section 'Budget', row of `turns`: make its 'default' `None`",
        "section 'Budget': add a row for `cost`",
        "section 'Budget': take out the row of `days`, which is not there",
        "section 'More': nothing proves its table; give it a law in test_reference.py",
    ]


def names_of(page: Path) -> set[str]:
    """What stands in the page's headings, in its rows' first cells, or in code by itself."""
    document = read(page)
    headings = [heading["title"] for heading in HEADING.finditer(document.prose)]
    rows = [name for found in tables(page).values() for name in found]
    words = {word for text in (*headings, *rows) for word in re.findall(r"\w+", text)}
    return words | set(document.code_spans)


def test_every_public_name_is_on_a_page() -> None:
    modules = (remit, errors, events, messages, public_results, hooks, request)
    public_names = {name for module in modules for name in module.__all__}
    own = {"Hooked", "check_in_place"}
    lacking = sorted(public_names - own - set().union(*(names_of(FOLDER / p) for p in PAGES)))

    assert not lacking, f"docs/reference: give {', '.join(lacking)} a section or a row"


def test_every_page_is_in_the_index_and_has_laws() -> None:
    pages = {page.name for page in FOLDER.glob("*.md")}
    index = read(FOLDER.parent / "README.md").links

    assert pages == set(PAGES)
    assert {f"reference/{page}" for page in pages} <= set(index), "docs/README.md: link each page"


OWNERS: dict[str, tuple[type, ...]] = {
    "app": (remit.App,),
    "agent": (remit.Agent,),
    "ctx": (remit.ToolContext, hooks.HookContext),
    "run": (remit.WorkflowRun, remit.Run),
}


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_of_a_member_is_true_of_one(page: str) -> None:
    for span in read(FOLDER / page).code_spans:
        found = re.match(r"(?:await )?(\w+)\.(\w+)", span)
        if found is None:
            continue
        named = getattr(remit, found[1], None) if found[1].istitle() else None
        owners = OWNERS.get(found[1], (named,) if isinstance(named, type) else ())
        assert not owners or any(hasattr(owner, found[2]) for owner in owners), (
            f"docs/reference/{page}: `{span}` names what is not there: mend or take it out"
        )
