"""A pipeline stage in an error context (KIP-298, "Message Format for Error Context")."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class StageType(StrEnum):
    """The type of a stage."""

    KAFKA_CONSUME = "KAFKA_CONSUME"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    PROCESSOR = "PROCESSOR"
    TASK_POLL = "TASK_POLL"
    TASK_PUT = "TASK_PUT"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    UNKNOWN = "UNKNOWN"  # only read, never run: an unknown stage type of another writer

    __hash__ = str.__hash__  # much faster than the hash of an enum


class Stage(msgspec.Struct, frozen=True):
    """A stage: its type, its class (the name as configured) and its options.

    `name` is the node of a stream's processor, or what a guarded query calls its stage. It is empty elsewhere.
    """

    type: StageType
    class_name: str
    config: dict[str, str] = {}
    name: str = ""

    @property
    def label(self) -> str:
        """Return the name to display: the node's name, else the class."""
        return self.name or self.class_name
