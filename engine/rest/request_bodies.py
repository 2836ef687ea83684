"""Request bodies and parameters, read as Kafka Connect reads them.

A body that is not the expected JSON gets status 500, as in Kafka Connect, where it is an unhandled error of the parser.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request

from engine.config.topic import TargetState
from engine.errors import BadRequest, ConfigError
from engine.herder.offset_changes import OffsetRow

INITIAL_STATES = {"RUNNING": TargetState.STARTED, "PAUSED": TargetState.PAUSED, "STOPPED": TargetState.STOPPED}
ROWS = '{"offsets": [{"partition": {...}, "offset": {...}}, ...]}'


class NewConnector(NamedTuple):
    """The body of `POST /connectors` (KIP-980). An `initial` of None leaves the state as it is."""

    name: str
    properties: dict[str, str]
    initial: TargetState | None


async def json_object(request: Request) -> dict[str, Any]:
    """Return the body, which must be a JSON object. Raises HTTPException with status 500."""
    content = await request.body()
    if not content.strip():
        raise _malformed("The request has no body. It must be a JSON object.")
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise _malformed(f"The request body is not JSON: {error}.") from error
    if not isinstance(body, dict):
        raise _malformed("The request body must be a JSON object.")
    return body


async def new_connector(request: Request) -> NewConnector:
    """Return the connector to create. A missing name is empty, and fails the validation."""
    body = await json_object(request)
    _refuse_unknown(body, "name", "config", "initial_state")
    name = _text("name", body.get("name")) or ""
    if not isinstance(body.get("config"), dict):
        raise _malformed("config must be a JSON object with the connector's options.")
    initial = _text("initial_state", body.get("initial_state"))
    if initial is not None and initial.upper() not in INITIAL_STATES:
        raise _malformed(f"initial_state must be one of {', '.join(INITIAL_STATES)}, not {initial}.")
    properties = named(name.strip(), properties_of(body["config"]))
    return NewConnector(name.strip(), properties, INITIAL_STATES[initial.upper()] if initial is not None else None)


def properties_of(body: Mapping[str, Any]) -> dict[str, str]:
    """Return options as strings. Numbers and booleans become their texts. Raises ConfigError for null values."""
    values = {name: _text(name, value) for name, value in body.items()}
    if empty := [name for name, value in values.items() if value is None]:
        raise ConfigError(tuple((name, None, "must not be null") for name in empty))
    return {name: value for name, value in values.items() if value is not None}


def patch_of(body: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the options to change; None removes an option (KIP-477)."""
    return {name: _text(name, value) for name, value in body.items()}


def named(connector: str, properties: dict[str, str]) -> dict[str, str]:
    """Return the properties. Raises BadRequest if they contain another connector's name."""
    included = properties.get("name", connector)
    if included != connector:
        raise BadRequest(
            f"Connector name configuration ({included}) doesn't match connector name in the URL ({connector})"
        )
    return properties


def offset_rows(body: Mapping[str, Any]) -> list[OffsetRow]:
    """Return the rows of `PATCH /connectors/<c>/offsets`. Raises BadRequest without any."""
    _refuse_unknown(body, "offsets")
    rows = body.get("offsets")
    if rows is None or rows == []:
        raise BadRequest("Partitions / offsets need to be provided for an alter offsets request")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _malformed(f"The request body must be {ROWS}.")
    offsets: list[OffsetRow] = []
    for row in rows:
        _refuse_unknown(row, "partition", "offset")
        partition, offset = row.get("partition"), row.get("offset")
        if not isinstance(partition, dict | None) or not isinstance(offset, dict | None):
            raise _malformed("Each row of offsets needs a partition and an offset that are JSON objects.")
        if partition is None:
            raise BadRequest("The partition for a sink connector offset cannot be null or missing")
        offsets.append((partition, offset))
    return offsets


def flag(request: Request, name: str) -> bool:
    """Return a parameter of the query; every word but `true` means false."""
    return request.query_params.get(name, "false").lower() == "true"


def _text(name: str, value: object) -> str | None:
    """Return a scalar as text, as Kafka Connect's parser does."""
    if isinstance(value, dict | list):
        raise _malformed(f"{name} must be a string.")
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refuse_unknown(body: Mapping[str, Any], *known: str) -> None:
    if unknown := sorted(body.keys() - set(known)):
        raise _malformed(f"The request has an unknown field {unknown[0]}. Known fields are {', '.join(known)}.")


def _malformed(message: str) -> HTTPException:
    return HTTPException(500, message)
