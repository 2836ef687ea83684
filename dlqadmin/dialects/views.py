"""REST views of dialects and mappings."""

from __future__ import annotations

from typing import Any

import msgspec
from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsAdministrator, IsPayloadReader, IsViewerOrAdministrator
from dlqadmin.broker import clusters, topics
from dlqadmin.broker.cluster_parameter import CLUSTER, OneClusterView
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.models import Reread
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.deadletters.search.masked_rows import topic_reader
from dlqadmin.dialects import mappings
from dlqadmin.dialects.documents import DialectList, MappingSummary, MappingVersions, ReadYaml, TryOut
from dlqadmin.dialects.mapping_documents import (
    fact_kinds,
    mapping_document,
    mapping_in_reach,
    reread_document,
    version_document,
)
from dlqadmin.dialects.requests import (
    MappingReasonBody,
    RereadBody,
    SaveBody,
    TryBody,
    YamlBody,
    as_yaml,
    from_yaml,
    mapping_of,
)
from dlqadmin.dialects.try_outs import try_out
from dlqadmin.rest.negotiation import AnyFormat
from dlqadmin.rest.problems import UpstreamUnavailable
from dlqadmin.rest.requests import checked
from dlqadmin.rest.times import iso
from dlqadmin.teams.reach import current_reach
from dlqadmin.topics.readable_topics import refusal
from engine import dialects
from engine.dialects.mapping import Mapping, problems_of

RECENT_REREADS = 20


class DialectsView(APIView):
    """The dialects in which dead letters are read."""

    @extend_schema(operation_id="dialects_list", responses=DialectList)
    def get(self, request: Request) -> Response:
        """Return the built-in dialects, the newest version of each mapping, and the last rereads of topics."""
        return Response(_dialects())


class MappingTryView(OneClusterView):
    """A mapping on trial."""

    permission_classes = (IsPayloadReader,)  # on a read-only cluster too: a try writes nothing

    @extend_schema(operation_id="dialects_try", parameters=[CLUSTER], request=TryBody, responses=TryOut)
    def post(self, request: Request) -> Response:
        """Read the newest 100 letters of a topic with a mapping that is not saved.

        Facts that the mapping lacks come with proposals. Nothing is stored.
        """
        body = checked(TryBody, request)
        mapping = _mapping(body["mapping"])
        topic = body["topic"]
        reader = topic_reader(topic, reader_of(request.user))
        try:
            count = topics.partitions(topic) if current_reach().has_topic(topic, clusters.current()) else None
            if not count:
                raise Http404(f"There is no topic {topic}.")
            if reason := refusal(topic):
                raise PermissionDenied(f"The records of this topic may not be read: {reason}.")
            found = try_out(topic, range(count), mapping, body["letter"], reader)
        except BrokerUnavailable as error:
            raise UpstreamUnavailable(f"Kafka did not answer: {error}") from error
        if found.letters:
            reader.note("topic", topic, {"what": "newest records, to try a mapping"}, records=found.letters)
        return Response(found)


class MappingView(APIView):
    """One mapping and its versions."""

    permission_classes = (IsViewerOrAdministrator,)  # on a read-only cluster too: a mapping changes the index only

    @extend_schema(operation_id="mappings_retrieve", responses=MappingVersions)
    def get(self, request: Request, name: str) -> Response:
        """Return all versions of a mapping, the newest first."""
        found = mappings.versions(name)
        if not found:
            raise Http404(f"There is no mapping {name}.")
        return Response(MappingVersions(name=name, versions=[version_document(row) for row in found]))

    @extend_schema(operation_id="mappings_save", request=SaveBody, responses=DialectList)
    def put(self, request: Request, name: str) -> Response:
        """Save a new version and use it. The indexer follows within seconds.

        Letters that are indexed already keep their facts, except in the topics of `reread`.
        """
        body = checked(SaveBody, request)
        mapping = _mapping(body["mapping"])
        if mapping.name != name:
            raise ValidationError({"mapping": [f"name: the address names {name}"]})
        mappings.save(request.user, mapping, body["opened"], body["reason"])
        for topic in body["reread"]:
            mappings.reread(request.user, topic, body["reason"])
        return Response(_dialects())

    @extend_schema(operation_id="mappings_retire", request=MappingReasonBody, responses=DialectList)
    def delete(self, request: Request, name: str) -> Response:
        """Stop using a mapping. Its versions stay. Letters that are indexed already keep their facts."""
        mappings.retire(request.user, name, checked(MappingReasonBody, request)["reason"])
        return Response(_dialects())


