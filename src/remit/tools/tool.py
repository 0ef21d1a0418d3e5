"""A tool: what an agent may call, made from a function or from a JSON Schema."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, Literal, ParamSpec, TypedDict, TypeVar, Unpack, overload

from remit.tools import function as functions
from remit.tools import schema as schemas
from remit.tools import signature as signatures
from remit.tools.arguments import ArgumentsError, not_numbers, told
from remit.tools.context import ToolContext, log
from remit.tools.docstring import describe
from remit.tools.promise import Promise, promise
from remit.values import codec
from remit.values.errors import ConfigError

P = ParamSpec("P")
R = TypeVar("R")

Approval = Literal["always", "never"] | Callable[..., object]
Repeat = Literal["safe", "ask"]
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ToolOptions(TypedDict, total=False):
    """What `tool` may be told beside the function; the fields of `Tool` say what they mean."""

    name: str
    description: str
    approval: Approval
    needs: Iterable[str]
    timeout: float | timedelta | None
    max_result_chars: int | None
    returns: Any
    expose_errors: bool
    repeat: Repeat
    transactional: bool
    exclusive: bool
    polls: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tool:
    """Something an agent may call. A wrong one is refused with a ConfigError when it is made.

    `schema` is the JSON Schema of the arguments; `handler` is `async handler(args: dict, ctx)`.
    `approval`: "always", "never", or a check of the checked arguments that says whether a person
    must agree; it may take the context second. `needs` are capabilities such as "payments:write".
    `timeout` is in seconds or a timedelta, None for no limit; `max_result_chars` None for no cap.
    `returns` is a type or a JSON Schema that results must fit. With `expose_errors` the model
    reads the class and message of any exception, else only those of a `ToolError`.
    `repeat` is about a call whose process died while it ran: with "safe" it runs again, with the
    same idempotency key; with "ask" a person decides whether it happened. A `transactional` one
    gets in `ctx.tx` the transaction that records its result, on SQLite and PostgreSQL. An
    `exclusive` one runs alone among the calls of its turn: those before it have ended by then,
    and those after it wait. One that `polls` is meant to be called again with the same
    arguments, until its result changes.
    """

    name: str
    description: str
    schema: dict[str, Any]
    handler: Callable[..., Any] = field(repr=False)
    approval: Approval = "never"
    needs: Set[str] = frozenset()
    timeout: float | timedelta | None = 60.0
    max_result_chars: int | None = 50_000
    returns: Any = None
    expose_errors: bool = False
    repeat: Repeat = "safe"
    transactional: bool = False
    exclusive: bool = False
    polls: bool = False
    seconds: float | None = field(init=False, repr=False)
    is_async: bool = field(init=False, repr=False)
    checks_context: bool = field(init=False, repr=False)
    promise: Promise | None = field(init=False, repr=False)
    arguments: signatures.Signature | schemas.Schema = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _refuse_name(self.name)
        _refuse_description(self.name, self.description)
        what = f"tool {self.name!r}"
        for flag in ("expose_errors", "transactional", "exclusive", "polls"):
            _refuse_flag(flag, getattr(self, flag), what)
        _refuse_repeat(self.repeat, self.transactional, what)
        arguments, is_async = self._read(what)
        for name, value in {
            "schema": arguments.document,
            "arguments": arguments,
            "is_async": is_async,
            "checks_context": _checks_context(self.approval, what),
            "needs": _capabilities(self.needs, what),
            "seconds": _seconds(self.timeout, what),
            "max_result_chars": _cap(self.max_result_chars, what),
            "promise": promise(self.returns, what),
        }.items():
            object.__setattr__(self, name, value)

    def _read(self, what: str) -> tuple[signatures.Signature | schemas.Schema, bool]:
        if not functions.is_async(self.handler) or not functions.takes(self.handler, 2):
            raise ConfigError(
                f"{what}: its handler must be `async def handler(args: dict, ctx: ToolContext)`; "
                "for any other function use the decorator `tool`"
            )
        return schemas.checked(self.schema, f"{what}: its schema", arguments=True), True

    def check(self, arguments: Mapping[str, Any]) -> Any:
        """The arguments as the object that the tool's check of approval and its call are given.

        An instance of a Pydantic model with the parameters as attributes, or, for a tool from a
        JSON Schema, a dict. Raises ArgumentsError where they do not fit.
        """
        return self._fit(_body(self.name, arguments))[1]

    def canonical(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as JSON holds them, with JSON strings parsed where the schema asks, and
        without the nulls that stand for what is left out.

        `check` of them gives what `check` of the given ones gives; they are what a person should
        see and what a digest is taken of. Raises ArgumentsError where they do not fit.
        """
        body = _body(self.name, arguments)
        kept = self._fit(body)[0]
        return codec.decode(body, dict) if kept is None else kept

    def _fit(self, body: bytes) -> tuple[dict[str, Any] | None, Any]:
        try:
            return self.arguments.fit(self.name, body)
        except ArgumentsError:
            raise
        except Exception:
            log.exception("the arguments of tool %s could not be checked", self.name)
            raise ArgumentsError(f"The arguments of {self.name} could not be checked.") from None

    def call(self, checked: Any, context: ToolContext[Any]) -> Any:
        """Call it with checked arguments: a coroutine, or for a sync function its value."""
        return self.handler(checked, context)


