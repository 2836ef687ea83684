"""REST views of topics and their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.http import Http404, HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from dlqadmin.audit.permissions import NEEDS_PAYLOAD_READER, IsPayloadReader
from dlqadmin.broker import topics
from dlqadmin.broker.cluster_parameter import CLUSTER, OneClusterView
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.index.followed_topics import follows
from dlqadmin.deadletters.payloads import Part, RecordReader, reader_of
from dlqadmin.rest.negotiation import AnyFormat
from dlqadmin.rest.pagination import parse_limit
from dlqadmin.rest.problems import ParameterError, UpstreamUnavailable
from dlqadmin.rest.times import parse_range, parse_time
from dlqadmin.topics import queries
from dlqadmin.topics.documents import TopicDetail, TopicList, TopicRates, TopicRecordDetail, TopicRecords
from dlqadmin.topics.readable_topics import refusal
from dlqadmin.topics.record_documents import page_document, part_bytes, record_document
from dlqadmin.topics.record_pages import MAX_OFFSET, PageRequest, parse_positions, read_page
from engine.record.record import RawRecord

MOST_RECORDS = 100
MOST_KEY_CHARACTERS = 1_000
STARTS = ("newest", "oldest")
KEYS_MASKED = "Fields of this topic's records are masked for you, so you cannot search by key."
PARTS: Mapping[str, Part] = {"key": "key", "value": "value"}
POSITIONS = ("offset", "at", "after", "before")


class TopicsView(OneClusterView):
    """The topics of the cluster."""

    @extend_schema(
        operation_id="topics_list",
        parameters=[CLUSTER, OpenApiParameter("text", OpenApiTypes.STR, description="a part of the name")],
        responses=TopicList,
    )
    def get(self, request: Request) -> Response:
        """Return the first 500 topics by name, without their records."""
        try:
            return Response(queries.topic_list(request.query_params.get("text", "")))
        except BrokerUnavailable as error:
            raise _unavailable(error) from error


class TopicView(OneClusterView):
    """One topic."""

    @extend_schema(operation_id="topics_retrieve", parameters=[CLUSTER], responses=TopicDetail)
    def get(self, request: Request, name: str) -> Response:
        """Return the topic's partitions, and whether its records may be read."""
        try:
            return Response(queries.topic_detail(name))
        except BrokerUnavailable as error:
            raise _unavailable(error) from error


class TopicRatesView(OneClusterView):
    """The offsets written to one topic over time."""

    @extend_schema(
        operation_id="topics_rates",
        parameters=[
            CLUSTER,
            OpenApiParameter("from", OpenApiTypes.STR, description="`now-7d` or ISO 8601; default `now-7d`"),
            OpenApiParameter("to", OpenApiTypes.STR, description="`now` or ISO 8601; default `now`"),
        ],
        responses=TopicRates,
    )
    def get(self, request: Request, name: str) -> Response:
        """Return the offsets written by column, by the timestamps of the records that Kafka still has."""
        start, end = parse_range(request.query_params.get("from"), request.query_params.get("to"))
        try:
            return Response(queries.topic_rates(name, start, end))
        except BrokerUnavailable as error:
            raise _unavailable(error) from error


class TopicRecordsView(OneClusterView):
    """The records of one topic."""

    @extend_schema(
        operation_id="topics_records",
        parameters=[
            CLUSTER,
            OpenApiParameter("partition", OpenApiTypes.INT, description="default: all partitions"),
            OpenApiParameter("start", OpenApiTypes.STR, enum=list(STARTS), description="default `newest`"),
            OpenApiParameter(
                "offset", OpenApiTypes.INT, description="from 10 records before this offset; needs `partition`"
            ),
            OpenApiParameter("at", OpenApiTypes.STR, description="from this time on: `now-1h` or ISO 8601"),
            OpenApiParameter("after", OpenApiTypes.STR, description="`after` of another page: the next records"),
            OpenApiParameter("before", OpenApiTypes.STR, description="`before` of another page: the records before"),
            OpenApiParameter("key", OpenApiTypes.STR, description="only records with exactly this key, as UTF-8"),
            OpenApiParameter("limit", OpenApiTypes.INT, description="1 to 100; default 50"),
        ],
        responses=TopicRecords,
    )
    def get(self, request: Request, name: str) -> Response:
        """Return committed records of the topic, and how many were read to find them.

        Reading stops after 20,000 records, 32 MiB or 5 seconds.
        """
        reader = reader_of(request.user)
        own = reader.of_topic(name)
        try:
            partitions = _readable_partitions(name)
            wanted = _page_request(request, partitions, own)
            if wanted.key is not None and reader.rules and (own.masks is not None or follows(name)):
                # The origin topics of dead letters may have rules too.
                raise PermissionDenied(KEYS_MASKED)
            chosen = partitions if wanted.partition is None else [wanted.partition]
            page = read_page(name, chosen, wanted)
        except BrokerUnavailable as error:
            raise _unavailable(error) from error
        if page.records:
            own.note("topic", name, {"what": _scope(request)}, records=len(page.records))
        return Response(page_document(page, reader))


