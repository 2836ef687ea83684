"""Try a mapping on the newest letters of a topic, without saving anything."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from dlqadmin.broker import topics
from dlqadmin.deadletters.index.active_mappings import ActiveMapping, ActiveMappings
from dlqadmin.deadletters.index.column_values import moment
from dlqadmin.deadletters.index.message_parser import parse_message
from dlqadmin.deadletters.payloads import RecordReader, header, payload, release
from dlqadmin.dialects.documents import FactShare, FoundFact, ProposalDocument, TriedLetter, TryOut, UnreadReason
from dlqadmin.dialects.mapping_documents import LABELS, source_document
from dlqadmin.rest.text import shortened
from dlqadmin.rest.times import iso
from dlqadmin.topics.record_pages import PageRequest, read_page
from engine import dialects
from engine.dialects.mapping import FACTS, Fact, Mapping, MappingReading, problems_of, read
from engine.dialects.mapping_proposals import propose
from engine.record.record import RawRecord

LETTERS = 100
MAX_TEXT = 300  # characters of a value on screen
SHOWN_BYTES = 16 * 1024
TIMES: tuple[Fact, ...] = ("failed_at", "origin_timestamp")


def try_out(topic: str, partitions: Sequence[int], mapping: Mapping, index: int, reader: RecordReader) -> TryOut:
    """Read the newest letters of a topic with the mapping, and show the one at `index`.

    Raises BrokerUnavailable.
    """
    began = time.monotonic()
    letters = read_page(topic, partitions, PageRequest(limit=LETTERS)).records
    problems = problems_of(mapping, dialects.NAMES)
    readings = [] if problems else [read(mapping, letter) for letter in letters]
    shown = min(index, len(letters) - 1)
    return TryOut(
        letters=len(letters),
        read=sum(one.facts is not None for one in readings),
        read_before=sum(dialects.read(letter).readable for letter in letters),
        groups=_groups(mapping, letters) if readings else 0,
        reasons=_reasons(readings),
        shares=[FactShare(fact=fact, found=sum(fact in one.found for one in readings)) for fact in mapping.facts],
        proposals=[
            ProposalDocument(
                fact=one.fact,
                source=source_document(one.source),
                share=one.share,
                example=release(one.example, reader) or "",
            )
            for one in propose(letters, list(topics.cluster().topics))
            if one.fact not in mapping.facts
        ],
        problems=problems,
        letter=_tried(letters[shown], shown, readings[shown] if readings else None, mapping, reader)
        if letters
        else None,
        took_ms=round(1000 * (time.monotonic() - began)),
    )


def _groups(mapping: Mapping, letters: Sequence[RawRecord]) -> int:
    """Return the number of groups that the index would make of the letters that the mapping reads."""
    # Patterns of the mapping may not cover the topic yet.
    tried = ActiveMappings((ActiveMapping(mapping.covering_all(), 0),))
    now = datetime.now(UTC)
    parsed = (parse_message(letter, now, tried) for letter in letters)
    return len({one.fingerprint.digest for one in parsed if one.facts.dialect == mapping.name})


def _reasons(readings: Sequence[MappingReading]) -> list[UnreadReason]:
    """Return the reasons why letters were not read, the most frequent first."""
    counted = Counter(one.missing for one in readings if one.facts is None)
    firsts = {one.missing: index for index, one in reversed(list(enumerate(readings)))}
    return [
        UnreadReason(reason=reason, letters=letters, first=firsts[reason]) for reason, letters in counted.most_common()
    ]


def _tried(
    letter: RawRecord, index: int, reading: MappingReading | None, mapping: Mapping, reader: RecordReader
) -> TriedLetter:
    before = dialects.read(letter)
    facts = reading.facts if reading else None
    has_original = facts is not None and facts.complete and not facts.own_value
    return TriedLetter(
        index=index,
        partition=letter.partition,
        offset=letter.offset,
        before=before.dialect,
        missing=reading.missing if reading else "",
        facts=[_found(fact, reading, reader) for fact in FACTS if reading and fact in mapping.facts],
        value=payload(letter.value, reader, SHOWN_BYTES),
        headers=[header(name, value, reader) for name, value in letter.headers[:LETTERS]],
        original_value=payload(facts.value, reader, SHOWN_BYTES) if facts and has_original else None,
    )


def _found(fact: Fact, reading: MappingReading, reader: RecordReader) -> FoundFact:
    source, value = reading.found.get(fact, (None, None))
    return FoundFact(
        fact=fact,
        label=LABELS[fact],
        read_from=source.label if source else None,
        value=release(_shown(fact, value), reader) if source else None,
        problem=reader.text(problem) if (problem := reading.problems.get(fact)) else None,
    )


def _shown(fact: Fact, value: str | int | bytes | None) -> str:
    if value is None:
        return "null"
    if fact in TIMES and isinstance(value, int) and (at := moment(value)):
        return iso(at)
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return shortened(text, MAX_TEXT)
