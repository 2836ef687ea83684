"""A step of a pipeline, as an error context shows it (KIP-298, "Message Format for Error Context")."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class StageType(StrEnum):
    """What a stage does."""

    KAFKA_CONSUME = "KAFKA_CONSUME"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    PROCESSOR = "PROCESSOR"
    TASK_POLL = "TASK_POLL"
    TASK_PUT = "TASK_PUT"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    UNKNOWN = "UNKNOWN"  # only read, never run: a stage type of somebody else's

    __hash__ = str.__hash__  # an enum's own is many times slower


class Stage(msgspec.Struct, frozen=True):
    """One stage: its type, the class that does the work (the name as configured), its options.

    `name` is the node of a stream's processor, and empty elsewhere.
    """

    type: StageType
    class_name: str
    config: dict[str, str] = {}
    name: str = ""

    @property
    def label(self) -> str:
        """What people call it: the node's name, else the class."""
        return self.name or self.class_name
