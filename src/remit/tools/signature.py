"""A function's signature as a Pydantic model: the schema a model reads, the check of its calls."""

from __future__ import annotations

import inspect
import typing
import warnings
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

import msgspec

from remit.tools import function as functions
from remit.tools.arguments import Plain, Problem, at, mended, shown, steps, told
from remit.values import codec
from remit.values.errors import ConfigError

_SCALARS = frozenset({"number", "boolean", "null"})
_WANTS: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"),
        frozenset({"array"}),
    ),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type", "dataclass_type"),
        frozenset({"object"}),
    ),
    **dict.fromkeys(
        ("int_type", "int_parsing", "float_type", "float_parsing"), frozenset({"number"})
    ),
    **dict.fromkeys(("bool_type", "bool_parsing"), frozenset({"boolean"})),
    **dict.fromkeys(("literal_error", "enum"), _SCALARS),
}


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """What a call of a function takes: `validator` makes an instance of a Pydantic model with
    its parameters as fields, `document` is the JSON Schema that describes them.

    `context` is the name of the parameter that is filled in and never shown.
    """

    validator: Any
    document: dict[str, Any]
    context: str | None

    def fit(self, tool: str, body: bytes) -> tuple[Plain | None, Any]:
        """The object that the arguments in `body` are checked into.

        Before it, the arguments as `mended`; None where nothing had to be.
        Raises ArgumentsError where they do not fit.
        """
        try:
            # Strict first: it tells "5" from 5, so that what a person approves is what runs.
            return None, self._read(body, strict=True)
        except ValueError as error:
            from pydantic import ValidationError

            if not isinstance(error, ValidationError):
                raise
            arguments, _ = mended(codec.decode(body, dict), self._strict_problems)
        try:
            return arguments, self._read(codec.encode(arguments), strict=None)
        except ValidationError as error:
            raise told(tool, _problems(error, arguments, self.document)) from None

    def _strict_problems(self, arguments: Plain) -> list[Problem]:
        from pydantic import ValidationError

        try:
            self._read(codec.encode(arguments), strict=True)
        except ValidationError as error:
            return _problems(error, arguments, self.document)
        return []

    def _read(self, body: bytes, *, strict: bool | None) -> Any:
        # As JSON, so that strict types take dates, enums and sets in the form JSON has for them.
        if b"\\ud" in body and _has_lone_half(body):
            return self.validator.validate_python(codec.decode(body, dict))
        return self.validator.validate_json(body, strict=strict)


def read(
    function: Any, tool: str, descriptions: Mapping[str, str], frame: functions.Frame | None
) -> Signature:
    """The signature of `function`. Raises ConfigError for what no model can be told to call."""
    known = functions.names(function, frame)
    parameters = functions.parameters(function, tool)
    hints = functions.hints({n: p.annotation for n, p in parameters.items()}, known, tool)
    contexts = [name for name, hint in hints.items() if functions.is_context(hint)]
    if len(contexts) > 1:
        raise ConfigError(f"tool {tool!r}: {' and '.join(contexts)} are both the context: keep one")
    fields = {
        name: (hint, ... if (default := parameters[name].default) is inspect._empty else default)
        for name, hint in hints.items()
        if name not in contexts
    }
    for name in fields:
        _refuse_name(name, tool)
    model, schema = _build(tool, fields, known)
    _refuse_unknown(descriptions, {*schema["properties"], *functions.written(function)}, tool)
    _describe(schema, model, descriptions)
    return Signature(model.__pydantic_validator__, schema, contexts[0] if contexts else None)


def _refuse_name(name: str, tool: str) -> None:
    from pydantic import BaseModel

    if name.startswith("_") or (name.startswith("model_") and hasattr(BaseModel, name)):
        other = name.strip("_").removeprefix("model_") or "value"
        raise ConfigError(
            f"tool {tool!r}: no parameter can be called {name!r}: rename it; the model can still "
            f"read the old name, `{other}: Annotated[…, pydantic.Field(alias={name!r})]`"
        )


