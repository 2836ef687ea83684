"""Claims about translated configurations of Java connectors."""

from __future__ import annotations

from collections.abc import Mapping

from engine.assembly.translation import translate
from engine.assembly.validation import validate
from engine.config.properties import parse_properties
from engine.config.worker import parse_worker

PROVIDERS = {"config.providers": "file", "config.providers.file.param.allowed.paths": "/secrets"}


def open_points(properties: Mapping[str, str]) -> list[str]:
    """Return what is left to a person."""
    return [option.comment for option in translate(properties).options if option.is_open]


def valid_result(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the result. It has no open point, reads back from its text, and is valid."""
    result = translate(properties)
    assert open_points(properties) == []
    assert parse_properties("\n".join(result.lines())) == result.properties
    plan = validate(result.properties, parse_worker(PROVIDERS))
    assert plan.config.connector_class == result.equivalent
    return result.properties


def unknown_options(properties: Mapping[str, str], names: str) -> list[str]:
    """Return the points about options that the table does not know, of a configuration with all these options."""
    points = open_points({**dict.fromkeys(names.split(), "1"), **properties})
    return [point for point in points if "no such option" in point]
