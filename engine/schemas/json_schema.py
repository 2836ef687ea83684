"""Values with a JSON Schema: JSON text, validated against the schema. Nothing is fetched from an address in it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import regex
from jsonschema import Draft7Validator, FormatChecker, ValidationError, validators
from jsonschema.exceptions import UnknownType
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7, lookup_recursive_ref

from engine.schemas.problems import InvalidValue, SchemaTimeout, UnusableSchema, ValueProblem

MAX_PROBLEMS = 100
PATTERN_S = 0.5  # a pattern and a value together can take any time
VALIDATION_S = 10.0  # so can references that branch
MAX_LEVELS = 150  # of keywords: a RecursionError within jsonschema's compiled parts would be a panic

# The errors of jsonschema for schemas that no meta-schema checked: those of references and of unknown keywords.
_BROKEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, UnknownType, regex.error)

_Places = set[Any]  # names of members, or indexes of items
Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


class JsonSchema:
    """A JSON Schema with its references. Without `$schema` it is draft 7, as Confluent's serializer writes it."""

    def __init__(self, text: str, references: Mapping[str, str]) -> None:
        try:
            schema = json.loads(text)
            if not isinstance(schema, dict | bool):
                raise TypeError("it is neither an object nor a boolean")
            if isinstance(schema, dict) and not isinstance(schema.get("$schema", ""), str):
                raise TypeError("its $schema is not text")
            validator = validators.validator_for(schema, default=Draft7Validator)
            bounded = _bounded(validator)
            _limits.set(_Limits(VALIDATION_S))
            problem = next(bounded(validator.META_SCHEMA, format_checker=_FORMATS).iter_errors(schema), None)
            known: Registry[Any] = Registry().with_resources(
                (name, Resource.from_contents(json.loads(one), default_specification=DRAFT7))
                for name, one in references.items()
            )
        except TimeoutError as error:
            raise SchemaTimeout(f"the JSON Schema can't be checked: {error}") from None
        except (*_BROKEN, RecursionError) as error:
            raise UnusableSchema(f"the JSON Schema is invalid: {error}") from None
        if problem is not None:
            raise UnusableSchema(f"the JSON Schema is invalid: {problem.message[:300]}")
        self.title = str(schema.get("title", "")) if isinstance(schema, dict) else ""
        self._validator = bounded(schema, registry=known)

    def check(self, text: str, seconds: float = VALIDATION_S) -> None:
        """Validate a JSON text. Raises InvalidValue with every problem at its path, or UnusableSchema.

        Stops after 100 problems, or when the seconds are over.
        """
        _limits.set(_Limits(seconds))
        try:
            value = json.loads(text)
            problems = [
                ValueProblem(_path(error.absolute_path), error.message[:300])
                for error, _ in zip(self._validator.iter_errors(value), range(MAX_PROBLEMS), strict=False)
            ]
        except Unresolvable as error:
            raise UnusableSchema(f"the JSON Schema refers to {error.ref!r}, which the registry does not list") from None
        except TimeoutError as error:
            problems = [ValueProblem("", str(error))]
        except RecursionError:
            problems = [ValueProblem("", "is nested too deeply to be validated")]
        except OverflowError:
            problems = [ValueProblem("", "has a number that is too large to be validated")]
        except _BROKEN as error:
            said = str(error).partition("\n")[0]  # more lines would quote the value
            raise UnusableSchema(f"the JSON Schema is invalid: {said[:300]}") from None
        if problems:
            raise InvalidValue(problems)


