"""Values with a JSON Schema: JSON text, validated against the schema. Nothing is fetched from an address in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import regex
from jsonschema import Draft7Validator, SchemaError, ValidationError, validators
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7

from engine.schemas.problems import InvalidValue, UnusableSchema, ValueProblem

MAX_PROBLEMS = 100
PATTERN_S = 0.5  # a pattern and a value together can take any time


class JsonSchema:
    """A JSON Schema with its references. Without `$schema` it is draft 7, as Confluent's serializer writes it."""

    def __init__(self, text: str, references: Mapping[str, str]) -> None:
        try:
            schema = json.loads(text)
            validator = validators.validator_for(schema, default=Draft7Validator)
            validator.check_schema(schema)
            known: Registry[Any] = Registry().with_resources(
                (name, Resource.from_contents(json.loads(one), default_specification=DRAFT7))
                for name, one in references.items()
            )
        except SchemaError as error:
            raise UnusableSchema(f"the JSON Schema is invalid: {error.message[:300]}") from None
        except (ValueError, TypeError, RecursionError) as error:
            raise UnusableSchema(f"the JSON Schema is invalid: {error}") from None
        self.title = str(schema.get("title", "")) if isinstance(schema, dict) else ""
        bounded = validators.extend(validator, {"pattern": _pattern, "patternProperties": _pattern_properties})
        self._validator = bounded(schema, registry=known)

    def check(self, text: str) -> None:
        """Validate a JSON text. Raises InvalidValue with every problem at its path."""
        try:
            value = json.loads(text)
            problems = [
                ValueProblem(_path(error.absolute_path), error.message[:300])
                for error, _ in zip(self._validator.iter_errors(value), range(MAX_PROBLEMS), strict=False)
            ]
        except Unresolvable as error:
            raise UnusableSchema(f"the JSON Schema refers to {error.ref!r}, which the registry does not list") from None
        except TimeoutError:
            problems = [ValueProblem("", f"a pattern of the schema took more than {PATTERN_S} s")]
        except RecursionError:
            problems = [ValueProblem("", "is nested too deeply to be validated")]
        if problems:
            raise InvalidValue(problems)


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


def _matches(pattern: str, text: str) -> bool:
    return regex.search(pattern, text, timeout=PATTERN_S) is not None


def _path(steps: Any) -> str:
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f"{'.' if text else ''}{step}"
    return text
