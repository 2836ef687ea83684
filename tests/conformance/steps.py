"""Which steps of Kafka Connect the configurations show, and how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.conformance.case import CONVERTERS, JSON, PREDICATES, STORAGE, TRANSFORMS, Case
from tests.conformance.seen import DELIVERED, Seen

_BOTH_SIDES = (
    "Cast", "ExtractField", "Flatten", "HeaderFrom", "HoistField", "InsertField", "MaskField", "ReplaceField",
    "SetSchemaMetadata", "TimestampConverter",
)  # fmt: skip
_WHOLE = ("DropHeaders", "Filter", "InsertHeader", "RegexRouter", "TimestampRouter", "ValueToKey")
_PRIMITIVES = ("Boolean", "ByteArray", "Double", "Float", "Integer", "Long", "Short")
STEPS = (
    JSON,
    *(f"{STORAGE}{name}Converter" for name in ("String", "SimpleHeader")),
    *(f"{CONVERTERS}{name}Converter" for name in _PRIMITIVES),
    *(f"{TRANSFORMS}{name}${side}" for name in _BOTH_SIDES for side in ("Key", "Value")),
    *(f"{TRANSFORMS}{name}" for name in _WHOLE),
    *(f"{PREDICATES}{name}" for name in ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")),
)


def showing(step: str, cases: Iterable[Case]) -> list[Case]:
    """The configurations that use the step."""
    return [case for case in cases if step in case.properties.values()]


def half_shown(cases: Iterable[Case], seen: Mapping[str, Seen]) -> list[str]:
    """The steps of which no record was delivered, or none refused."""
    found = []
    for step in STEPS:
        fates = {
            seen[case.name].fate(offset) == DELIVERED
            for case in showing(step, cases)
            for offset in range(len(case.inputs))
        }
        if fates != {True, False}:
            found.append(step)
    return found
