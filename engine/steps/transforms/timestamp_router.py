"""TimestampRouter: renames topics by the record's timestamp."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from engine.config.options import Problem
from engine.config.transforms import TIMESTAMP_ROUTER
from engine.errors import TransformError
from engine.record.record import Record
from engine.steps.converters.values_as_text import EPOCH
from engine.steps.java.dates import DateFormat
from engine.steps.options import checked


class TimestampRouter:
    """Kafka Connect's TimestampRouter."""

    OPTIONS = TIMESTAMP_ROUTER
    takes_unread = True

    def __init__(self) -> None:
        self._topic_format = ""
        self._format = DateFormat("", EPOCH)

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """Return problems that the options table can't detect: an invalid pattern."""
        return pattern_problems("timestamp.format", configs)

    def configure(self, configs: Mapping[str, str]) -> None:
        values = checked(self.OPTIONS, self.problems, configs)
        self._topic_format = values["topic.format"]
        self._format = DateFormat(values["timestamp.format"], EPOCH)

    def apply(self, record: Record) -> Record:
        """Return the record with its new topic. Raises TransformError for a record without a timestamp."""
        if record.timestamp is None:
            raise TransformError(f"the record of topic {record.topic} has no timestamp")
        topic = self._topic_format.replace("${topic}", record.topic)
        topic = topic.replace("${timestamp}", self._format.format(record.timestamp))
        return msgspec.structs.replace(record, topic=topic)


def pattern_problems(option: str, configs: Mapping[str, str]) -> list[Problem]:
    """Return the problem of an option that holds a date pattern."""
    text = configs.get(option, "").strip()
    try:
        DateFormat(text, EPOCH)
    except ValueError as error:
        return [(option, text, str(error))]
    return []
