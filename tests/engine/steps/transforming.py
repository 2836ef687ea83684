"""What tests of transforms have in common."""

from __future__ import annotations

from typing import Any

from engine.config.worker import StepConfig
from engine.errors import ConfigError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.steps.registry import build_transform

INT32, INT64, TEXT = Schema("INT32"), Schema("INT64"), Schema("STRING")
MAYBE = Schema("STRING", optional=True)
DEFAULTED = Schema("INT32", optional=True, default=7)


def struct(*fields: tuple[str, Schema], optional: bool = False, name: str | None = None) -> Schema:
    """A STRUCT of these fields."""
    return Schema("STRUCT", optional, name, fields=tuple(Field(name, schema) for name, schema in fields))


def record_of(value: Any, schema: Schema | None = None, **rest: Any) -> Record:
    """A record at t/1/5 with that value, its key the same."""
    return Record("t", 1, 1500000000123, value, value, schema, schema, **{"offset": 5, **rest})


def apply(name: str, options: dict[str, str], record: Record) -> Record:
    """What the transform makes of the record."""
    found = build_transform(StepConfig("x", name, options)).apply(record)
    assert found is not None
    return found


def applied(name: str, options: dict[str, str], value: Any, schema: Schema | None = None) -> tuple[Any, Schema | None]:
    """What the transform makes of a value, with its schema."""
    found = apply(name, options, record_of(value, schema))
    return found.value, found.value_schema


def problem_of(name: str, options: dict[str, str]) -> tuple[str, str]:
    """The option that a configuration fails on, and the message."""
    try:
        build_transform(StepConfig("x", name, options))
    except ConfigError as error:
        return error.problems[0][0], error.problems[0][2]
    raise AssertionError(f"{name} takes {options}")
