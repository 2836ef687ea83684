"""Check what is read from a writer's dead letters against the expected facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.index.parsed_message import ParsedMessage
from dlqadmin.deadletters.models import TimeSource
from engine.record.record import RawRecord
from tests.interop.documented import FACTS, GROUPS, RECOGNISED
from tests.interop.expected import EXPECTED, Expected
from tests.interop.recordings import Origin, Recording

INDEXED_AT = datetime(2030, 1, 1, tzinfo=UTC)


class Letter:
    """One dead letter as the index reads it, beside the record that failed."""

    def __init__(self, message: RawRecord, origin: Origin, expected: Expected) -> None:
        self.message, self.origin, self.expected = message, origin, expected
        self.parsed: ParsedMessage = parse_message(message, INDEXED_AT)

    def wrong_facts(self) -> Iterator[str]:
        """Yield one sentence for each wrong fact."""
        facts, record, expected = self.parsed.facts, self.origin.record, self.expected
        failure = expected.failures[self.origin.cause]
        coordinates = facts.origin and (facts.origin.topic, facts.origin.partition, facts.origin.offset)
        where = f"{self.message.topic} offset {self.message.offset}"
        for name, found, wanted in (
            ("origin", coordinates, (record.topic, record.partition, record.offset)),
            ("group", facts.group, expected.group),
            ("connector", facts.connector, expected.connector),
            ("retries", facts.attempt, failure.retries),
            ("stage", facts.stage, failure.stage),
            ("root class", facts.root_class, failure.root_class),
            ("message", facts.root_message[: len(failure.message)], failure.message),
            ("time source", self.parsed.time_source, expected.time_source),
            ("failed at", self._is_time_plausible(), True),
            ("key", facts.key, None if expected.is_pointer else record.key),
            ("value", facts.value, None if expected.is_pointer else record.value),
            ("problems", facts.problems, ()),
        ):
            if found != wanted:
                yield f"{where}: {name} is {found!r}, not {wanted!r}"

    def _is_time_plausible(self) -> bool:
        """Return whether the time of the failure is not the time of the record, which is years older."""
        if self.parsed.time_source == TimeSource.INDEX:
            return self.parsed.failed_at == INDEXED_AT
        record_at = datetime.fromtimestamp(self.origin.record.timestamp / 1000, UTC)
        return (self.parsed.failed_at - record_at).days > 365


def read(recording: Recording, topic: str) -> list[Letter]:
    """Return the dead letters in one topic.

    They belong to the record with the same key. Keys are unique. Pointers have none, but stand in the order of records.
    """
    failed = {origin.record.key: origin for origin in recording.origins if origin.cause}
    letters = [message for message in recording.letters if message.topic == topic]
    expected = EXPECTED[recording.writer]
    origins = list(failed.values()) if expected.is_pointer else [failed[message.key] for message in letters]
    return [Letter(message, origin, expected) for message, origin in zip(letters, origins, strict=True)]


def problems(letters: Iterable[Letter]) -> dict[str, list[str]]:
    """Return what is wrong, by the column of the table. Nothing is wrong if a list is empty."""
    told: dict[str, list[str]] = {RECOGNISED: [], FACTS: [], GROUPS: []}
    groups = defaultdict[str, set[str]](set)
    for letter in letters:
        facts = letter.parsed.facts
        if facts.dialect != letter.expected.dialect:
            told[RECOGNISED].append(f"{letter.message.topic} offset {letter.message.offset}: {facts.dialect}")
        told[FACTS] += letter.wrong_facts()
        groups[letter.origin.cause].add(letter.parsed.fingerprint.digest)
    told[GROUPS] += [f"{cause}: {len(found)} groups" for cause, found in groups.items() if len(found) > 1]
    if len(set.union(*groups.values())) < len(groups):
        told[GROUPS].append("two causes share a group")
    return told
