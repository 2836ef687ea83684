"""A stream application with a processor, `processing.guarantee=exactly_once_v2`."""

from __future__ import annotations

from tests.chaos.workloads.base import json_converters
from tests.chaos.workloads.sink import SinkWorkload


class StreamWorkload(SinkWorkload):
    """One record in, one out; what is no JSON is dead-lettered."""

    with_big = False

    def config(self) -> dict[str, str]:
        return {
            "connector.class": "stream",
            "topics": self.name,
            **({} if self.weak else {"processing.guarantee": "exactly_once_v2"}),
            "tasks.max": str(self.tasks),
            **json_converters(),
            **self.steps("BusyProcessor", "processors"),
            "deserialization.exception.handler": "LogAndContinueExceptionHandler",
            "errors.deadletterqueue.topic.name": self.dlq,
            "errors.deadletterqueue.include.messages": "true",
            "sinks": "out",
            "sinks.out.topic": self.output,
            "sinks.out.parents": "busy",
        }
