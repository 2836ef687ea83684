"""REST views of annotations."""

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.permissions import IsOperator, IsViewerOrWritingOperator
from dlqadmin.metrics.models import Annotation
from dlqadmin.metrics.views import RANGE
from dlqadmin.overview import annotations
from dlqadmin.overview.documents import AnnotationDocument, AnnotationList
from dlqadmin.overview.requests import AnnotationBody
from dlqadmin.rest.idempotency import IDEMPOTENCY, made_by, once
from dlqadmin.rest.requests import actor, checked
from dlqadmin.rest.times import parse_range


class AnnotationListView(APIView):
    """Events that charts show beside their figures."""

    permission_classes = (IsViewerOrWritingOperator,)

    @extend_schema(operation_id="annotations_list", parameters=RANGE, responses=AnnotationList)
    def get(self, request: Request) -> Response:
        """Return reported events, replays, and changes and restarts of connectors, oldest first."""
        start, end = parse_range(request.query_params.get("from"), request.query_params.get("to"))
        return Response(annotations.annotations_between(start, end, request.user))

    @extend_schema(
        operation_id="annotations_create",
        parameters=[IDEMPOTENCY],
        request=AnnotationBody,
        responses={201: AnnotationDocument},
    )
    def post(self, request: Request) -> Response:
        """Report an event, such as a deployment. Pipelines use an API token with the scope operator."""
        body, key = checked(AnnotationBody, request), once(request)
        made = made_by(Annotation, key) or annotations.create(body, actor(request), key, timezone.now())
        return Response(annotations.annotation_document(made, request.user), status=201)


class AnnotationView(APIView):
    """One reported event."""

    permission_classes = (IsOperator,)

    @extend_schema(operation_id="annotations_delete", responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Delete an event. Only its author and administrators may."""
        found = Annotation.objects.filter(pk=pk).first()
        if found is None:
            raise Http404("There is no annotation with this id.")
        if not annotations.may_delete(found, request.user):
            raise PermissionDenied("Only the author of an annotation and administrators can delete it.")
        annotations.delete(found, actor(request))
        return Response(status=204)
