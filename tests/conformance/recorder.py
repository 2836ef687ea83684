"""A sink that writes each record it is given to a topic, as JSON: the twin of `java/RecordingSink.java`."""

from __future__ import annotations

import base64
import time as clock
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import orjson

from engine.errors import ConversionError, RetriableError
from engine.kafka.client_options import producer_settings
from engine.kafka.producer import KafkaProducer
from engine.record.record import Record
from engine.record.schema import Schema
from engine.steps.converters.json import JsonConverter

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
DEEPEST = 50


def check(properties: Mapping[str, str], prefix: str = "") -> None:
    """Raise while something is away: for some time after the first call that asks, in whatever process."""
    away_ms = properties.get(f"{prefix}away.ms")
    if away_ms is None:
        return
    marker = Path(properties[f"{prefix}marker"])
    if not marker.exists():
        marker.touch()
    if (clock.time() - marker.stat().st_mtime) * 1000 < int(away_ms):
        raise RetriableError("away")


class Away:
    """A transform that fails with a retriable exception while something is away."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self._properties = configs

    def apply(self, record: Record) -> Record:
        check(self._properties)
        return record


class RecordingSink:
    """Keeps what was delivered, with its types, where the comparison finds it."""

    put_is_idempotent = False

    def start(self, config: Mapping[str, str]) -> None:
        self._properties = config
        self._connector, self._topic = config["name"], config["recorder.topic"]
        self._producer = KafkaProducer(producer_settings({"bootstrap.servers": config["recorder.bootstrap.servers"]}))
        self._converter = JsonConverter()
        self._converter.configure({"schemas.enable": "true"}, is_key=False)

    def put(self, records: Sequence[Record]) -> None:
        check(self._properties, "recorder.")
        for record in records:
            self._producer.produce(self._topic, self._connector.encode(), orjson.dumps(self._line(record)))

    def flush(self) -> None:
        self._producer.flush()

    def stop(self) -> None:
        self._producer.close()

    def _line(self, record: Record) -> dict[str, Any]:
        return {
            "topic": _text(record.topic.encode()),
            "partition": record.partition,
            "offset": record.raw.offset if record.raw else None,
            "timestamp": record.timestamp,
            "timestamp_type": record.timestamp_type,
            "key": self._data(record.key_schema, record.key),
            "value": self._data(record.value_schema, record.value),
            "headers": [[_text(name.encode()), self._data(schema, value)] for name, schema, value in record.headers],
        }

    def _data(self, schema: Schema | None, value: Any) -> str | None:
        try:
            return _text(self._converter.from_connect("", schema, value))
        except ConversionError:
            return _text(f"not JSON: {plain(value)}".encode())


def plain(value: Any, depth: int = 0) -> str:
    """What no converter can write: times as milliseconds, members sorted, no more than so many levels."""
    if depth > DEEPEST:
        return "..."
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case datetime():
            return f"@{(value - EPOCH) // MILLISECOND}"
        case date():
            return f"@{(value - EPOCH.date()) // MILLISECOND}"
        case time():
            return f"@{(datetime.combine(EPOCH, value, EPOCH.tzinfo) - EPOCH) // MILLISECOND}"
        case dict():
            members = sorted((plain(name, depth + 1), plain(one, depth + 1)) for name, one in value.items())
            return "{" + ", ".join(f"{name}={one}" for name, one in members) + "}"
        case list():
            return "[" + ", ".join(plain(one, depth + 1) for one in value) + "]"
    return str(f'"{_text(value)}"' if isinstance(value, bytes) else value)


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()
