"""Processors and handlers for the tests, named by their dotted paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec.structs import replace

from engine.policy.handlers import Response
from engine.record.record import Record
from engine.steps.processors import ProcessorContext
from engine.steps.schedules import PunctuationType


class Base:
    """Keeps its context."""

    def init(self, context: ProcessorContext) -> None:
        self.context = context


class Through(Base):
    """Passes everything on; a value with `boom` equal to its name raises."""

    def process(self, record: Record) -> None:
        if record.value.get("boom") == self.context.node:
            raise ValueError(f"boom at {self.context.node}")
        seen = [*record.value.get("seen", []), self.context.node]
        self.context.forward(replace(record, value={**record.value, "seen": seen}))


class Route(Base):
    """Sends odd numbers one way and even ones the other."""

    def process(self, record: Record) -> None:
        self.context.forward(record, "odd" if record.value["n"] % 2 else "even")


class Count(Base):
    """Counts records and forwards the count at each punctuation."""

    def configure(self, configs: Mapping[str, str]) -> None:
        self.kind = PunctuationType(configs["time"])
        self.interval_ms = int(configs["interval.ms"])
        self.fails = configs.get("fails") == "true"

    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.count = 0
        context.schedule(self.interval_ms, self.kind, self.punctuate)

    def process(self, record: Record) -> None:
        self.count += 1

    def punctuate(self, timestamp: int) -> None:
        if self.fails:
            raise ValueError("boom in a punctuation")
        value = {"count": self.count, "time": timestamp, "topic": self.context.topic}
        self.context.forward(Record("", None, timestamp, None, value))


class Keeping:
    """A handler that continues, and keeps what it was told in a class attribute by its id."""

    told: ClassVar[list[tuple[str, Any, Any, Exception]]] = []

    def configure(self, configs: Mapping[str, str]) -> None:
        self.id = configs["name"]

    def handle(self, context: Any, record: Any, exception: Exception) -> Response:
        self.told.append((self.id, context, record, exception))
        return Response.CONTINUE

    def handle_serialization_exception(self, context: Any, record: Any, exception: Exception, origin: Any) -> Response:
        self.told.append((self.id, context, (record, origin), exception))
        return Response.CONTINUE


class BadInit(Through):
    """Can't start."""

    def init(self, context: ProcessorContext) -> None:
        raise ValueError("boom")


class BadClose(Through):
    """Can't close."""

    def close(self) -> None:
        raise ValueError("boom")