@dataclass(frozen=True, kw_only=True, eq=False)
class FunctionTool(Tool, Generic[P, R]):
    """A tool made from a function, which can still be called like the function."""

    signature: signatures.Signature = field(repr=False)

    def __post_init__(self) -> None:
        Tool.__post_init__(self)
        # So that help(), signatures and documentation tools see the function.
        self.__dict__.update(
            __wrapped__=self.handler,
            __name__=getattr(self.handler, "__name__", self.name),
            __qualname__=getattr(self.handler, "__qualname__", self.name),
            __module__=getattr(self.handler, "__module__", __name__),
            __doc__=self.handler.__doc__,
        )

    def _read(self, what: str) -> tuple[signatures.Signature, bool]:
        if self.schema is not self.signature.document:
            raise ConfigError(f"{what}: its schema is that of its function, leave it as it is")
        return self.signature, functions.is_async(self.handler)

    def call(self, checked: Any, context: ToolContext[Any]) -> Any:
        """Call the function with checked arguments, and with the context where it takes one."""
        name = self.signature.context
        if name is None:
            return self.handler(**checked.__dict__)
        return self.handler(**checked.__dict__, **{name: context})

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.handler(*args, **kwargs)  # type: ignore[no-any-return]


@overload
def tool(function: Callable[P, R], /, **options: Unpack[ToolOptions]) -> FunctionTool[P, R]: ...
@overload
def tool(
    **options: Unpack[ToolOptions],
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Any = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Make a tool of a function: `@tool`, or `@tool(approval="always", needs={"db:write"})`.

    Name, schema and descriptions come from the function's name, its signature and its docstring
    in the style of Google, NumPy or Sphinx. Sync functions run on threads. Raises ConfigError
    where no tool can be made.
    """
    if function is not None:
        return _made(function, options, functions.caller())

    def decorate(function: Any) -> Any:
        return _made(function, options, functions.caller())

    return decorate


def _made(
    function: Any, options: ToolOptions, frame: functions.Frame | None
) -> FunctionTool[..., Any]:
    if isinstance(function, staticmethod):
        function = function.__func__
    _refuse_function(function)
    _refuse_options(options)
    name = options.get("name", _name(function))
    _refuse_name(name)
    written = describe(_docstring(function))
    signature = signatures.read(function, name, written.parameters, frame)
    chosen: dict[str, Any] = {"name": name, "description": written.text, **options}
    return FunctionTool(**chosen, handler=function, schema=signature.document, signature=signature)


def _refuse_function(function: Any) -> None:
    if isinstance(function, Tool):
        raise ConfigError(
            f"{function.name!r} is a tool already: use dataclasses.replace to change it"
        )
    if isinstance(function, type) or not callable(function):
        raise ConfigError(f"a tool is made from a function, not from {function!r:.80}")
    if functions.yields(function):
        raise ConfigError(
            f"{_name(function)!r} yields: a tool returns one value; tell how far it has come with "
            "`ctx.progress(…)`"
        )


def _refuse_options(options: ToolOptions) -> None:
    known = ToolOptions.__optional_keys__
    for name in options:
        if name not in known:
            raise ConfigError(f"tool has no option {name!r}: it has {', '.join(sorted(known))}")


def _name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _docstring(function: Any) -> str | None:
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function):
        return inspect.getdoc(function)
    return inspect.getdoc(functions.plain(function)) or inspect.getdoc(function)


def _refuse_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigError(
            f"{name!r:.80} is no tool name: take 1 to 64 of A-Z a-z 0-9 _ -, with `name=`"
        )


def _refuse_description(name: str, description: object) -> None:
    if not isinstance(description, str) or not description.strip():
        raise ConfigError(
            f"tool {name!r} has no description: the model must know what it does; write a "
            "docstring, or give `description=`"
        )


def _refuse_flag(name: str, value: object, what: str) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{what}: {name} must be True or False, not {value!r:.80}")


def _refuse_repeat(repeat: object, transactional: object, what: str) -> None:
    if repeat not in ("safe", "ask"):
        raise ConfigError(f'{what}: repeat must be "safe" or "ask", not {repeat!r:.80}')
    if transactional and repeat == "ask":
        raise ConfigError(
            f'{what}: leave out repeat="ask", a transactional tool has nothing to ask: what it'
            " does and the record of it are one commit"
        )


def _checks_context(approval: object, what: str) -> bool:
    if approval in ("always", "never"):
        return False
    if not callable(approval):
        raise ConfigError(
            f'{what}: approval must be "always", "never" or a check of the arguments, '
            f"not {approval!r:.80}"
        )
    with_context = functions.takes_context(approval)
    if not functions.takes(approval, 2 if with_context else 1):
        raise ConfigError(
            f"{what}: its approval check must take the arguments, and may take the context "
            "second: `lambda args: …` or `lambda args, ctx: …`"
        )
    return with_context


def _capabilities(needs: object, what: str) -> frozenset[str]:
    if isinstance(needs, str) or not isinstance(needs, Iterable):
        raise ConfigError(
            f'{what}: needs must be a set, like {{"payments:write"}}, not {needs!r:.80}'
        )
    found = list(needs)
    for capability in found:
        if not isinstance(capability, str) or not capability or capability.split() != [capability]:
            raise ConfigError(
                f'{what}: {capability!r:.80} is no capability: name one like "payments:write"'
            )
    return frozenset(found)


def _seconds(timeout: object, what: str) -> float | None:
    if timeout is None:
        return None
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise ConfigError(f"{what}: timeout must be seconds or a timedelta, not {timeout!r:.80}")
    if not 0 < seconds < math.inf:
        raise ConfigError(
            f"{what}: timeout must be more than 0 seconds, or None for no limit, not {timeout!r}"
        )
    return float(seconds)


def _cap(characters: object, what: str) -> int | None:
    if characters is None:
        return None
    if isinstance(characters, bool) or not isinstance(characters, int) or characters < 1:
        raise ConfigError(
            f"{what}: max_result_chars must be at least 1, or None for no cap, not {characters!r}"
        )
    return characters


def _body(tool: str, arguments: object) -> bytes:
    if not isinstance(arguments, Mapping):
        raise ArgumentsError(f"The arguments of {tool} must be a JSON object.")
    try:
        body = codec.encode(arguments)
    except TypeError:
        raise ArgumentsError(f"The arguments of {tool} hold what JSON cannot.") from None
    except ValueError as error:
        raise ArgumentsError(f"The arguments of {tool} cannot be kept: {error}.") from None
    # JSON has null where Python has NaN, and null may stand for what is left out.
    if b"null" in body and (found := list(not_numbers(arguments))):
        raise told(tool, found)
    return body
