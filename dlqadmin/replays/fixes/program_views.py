"""The API for writing programs: the fields of a selection, versions of programs, and templates."""

from __future__ import annotations

import time

from django.http import Http404, HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import OPERATE, READ_PAYLOADS, IsPayloadReader, IsViewer, requires
from dlqadmin.deadletters.payloads import reader_of
from dlqadmin.deadletters.search.masked_rows import unmasked
from dlqadmin.replays.fixes import programs
from dlqadmin.replays.fixes.documents import FixProgramDocument, FixProgramList, SelectionFields
from dlqadmin.replays.fixes.field_documents import fields_document
from dlqadmin.replays.fixes.requests import TemplateBody
from dlqadmin.replays.fixes.selection_fields import read_fields
from dlqadmin.replays.models import Selection
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.requests import actor, checked

WRITES_PROGRAMS = requires(READ_PAYLOADS, to_write=(OPERATE, READ_PAYLOADS))


class SelectionFieldList(APIView):
    """The fields of a selection's records."""

    permission_classes = (IsViewer, IsPayloadReader)

    @extend_schema(operation_id="selections_fields", responses=SelectionFields)
    def get(self, request: Request, pk: int) -> Response:
        """Return each JSON path with its nulls, types and sample values, and suggested programs.

        Reading takes at most two seconds. `exact` says whether all records were read.
        """
        chosen, reader = _selection(pk), reader_of(request.user)
        began = time.monotonic()
        read = read_fields(unmasked(frozen_selections.rows(chosen), reader))
        reader.note("selection", str(chosen), {"what": "fields and sample values"}, records=read.statistics.read)
        return Response(fields_document(read, chosen.count, round((time.monotonic() - began) * 1000)))


class SelectionPrograms(APIView):
    """The programs that were previewed for a selection."""

    permission_classes = (IsViewer, IsPayloadReader)

    @extend_schema(operation_id="selections_programs", responses=FixProgramList)
    def get(self, request: Request, pk: int) -> Response:
        """Return the previewed programs of all people with their counts, the latest first."""
        reader = reader_of(request.user)
        found = [
            one for one in programs.versions(_selection(pk)) if not reader.rules or one.author_id == reader.user.pk
        ]
        return Response(FixProgramList(results=programs.program_documents(found, actor(request))))


class FixTemplateList(APIView):
    """Templates of programs."""

    permission_classes = (WRITES_PROGRAMS,)

    @extend_schema(operation_id="fix_templates_list", responses=FixProgramList)
    def get(self, request: Request) -> Response:
        """Return the person's own templates, and those that other people share.

        The templates of others may cite any record, so readers of some teams' payloads get only their own.
        """
        found = programs.templates(actor(request), shared=reader_of(request.user).reads_everything)
        return Response(FixProgramList(results=programs.program_documents(found, actor(request))))

    @extend_schema(operation_id="fix_templates_create", request=TemplateBody, responses={201: FixProgramDocument})
    def post(self, request: Request) -> Response:
        """Keep a program under a name. A person has one template of each name."""
        body, who = checked(TemplateBody, request), actor(request)
        made = programs.save_template(
            who, body["name"], body["kind"], body["program"], timezone.now(), shared=body["shared"]
        )
        return Response(programs.program_documents([made], who)[0], status=201)


class FixTemplateRecord(APIView):
    """One template."""

    permission_classes = (WRITES_PROGRAMS,)

    @extend_schema(operation_id="fix_templates_delete", request=None, responses={204: None})
    def delete(self, request: Request, pk: int) -> HttpResponse:
        """Delete a template of one's own."""
        if pk > MAX_ID or not programs.delete_template(actor(request), pk):
            raise Http404("You have no template with this id.")
        return Response(status=204)


def _selection(pk: int) -> Selection:
    found = Selection.objects.filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no selection with this id.")
    return found
