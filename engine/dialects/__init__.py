"""Dialects of dead letters: one module for each framework that writes them.

`read` tries the error context of KIP-298 first, then the dialects of headers, then those of values.
"""

from __future__ import annotations

from engine.dialects import (
    bakdata,
    common_headers,
    connect_headers,
    envelopes,
    kafka_streams,
    karafka,
    kstreamplify,
    share_groups,
    smallrye,
    spring_cloud_stream,
    spring_kafka,
    watermill,
)
from engine.dialects.facts import DeadLetterFacts, Dialect
from engine.dialects.header_facts import HeaderDialect
from engine.dialects.kip298 import read as read_kip298
from engine.dialects.quick import read as read_quickly
from engine.dialects.unreadable import read as read_unreadable
from engine.record.record import Headers, RawRecord

HEADER_DIALECTS: tuple[HeaderDialect, ...] = (
    connect_headers.DIALECT,
    kafka_streams.DIALECT,
    karafka.DIALECT,
    share_groups.DIALECT,
    smallrye.DIALECT,
    spring_cloud_stream.DIALECT,
    spring_kafka.DIALECT,
    watermill.DIALECT,
)
_BY_MARKER = {marker: dialect for dialect in HEADER_DIALECTS for marker in dialect.markers}
_BY_NAME = {dialect.name: dialect for dialect in HEADER_DIALECTS}
_PREFIXES = tuple(prefix for dialect in HEADER_DIALECTS for prefix in dialect.prefixes)
_TITLES = {
    bakdata.NAME: bakdata.TITLE,
    common_headers.NAME: "Headers of an application",
    envelopes.NAME: envelopes.TITLE,
    kstreamplify.NAME: kstreamplify.TITLE,
    "kip298": "Error context (KIP-298)",
    "unreadable": "Unreadable",
}
_OTHERS: tuple[Dialect, ...] = (common_headers.read, kstreamplify.read, bakdata.read, envelopes.read)
NAMES = (*_BY_NAME, *_TITLES)


def read_for_index(message: RawRecord) -> DeadLetterFacts:
    """Return the facts that a row of the index stores.

    They equal the facts of `read`, without stages, notes and problems.
    """
    return read_quickly(message) or read(message)


def read(message: RawRecord) -> DeadLetterFacts:
    """Return the facts of a message from the first dialect that recognises it.

    Every message has facts: `unreadable` accepts all that no dialect recognises.
    """
    facts = read_kip298(message)
    if facts is not None:
        return facts
    for dialect in _marked(message.headers):
        if (facts := dialect.read(message)) is not None:
            return facts
    for read_other in _OTHERS:
        if (facts := read_other(message)) is not None:
            return facts
    return read_unreadable(message)


def title(name: str) -> str:
    """Return the name of the framework that writes a dialect. A dialect without a framework has its own name."""
    return _BY_NAME[name].title if name in _BY_NAME else _TITLES.get(name, name)


def error_headers(dialect: str, headers: Headers) -> frozenset[str]:
    """Return the names of those headers that frameworks added to the failed record.

    `dialect` is the one of the dead letter. Names that applications use too count only for their own dialect.
    """
    known = _BY_NAME.get(dialect)
    own = known.names if known else frozenset()
    if dialect == common_headers.NAME:
        own = common_headers.error_headers(headers)
    return frozenset(name for name, _ in headers if name in own or name.startswith(_PREFIXES))


def _marked(headers: Headers) -> list[HeaderDialect]:
    """Return the dialects whose markers the headers contain, the latest writer first.

    A record may fail more than once. Writers append their headers, so the last marker belongs to the latest failure.
    """
    last: dict[str, int] = {}
    for index, (name, _) in enumerate(headers):
        if (dialect := _BY_MARKER.get(name)) is not None:
            last[dialect.name] = index
    if headers and (first := next((one for one in HEADER_DIALECTS if one.is_first(headers[0][0])), None)):
        last[first.name] = len(headers)  # nothing stands before its headers, so it wrote last
    return [_BY_NAME[name] for name in sorted(last, key=lambda name: -last[name])]