class _Limits:
    """The deadline of one validation, and the level that it has reached. Its errors end the validation."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends = time.monotonic() + seconds
        self._level = 0

    def __enter__(self) -> None:
        self._level += 1
        if self._level > MAX_LEVELS:
            raise RecursionError("it is nested too deeply")
        if time.monotonic() > self._ends:
            raise TimeoutError(f"takes more than {self._seconds:g} s to be validated")

    def __exit__(self, *_: object) -> None:
        self._level -= 1


_limits: ContextVar[_Limits] = ContextVar("the limits of the validation that runs in this thread")


@lru_cache(16)  # one for each draft
def _bounded(validator: Any) -> Any:
    """Return a validator whose keywords have limits."""
    ours = {name: keyword for name, keyword in _OURS.items() if name in validator.VALIDATORS}
    known = {**validator.VALIDATORS, **ours}
    return validators.extend(validator, {name: _limited(keyword) for name, keyword in known.items()})


def _limited(keyword: Keyword) -> Keyword:
    def limited(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        with _limits.get():
            yield from keyword(validator, value, instance, schema) or ()

    return limited


def _pattern(validator: Any, pattern: str, instance: Any, _: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _matches(pattern, instance):
        yield ValidationError(f"{instance[:100]!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], instance: Any, _: Any) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, inner in patterns.items():
        for name, value in instance.items():
            if _matches(pattern, name):
                yield from validator.descend(value, inner, path=name, schema_path=pattern)


def _additional_properties(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "object"):
        yield from _of_others(validator, inner, instance, _named(schema, instance), "Additional properties")


def _unevaluated_properties(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "object"):
        others = {keyword: value for keyword, value in schema.items() if keyword != "unevaluatedProperties"}
        known = _evaluated(validator, instance, others)
        yield from _of_others(validator, inner, instance, known, "Unevaluated properties")


def _unevaluated_items(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if validator.is_type(instance, "array"):
        others = {keyword: value for keyword, value in schema.items() if keyword != "unevaluatedItems"}
        known = _evaluated(validator, instance, others)
        yield from _of_others(validator, inner, instance, known, "Unevaluated items")


def _of_others(validator: Any, inner: Any, instance: Any, known: _Places, kind: str) -> Iterator[Any]:
    """Validate the members or items that are not known."""
    places = instance if isinstance(instance, dict) else range(len(instance))
    names = [name for name in places if name not in known]
    if inner is False and names:
        listed = ", ".join(map(repr, names))
        verb = "was" if len(names) == 1 else "were"
        yield ValidationError(f"{kind} are not allowed ({listed} {verb} unexpected)")
        return
    for name in names:
        yield from validator.descend(instance[name], inner, path=name)


def _named(schema: Mapping[str, Any], instance: Mapping[str, Any]) -> _Places:
    """Return the members that `properties` and `patternProperties` name."""
    patterns = schema.get("patternProperties", ())
    properties = schema.get("properties", {})
    return {name for name in instance if name in properties or any(_matches(one, name) for one in patterns)}


def _evaluated(validator: Any, instance: Any, schema: Any) -> _Places:
    """Return the members or items that a schema and those it applies in place evaluate (draft 2020-12, core, 11)."""
    if not isinstance(schema, dict):
        return set()
    names = (_members if isinstance(instance, dict) else _items)(validator, instance, schema)
    if len(names) >= len(instance):
        return names
    with _limits.get():
        for found in _referred(validator, schema):
            at = validator.evolve(schema=found.contents, _resolver=found.resolver)
            names |= _evaluated(at, instance, found.contents)
        for inner in _applied(validator, instance, schema):
            names |= _evaluated(validator, instance, inner)
    return names


def _members(_: Any, instance: Mapping[str, Any], schema: Mapping[str, Any]) -> _Places:
    """Return the members that the schema's own keywords evaluate."""
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return set(instance)
    return _named(schema, instance)


def _items(validator: Any, instance: list[Any], schema: Mapping[str, Any]) -> _Places:
    """Return the indexes of items that the schema's own keywords evaluate. `items` may be a list before 2020-12."""
    items = schema.get("items")
    first = schema.get("prefixItems", ()) if "prefixItems" in validator.VALIDATORS else ()
    first = items if isinstance(items, list) else first
    has_rest = "items" in schema if first is not items else "additionalItems" in schema
    if has_rest or "unevaluatedItems" in schema:
        return set(range(len(instance)))
    found: _Places = set(range(len(first)))
    if "contains" in schema:
        found.update(i for i, item in enumerate(instance) if _is_valid(validator, item, schema["contains"]))
    return found


def _is_valid(validator: Any, instance: Any, schema: Any) -> bool:
    return next(validator.descend(instance, schema), None) is None


def _referred(validator: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    resolver = validator._resolver  # noqa: SLF001, jsonschema hands it to no keyword otherwise
    for keyword in ("$ref", "$dynamicRef"):
        if keyword in schema:
            yield resolver.lookup(schema[keyword])
    if "$recursiveRef" in schema:
        yield lookup_recursive_ref(resolver)


def _applied(validator: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the schemas of keywords that apply to the same value, if it is valid for them."""
    inner = [one for keyword in ("allOf", "anyOf", "oneOf") for one in schema.get(keyword, ())]
    if isinstance(instance, dict):
        inner += [one for name, one in schema.get("dependentSchemas", {}).items() if name in instance]
    yield from (one for one in inner if _is_valid(validator, instance, one))
    if "if" in schema:
        holds = _is_valid(validator, instance, schema["if"])
        yield from [schema["if"], schema.get("then")] if holds else [schema.get("else")]


def _unique_items(validator: Any, wanted: bool, instance: Any, _: Any) -> Iterator[ValidationError]:
    """Compare texts, which takes linear time."""
    if not wanted or not validator.is_type(instance, "array"):
        return
    seen: dict[str, int] = {}
    for index, item in enumerate(instance):
        first = seen.setdefault(json.dumps(_with_whole_numbers(item), sort_keys=True), index)
        if first != index:
            yield ValidationError(f"has non-unique elements: items {first} and {index} are equal")
            return


def _with_whole_numbers(value: Any) -> Any:
    """Return the value with 1 for 1.0, which are equal in JSON Schema."""
    if isinstance(value, dict):
        return {name: _with_whole_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


_OURS: Mapping[str, Keyword] = {
    "additionalProperties": _additional_properties,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "unevaluatedItems": _unevaluated_items,
    "unevaluatedProperties": _unevaluated_properties,
    "uniqueItems": _unique_items,
}
_FORMATS = FormatChecker()  # of schemas
# jsonschema's own check compiles with `re`, which refuses valid patterns of ECMA such as ^\p{L}+$.
_FORMATS.checks("regex", raises=regex.error)(lambda text: not isinstance(text, str) or bool(regex.compile(text)))


def _matches(pattern: str, text: str) -> bool:
    with _limits.get():
        try:
            return regex.search(pattern, text, timeout=PATTERN_S) is not None
        except TimeoutError:
            raise TimeoutError(f"a pattern of the schema took more than {PATTERN_S} s") from None


def _path(steps: Any) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f"{'.' if text else ''}{step}"
    return text
