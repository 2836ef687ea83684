"""Dead letters that have fields masked for a person: their readers, and their exclusion from searches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.db.models import Q, QuerySet, prefetch_related_objects
from rest_framework.exceptions import PermissionDenied

from dlqadmin.broker import clusters
from dlqadmin.deadletters.index.column_values import unpack_headers
from dlqadmin.deadletters.models import LOST, DeadLetter, FingerprintSource
from dlqadmin.deadletters.payloads import PayloadReader, RecordReader
from dlqadmin.deadletters.search.name_lookup import all_origin_topics

EXCEPT_ROLES = "Fields of these records are masked for you, so you cannot {act}. Ask somebody who sees them."


def informed(row: DeadLetter, reader: RecordReader) -> RecordReader:
    """Return the reader with the record's secrets. The bytes are read only if fields are masked for them."""
    if reader.masks is None or row.original in LOST:  # a message may quote what is not there any more
        return reader
    body = row.body
    key, value = (None if data is None else bytes(data) for data in (body.key, body.value))
    packed = (body.headers, body.original_headers or b"")
    return reader.knowing(key, value, tuple(pair for one in packed if one for pair in unpack_headers(bytes(one))))


def readers(rows: Iterable[DeadLetter], reader: PayloadReader) -> Iterator[tuple[DeadLetter, RecordReader]]:
    """Yield each row with its reader, who knows its secrets. One query reads the bytes of all masked rows."""
    found = [(row, reader.of(row)) for row in rows]
    if masked := [row for row, own in found if own.masks is not None]:
        prefetch_related_objects(masked, "body")
    return ((row, informed(row, own)) for row, own in found)


def topic_reader(topic: str, reader: PayloadReader) -> RecordReader:
    """Return the reader of a topic's records as Kafka has them.

    Masks of an origin topic hold for the whole dead letter topic if one of its dead letters comes from there, because
    bytes in Kafka do not tell their origin.
    """
    rows = DeadLetter.objects.filter(cluster=clusters.current(), topic=topic)
    _, origins = masked_names(reader)
    return reader.of_topic(topic, *(name for name in origins if rows.filter(origin_topic=name).exists()))


def masked_names(reader: PayloadReader) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the dead letter topics and the origin topics whose records have fields masked for this reader."""
    if not reader.rules:
        return (), ()
    topics = FingerprintSource.objects.order_by().values_list("topic", flat=True).distinct()
    return tuple(_covered(topics, reader)), tuple(_covered(all_origin_topics(), reader))


def unmasked(rows: QuerySet[DeadLetter], reader: PayloadReader) -> QuerySet[DeadLetter]:
    """Leave out rows of which fields are masked for this reader."""
    topics, origins = masked_names(reader)
    return rows.exclude(Q(topic__in=topics) | Q(origin_topic__in=origins)) if topics or origins else rows


def refuse_masked(rows: QuerySet[DeadLetter], reader: PayloadReader, act: str) -> None:
    """Raise PermissionDenied if fields of one of these rows are masked for this reader.

    What a person cannot see they cannot edit either: a program could copy a masked field to another one.
    """
    topics, origins = masked_names(reader)
    if (topics or origins) and rows.filter(Q(topic__in=topics) | Q(origin_topic__in=origins)).exists():
        raise PermissionDenied(EXCEPT_ROLES.format(act=act))


def _covered(names: Iterable[str], reader: PayloadReader) -> Iterator[str]:
    # The names of all clusters: to leave out too much is safe.
    indexed = {clusters.current(), *FingerprintSource.objects.order_by().values_list("cluster", flat=True).distinct()}
    for name in names:
        if any(rule.covers(cluster, (name,)) for rule in reader.rules for cluster in indexed):
            yield name