class TopicRecordView(OneClusterView):
    """One record of a topic."""

    @extend_schema(operation_id="topics_record", parameters=[CLUSTER], responses=TopicRecordDetail)
    def get(self, request: Request, name: str, partition: int, offset: int) -> Response:
        """Return the record with its headers, if Kafka still has it."""
        reader = reader_of(request.user)
        found = _find(name, partition, offset)
        reader.of_topic(name).note("topic", name, {"what": f"record {partition} / {offset}"})
        return Response(record_document(found, reader))


class TopicRecordBytesView(OneClusterView):
    """The bytes of one record of a topic."""

    content_negotiation_class = AnyFormat
    permission_classes = (IsPayloadReader,)

    @extend_schema(
        operation_id="topics_record_bytes",
        parameters=[CLUSTER, OpenApiParameter("part", str, enum=["key", "value"])],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, name: str, partition: int, offset: int) -> HttpResponse:
        """Return the exact bytes of its key or its value."""
        part = PARTS.get(request.query_params.get("part", "value"))
        if part is None:
            raise ParameterError("part", "must be key or value")
        reader = reader_of(request.user)
        found = _find(name, partition, offset)
        data = part_bytes(found, part, reader)
        if data is None:
            raise Http404(f"The {part} is null, or hidden because fields of it are masked for you.")
        reader.of_topic(name).note("topic", name, {"what": f"bytes of the {part} of record {partition} / {offset}"})
        file = f"{name}-{partition}-{offset}-{part}.bin"
        return HttpResponse(
            data,
            content_type="application/octet-stream",
            headers={"Content-Disposition": f'attachment; filename="{file}"', "X-Content-Type-Options": "nosniff"},
        )


def _readable_partitions(name: str) -> list[int]:
    """Return the partitions of a topic. Raises Http404, PermissionDenied if nobody may read it, BrokerUnavailable."""
    partitions = [partition for _, partition in queries.places_of(name)]
    if reason := refusal(name):
        raise PermissionDenied(f"The records of this topic may not be read: {reason}.")
    return partitions


def _find(name: str, partition: int, offset: int) -> RawRecord:
    """Return one committed record. Raises Http404, PermissionDenied and UpstreamUnavailable."""
    try:
        there = partition in _readable_partitions(name) and offset <= MAX_OFFSET
        found = topics.read_range(name, partition, offset, 1, whole=True) if there else []
    except BrokerUnavailable as error:
        raise _unavailable(error) from error
    if not found or found[0].offset != offset:
        raise Http404("Kafka has no record at this offset. It may have deleted it.")
    return found[0]


def _page_request(request: Request, partitions: Sequence[int], reader: RecordReader) -> PageRequest:
    """Parse the parameters. Raises ParameterError, and PermissionDenied for a search by content."""
    given = request.query_params
    places = [name for name in POSITIONS if name in given]
    if len(places) > 1:
        raise ParameterError(places[1], f"cannot be combined with {places[0]}")
    partition = _whole_number("partition", given.get("partition"), max(partitions, default=0))
    offset = _whole_number("offset", given.get("offset"), MAX_OFFSET)
    if offset is not None and partition is None:
        raise ParameterError("partition", "must be given with an offset")
    start = given.get("start") or "newest"
    if start not in STARTS:
        raise ParameterError("start", "must be newest or oldest")
    chosen = partitions if partition is None else [partition]
    return PageRequest(
        partition=partition,
        start="oldest" if start == "oldest" else "newest",
        offset=offset,
        at=parse_time("at", given["at"], timezone.now()) if "at" in given else None,
        after=parse_positions("after", given["after"], chosen) if "after" in given else None,
        before=parse_positions("before", given["before"], chosen) if "before" in given else None,
        key=_key(given["key"], reader) if "key" in given else None,
        limit=parse_limit(given.get("limit"), default=50, maximum=MOST_RECORDS),
    )


def _key(text: str, reader: RecordReader) -> bytes:
    """Return the bytes of a key to search for. A search can guess content, so it needs the right to read it."""
    if not reader.may_read:
        raise PermissionDenied(f"A search by key can guess the content of records. {NEEDS_PAYLOAD_READER}")
    if len(text) > MOST_KEY_CHARACTERS:
        raise ParameterError("key", f"must have at most {MOST_KEY_CHARACTERS} characters")
    return text.encode("utf-8", "surrogateescape")


def _whole_number(parameter: str, text: str | None, largest: int) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= largest):
        raise ParameterError(parameter, f"must be a whole number from 0 to {largest}")
    return int(text)


def _scope(request: Request) -> str:
    """Return which records were asked for, for the audit trail. A key is content, so it is not named."""
    given = request.query_params
    place = next((f"{name} {given[name]}" for name in POSITIONS if name in given), given.get("start") or "newest")
    of_partition = f" of partition {given['partition']}" if "partition" in given else ""
    return f"records{of_partition}{' with a key' if 'key' in given else ''}, {place}"[:200]


def _unavailable(error: BrokerUnavailable) -> UpstreamUnavailable:
    return UpstreamUnavailable(f"Kafka did not answer: {error}")