def _refuse_unknown(described: Mapping[str, str], known: Set[str], tool: str) -> None:
    unknown = sorted(set(described) - known)
    if unknown:
        takes = ", ".join(sorted(known)) or "none"
        raise ConfigError(
            f"tool {tool!r}: its docstring describes {', '.join(map(repr, unknown))}, and it has no"
            f" such parameter: write there what it takes ({takes}), or leave that out"
        )


def _build(
    tool: str, fields: dict[str, tuple[Any, Any]], known: functions.Names
) -> tuple[Any, dict[str, Any]]:
    try:
        return _model(tool, fields, known)
    except Exception as error:
        for name, field in fields.items():
            try:
                _model(tool, {name: field}, known)
            except Exception as cause:
                raise ConfigError(
                    f"tool {tool!r}: parameter {name!r} of type {functions.shown_type(field[0])} "
                    f"cannot be described to a model: {_why(cause)}: take a type that JSON has a "
                    "form for, such as str, int, list[str], a dataclass or a Pydantic model"
                ) from cause
        raise ConfigError(
            f"tool {tool!r}: its parameters cannot be described to a model: {_why(error)}"
        ) from error


def _model(
    tool: str, fields: dict[str, tuple[Any, Any]], known: functions.Names
) -> tuple[Any, dict[str, Any]]:
    from pydantic import ConfigDict, create_model
    from pydantic.json_schema import GenerateJsonSchema

    class Generate(GenerateJsonSchema):
        """Without the titles that only repeat a name."""

        def emit_warning(self, kind: Any, detail: str) -> None:
            """A default that JSON cannot show is left out of the schema."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    with warnings.catch_warnings():
        # A parameter may well be called `schema` or `copy`: its value is what counts.
        warnings.filterwarnings("ignore", message=".*shadows an attribute", category=UserWarning)
        model: Any = create_model(
            tool,
            __config__=ConfigDict(
                # NaN compares as False, so it would pass `amount > 100` unasked.
                allow_inf_nan=False,
                extra="forbid",
                frozen=True,
                protected_namespaces=(),
            ),
            __module__=known.module.get("__name__", __name__),
            **typing.cast("dict[str, Any]", fields),
        )
    if not model.__pydantic_complete__:
        # Types that are defined inside a function name each other through its local names.
        model.model_rebuild(_types_namespace=known.local)
    schema = model.model_json_schema(schema_generator=Generate)
    if "$ref" in schema:
        raise TypeError("it stands for the arguments themselves")
    return model, {
        "type": "object",
        "properties": schema.pop("properties", {}),
        **{key: value for key, value in schema.items() if key not in ("type", "title")},
    }


def _describe(schema: dict[str, Any], model: Any, descriptions: Mapping[str, str]) -> None:
    for name, field in model.__pydantic_fields__.items():
        shown_as = field.validation_alias if isinstance(field.validation_alias, str) else name
        entry = schema["properties"].get(shown_as)
        told = descriptions.get(name) or descriptions.get(shown_as)
        if entry is not None and told:
            entry.setdefault("description", told)


def _problems(error: Any, arguments: Plain, schema: dict[str, Any]) -> list[Problem]:
    return [
        _problem(found, arguments, schema)
        for found in error.errors(include_url=False, include_context=False)
    ]


def _problem(found: Mapping[str, Any], arguments: Plain, schema: dict[str, Any]) -> Problem:
    kind, loc = found["type"], found["loc"]
    missing = kind in ("missing", "missing_argument")
    path = steps(loc[:-1] if missing else loc, arguments)
    if missing:
        return Problem((*path, loc[-1]), "is required and was left out")
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        takes = ", ".join(schema["properties"]) or "none"
        known = f"; the arguments are: {takes[:300]}" if len(path) == 1 else ""
        return Problem(path, f"is not an argument{known}", unknown=True)
    if kind == "json_invalid":
        return Problem((), "they are nested too deeply")
    text = found["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    sent = at(arguments, path)
    return Problem(path, f"{text[:300]}, not {shown(sent)}", _WANTS.get(kind, frozenset()))


def _has_lone_half(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return True
    return False


def _why(error: Exception) -> str:
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return line.partition(" Set `arbitrary_types_allowed")[0].rstrip(".")[:300]
