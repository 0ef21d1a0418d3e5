"""JSON Schemas that users bring: refused when wrong, and checked against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from remit.tools.arguments import Plain, Problem, json_type, mended, shown, told
from remit.values import codec
from remit.values.errors import ConfigError

_MEND = "install it with `pip install '.[jsonschema]'` in a clone of remit"


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A JSON Schema that is known to be right, with its validator."""

    document: dict[str, Any]
    validator: Any

    def fit(self, tool: str, body: bytes) -> tuple[Plain, Plain]:
        """The arguments in `body` as `mended`: to keep, and for the handler.

        Raises ArgumentsError where they do not fit.
        """
        arguments, problems = mended(codec.decode(body, dict), self.problems)
        if problems:
            raise told(tool, problems)
        return arguments, arguments

    def problems(self, value: Any) -> list[Problem]:
        """What in `value` does not fit, at most a few dozen places."""
        try:
            found: list[Problem] = []
            for error in self.validator.iter_errors(value):
                found.extend(_problems(error))
                if len(found) > 50:
                    break
            return found
        except RecursionError:
            return [Problem((), "they are nested too deeply")]


def checked(document: object, what: str, *, arguments: bool) -> Schema:
    """`document` as a schema. Raises ConfigError where it is none; `what` begins the message.

    With `arguments` it must be the schema of an object. References lead only into the schema
    itself: nothing is ever fetched.
    """
    try:
        from jsonschema import Draft202012Validator, SchemaError, validators
        from referencing.jsonschema import EMPTY_REGISTRY
    except ImportError:
        raise ConfigError(f"{what}: checking a JSON Schema needs jsonschema: {_MEND}") from None
    if not isinstance(document, Mapping):
        raise ConfigError(f"{what} must be a JSON Schema, a dict, not {type(document).__name__}")
    own = _copied(document, what)
    if arguments and own.get("type") != "object":
        raise ConfigError(
            f'{what} must describe an object: {{"type": "object", "properties": {{…}}}}, '
            f'not "type": {shown(own.get("type"))}'
        )
    dialect = own if isinstance(own.get("$schema"), str) else {}
    kind = validators.validator_for(dialect, default=Draft202012Validator)
    try:
        kind.check_schema(own)
    except SchemaError as error:
        where = error.json_path.removeprefix("$").removeprefix(".") or "its top"
        raise ConfigError(
            f"{what} is not a valid JSON Schema: at {where}: {error.message:.200}"
        ) from None
    except RecursionError:
        raise ConfigError(f"{what} is nested too deeply") from None
    _refuse_dangling(own, kind, what)
    return Schema(own, kind(own, registry=EMPTY_REGISTRY))


def _copied(document: Mapping[str, Any], what: str) -> dict[str, Any]:
    try:
        return codec.decode(codec.encode(document), dict)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{what} holds what JSON cannot: {error}") from None


def _refuse_dangling(document: dict[str, Any], kind: Any, what: str) -> None:
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import EMPTY_REGISTRY, specification_with

    dialect = specification_with(kind.META_SCHEMA["$schema"])
    resolver = EMPTY_REGISTRY.resolver_with_root(dialect.create_resource(document))
    for reference in _references(document, top=True):
        try:
            resolver.lookup(reference)
        except Unresolvable:
            raise ConfigError(
                f"{what}: the reference {reference!r} leads nowhere: put what it names under "
                "$defs, nothing is fetched"
            ) from None


def _references(tree: Any, *, top: bool = False) -> Iterator[str]:
    if isinstance(tree, dict):
        reference = tree.get("$ref")
        if not top and "$id" in tree:
            # It counts from an address of its own.
            return
        if isinstance(reference, str):
            yield reference
        for key, value in tree.items():
            if key not in ("const", "enum", "default", "examples"):
                yield from _references(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _references(value)


def _problems(error: Any) -> Iterator[Problem]:
    """One problem for an error; of alternatives that all fail, those of each."""
    if error.context:
        for inner in error.context:
            yield from _problems(inner)
        return
    yield Problem(tuple(error.absolute_path), _text(error), _wants(error))


def _wants(error: Any) -> frozenset[str]:
    if not isinstance(error.instance, str):
        return frozenset()
    if error.validator == "type":
        names = error.validator_value
        listed = [names] if isinstance(names, str) else names
        return frozenset("number" if name == "integer" else name for name in listed)
    if error.validator in ("enum", "const"):
        values = error.validator_value if error.validator == "enum" else [error.validator_value]
        return frozenset(json_type(value) for value in values)
    return frozenset()


def _text(error: Any) -> str:
    value, sent = error.validator_value, error.instance
    match error.validator:
        case "type":
            wanted = value if isinstance(value, str) else " or ".join(value)
            return f"should be {wanted}, not {shown(sent)}"
        case "required":
            missing = [name for name in value if name not in sent]
            return f"needs {', '.join(missing)[:300]}"
        case "additionalProperties" | "unevaluatedProperties":
            known = error.schema.get("properties", {})
            extra = [name[:60] for name in sent if name not in known]
            return (
                f"takes no {', '.join(extra)[:200]}; it takes: {', '.join(known)[:300] or 'none'}"
            )
        case "enum":
            return f"should be one of {', '.join(map(shown, value))[:300]}, not {shown(sent)}"
        case "oneOf":
            return f"fits more than one of the allowed forms: it was {shown(sent)}"
        case "const":
            return f"should be {shown(value)}, not {shown(sent)}"
        case rule:
            return f"breaks the rule {rule} {shown(value)}: it was {shown(sent)}"