class MappingYamlView(APIView):
    """One mapping as YAML."""

    content_negotiation_class = AnyFormat

    @extend_schema(
        operation_id="mappings_yaml",
        parameters=[OpenApiParameter("version", int, description="default: the newest")],
        responses={(200, "application/yaml"): OpenApiTypes.STR},
    )
    def get(self, request: Request, name: str) -> HttpResponse:
        """Return the mapping as a YAML file."""
        wanted = request.query_params.get("version", "")
        row = next((row for row in mappings.versions(name) if wanted in ("", str(row.version))), None)
        if row is None:
            raise Http404(f"There is no such version of the mapping {name}.")
        return HttpResponse(
            as_yaml(mapping_in_reach(row)),
            content_type="application/yaml",
            headers={
                "Content-Disposition": f'attachment; filename="{row.name}-{row.version}.yaml"',
                "X-Content-Type-Options": "nosniff",
            },
        )


class YamlView(APIView):
    """A YAML text that may be a mapping."""

    permission_classes = (IsAdministrator,)  # who can save it

    @extend_schema(operation_id="mappings_read_yaml", request=YamlBody, responses=ReadYaml)
    def post(self, request: Request) -> Response:
        """Read a mapping from YAML, without saving it."""
        text = checked(YamlBody, request)["yaml"]
        try:
            mapping = from_yaml(text)
        except (msgspec.MsgspecError, RecursionError) as error:
            told = "the YAML is nested too deeply" if isinstance(error, RecursionError) else str(error)
            return Response(ReadYaml(mapping=None, problems=[" ".join(told.split())]))
        return Response(ReadYaml(mapping=mapping_document(mapping), problems=problems_of(mapping, dialects.NAMES)))


class RereadsView(OneClusterView):
    """Topics that are read again."""

    permission_classes = (IsAdministrator,)  # on a read-only cluster too: the index only reads

    @extend_schema(operation_id="rereads_start", parameters=[CLUSTER], request=RereadBody, responses=DialectList)
    def post(self, request: Request) -> Response:
        """Read a dead letter topic again from its start, in the background.

        Letters that a replay, an outcome or a draft refers to stay as they are.
        """
        body = checked(RereadBody, request)
        mappings.reread(request.user, body["topic"], body["reason"])
        return Response(_dialects())


def _dialects() -> DialectList:
    rereads = Reread.objects.order_by("-created_at")[:RECENT_REREADS]
    return DialectList(
        built_in=sorted(dialects.title(name) for name in dialects.NAMES if name != "unreadable"),
        mappings=[
            MappingSummary(
                name=row.name,
                version=row.version,
                is_active=row.is_active,
                topics=mappings.topics_in_reach(row.document["topics"]),
                by=row.actor,
                at=iso(row.at),
            )
            for row in mappings.newest()
            if mappings.topics_in_reach(row.document["topics"]) or not current_reach().is_limited
        ],
        facts=fact_kinds(),
        rereads=[reread_document(row) for row in rereads],
    )


def _mapping(body: dict[str, Any]) -> Mapping:
    """Return the mapping of a checked body. Raises ValidationError."""
    try:
        return mapping_of(body)
    except msgspec.ValidationError as error:
        raise ValidationError({"mapping": [str(error)]}) from None
