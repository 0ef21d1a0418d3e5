"""The tools that one agent may have beside each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from remit.tools.tool import Tool
from remit.values.errors import ConfigError

_PROVIDERS = frozenset(
    {
        *("web_search", "web_search_preview", "web_fetch", "google_search", "googleSearch"),
        *("google_search_retrieval", "google_maps", "url_context", "urlContext", "file_search"),
        *("code_execution", "codeExecution", "code_interpreter", "image_generation", "computer"),
        *("computer_use", "local_shell", "shell", "bash", "text_editor", "memory", "mcp"),
    }
)
"""What providers call the tools that they run themselves."""

_OURS = frozenset({"function", "custom", "object"})
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ALIKE = str.maketrans({"0": "o", "1": "l", "I": "l", "-": "_"})


def toolbox(agent: str, tools: object) -> tuple[Tool, ...]:
    """`tools` as those of the agent of this name. Raises ConfigError for what is no tool, for one
    that a provider runs itself, and for two whose names would be taken for each other."""
    if isinstance(tools, Tool | str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise ConfigError(
            f"tools of agent {agent!r} must be a list of tools, not {tools!r:.200}: mark each"
            " function with @tool"
        )
    found = tuple(tools)
    for tool in found:
        if not isinstance(tool, Tool):
            raise ConfigError(_no_tool(agent, tool))
    _refuse_alike(agent, [tool.name for tool in found])
    return found


def _refuse_alike(agent: str, names: Iterable[str]) -> None:
    forms: dict[tuple[str, str], str] = {}
    for name in names:
        for form in (("plain", _plain(name)), ("parted", _parted(name)), ("seen", _seen(name))):
            other = forms.get(form)
            forms[form] = name
            if other == name:
                raise ConfigError(
                    f"agent {agent!r} has two tools named {name!r}: give one another name="
                )
            if other is not None:
                raise ConfigError(
                    f"agent {agent!r} has tools named {other!r} and {name!r}, which would be taken"
                    " for each other: give one another name="
                )


def _plain(name: str) -> str:
    """A name without its case and its kind of dash."""
    return name.replace("-", "_").lower()


def _parted(name: str) -> str:
    """`_plain`, where a capital that follows a small letter begins a word, too."""
    return _plain(_HUMP.sub("_", name))


def _seen(name: str) -> str:
    """A name without what looks the same in ASCII (Unicode's UTS 39)."""
    return name.translate(_ALIKE).lower().replace("rn", "m")


def _no_tool(agent: str, given: Any) -> str:
    ran = _run_by_provider(given)
    if callable(getattr(given, "as_tool", None)):
        return (
            f"the agent {getattr(given, 'name', given)!r} among the tools of agent {agent!r} is no"
            " tool yet: give tools=[that_agent.as_tool(description=…)], which says when to ask it"
        )
    if ran is None:
        return f"{given!r:.200} is no tool of agent {agent!r}: mark the function with @tool"
    return (
        f"{ran} would be run by the provider of agent {agent!r}, where no grant, approval, budget"
        " or journal reaches it: write a tool that does it, and mark the function with @tool"
    )


def _run_by_provider(given: Any) -> str | None:
    """The name of a tool that a provider runs, as its own package or its documents spell it."""
    if isinstance(given, str):
        return repr(given) if given in _PROVIDERS else None
    if not isinstance(given, Mapping):
        return None
    kind = given.get("type")
    if isinstance(kind, str) and kind not in _OURS:
        return repr(kind)
    return next((repr(name) for name in given if name in _PROVIDERS), None)
