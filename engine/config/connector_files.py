"""Connector files as Kafka Connect's standalone worker reads them: properties, or JSON in two forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from engine.config.options import Problem, nearest
from engine.config.properties import parse_properties
from engine.config.topic import TargetState
from engine.errors import ConfigError

# Kafka Connect's names of the states that a connector may begin in.
INITIAL_STATES = {
    "RUNNING": TargetState.STARTED,
    "PAUSED": TargetState.PAUSED,
    "STOPPED": TargetState.STOPPED,
}


@dataclass(frozen=True, slots=True)
class ConnectorFile:
    """A connector of a file. `initial_state` is None if the file names none."""

    path: Path
    properties: dict[str, str]
    initial_state: TargetState | None = None

    @property
    def name(self) -> str:
        return self.properties.get("name", "")


def load_connector(path: Path) -> ConnectorFile:
    """Read a connector file. Raises ConfigError with one sentence, and OSError.

    JSON is either an object of options, or the body of `POST /connectors`: `{"name", "config", "initial_state"}`.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise _problem(path, f"is not UTF-8: byte {error.start} is invalid") from error
    if path.suffix.lower() != ".json" and not text.lstrip().startswith(("{", "[")):
        return ConnectorFile(path, parse_properties(text))
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _problem(path, f"is not valid JSON: {error}") from error
    if not isinstance(body, dict):
        raise _problem(path, f"holds {_kind(body)}; write one JSON object for each connector, in a file of its own")
    if isinstance(body.get("config"), dict):
        return _from_request(path, body)
    return ConnectorFile(path, _options(path, body))


def load_connectors(paths: Iterable[Path]) -> list[ConnectorFile]:
    """Read connector files. Raises ConfigError also for a file without a name, and for two with the same name."""
    files: dict[str, ConnectorFile] = {}
    for path in paths:
        file = load_connector(path)
        if not file.name:
            raise _problem(path, "has no option `name`; give each connector a name")
        if file.name in files:
            raise _problem(path, f"has the name {file.name}, as {files[file.name].path} has; choose another name")
        files[file.name] = file
    return list(files.values())


def _from_request(path: Path, body: Mapping[str, Any]) -> ConnectorFile:
    properties = _options(path, body["config"])
    name = body.get("name")
    if not isinstance(name, str):
        raise _problem(path, "has no text in `name` beside `config`")
    if properties.setdefault("name", name) != name:
        raise _problem(path, f"has the name {name} beside `config`, and the name {properties['name']} in it")
    state = body.get("initial_state")
    if state is None:
        return ConnectorFile(path, properties)
    target = INITIAL_STATES.get(str(state).upper())
    if target is None:
        hint = nearest(str(state), list(INITIAL_STATES))
        raise _problem(path, f"has the initial_state {state}; use one of {', '.join(INITIAL_STATES)}{hint}")
    return ConnectorFile(path, properties, target)


def _options(path: Path, body: Mapping[str, Any]) -> dict[str, str]:
    """Return the options as texts. Numbers and booleans are accepted, as by Kafka Connect."""
    for option, value in body.items():
        if not isinstance(value, str | int | float):
            raise _problem(path, f"option {option} is {_kind(value)}; write its value as a text")
    return {option: value if isinstance(value, str) else orjson.dumps(value).decode() for option, value in body.items()}


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", type(None): "null", str: "a text", bool: "a boolean"}.get(
        type(value), "a number"
    )


def _problem(path: Path, text: str) -> ConfigError:
    row: Problem = (str(path), None, text)
    return ConfigError((row,))
