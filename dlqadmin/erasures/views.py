"""The API of erasures. Only administrators may use it."""

from __future__ import annotations

import hashlib
import hmac

import msgspec
from django.conf import settings
from django.db import IntegrityError
from django.http import Http404, HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.audit.entries import record
from dlqadmin.audit.permissions import IsAdministrator
from dlqadmin.deadletters.search.list_views import PAGING
from dlqadmin.erasures import chosen_letters, erasure_jobs, receipts
from dlqadmin.erasures.documents import (
    ErasureDocument,
    ErasurePage,
    ErasurePreview,
    ReceiptFile,
    erasure_document,
)
from dlqadmin.erasures.erasure_jobs import ErasureRequest
from dlqadmin.erasures.kafka_remains import KafkaBroker
from dlqadmin.erasures.models import Erasure, ErasureState
from dlqadmin.erasures.previews import preview
from dlqadmin.erasures.requests import ErasedBody, ErasureBody
from dlqadmin.erasures.tasks import enqueue_erasure, run_now
from dlqadmin.rest.idempotency import IDEMPOTENCY, RequestKey, made_by, once
from dlqadmin.rest.pagination import MAX_ID, newest_page, parse_limit
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.requests import actor, checked

INLINE = 500  # records that are erased while the request waits


class ErasurePreviews(APIView):
    """Previews of erasures."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="erasures_preview", request=ErasedBody, responses=ErasurePreview)
    def post(self, request: Request) -> Response:
        """Count what an erasure would erase. Nothing is stored."""
        return Response(preview(chosen_letters.choose(checked(ErasedBody, request), actor(request))))


class ErasureList(APIView):
    """Erasures of the content of dead letters."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="erasures_list", parameters=PAGING, responses=ErasurePage)
    def get(self, request: Request) -> Response:
        """Return erasures, newest first."""
        params = request.query_params
        limit = parse_limit(params.get("limit"), default=50)
        shown, following = newest_page(Erasure.objects.defer("ids"), params.get("cursor"), limit)
        return Response(ErasurePage(results=[erasure_document(row) for row in shown], next=following))

    @extend_schema(
        operation_id="erasures_create",
        parameters=[IDEMPOTENCY],
        request=ErasureBody,
        responses={200: ErasureDocument, 201: ErasureDocument, 202: ErasureDocument},
    )
    def post(self, request: Request) -> Response:
        """Erase the content of the dead letters with a key, or of those that a list shows.

        It cannot be undone. Status 202 means that a worker continues the work. Refused while a replay that has not
        ended has some of the records. The same Idempotency-Key returns the same erasure.
        """
        asked = _sealed(once(request))
        if known := made_by(Erasure, asked):
            return Response(erasure_document(known))
        body, who = checked(ErasureBody, request), actor(request)
        chosen = chosen_letters.choose(body, who)
        if not chosen.ids:
            raise StateConflict("No dead letter has content to erase.")
        wanted = ErasureRequest(body["reason"], body["confirm_count"], body["future"])
        try:
            made = erasure_jobs.create(chosen, wanted, who, asked, timezone.now())
        except IntegrityError:
            if known := made_by(Erasure, asked):  # two equal requests at the same time
                return Response(erasure_document(known))
            raise
        if made.count > INLINE or run_now(made.pk, made.heartbeat):
            enqueue_erasure(made.pk)
        done = _find(made.pk)
        return Response(erasure_document(done), status=202 if done.state == ErasureState.RUNNING else 201)


class ErasureRecord(APIView):
    """One erasure."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="erasures_retrieve", responses=ErasureDocument)
    def get(self, request: Request, pk: int) -> Response:
        """Return an erasure with its progress."""
        return Response(erasure_document(_find(pk)))


class ErasureReceiptFile(APIView):
    """The receipt of an erasure."""

    permission_classes = (IsAdministrator,)

    @extend_schema(operation_id="erasures_receipt", responses=ReceiptFile)
    def get(self, request: Request, pk: int) -> HttpResponse:
        """Return the receipt as a JSON file: what was erased, what was not, and what Kafka may still have now."""
        erasure = _find(pk)
        if erasure.state == ErasureState.RUNNING:
            raise StateConflict(f"{erasure} has not ended, so it has no receipt yet.")
        made = receipts.receipt(erasure, timezone.now(), KafkaBroker())
        record(actor(request), "receipt", "erasure", str(erasure), {"sha256": made.sha256})
        headers = {
            "Content-Disposition": f'attachment; filename="erasure-{erasure}.json"',
            "X-Content-Type-Options": "nosniff",
        }
        return HttpResponse(made.content, content_type="application/json", headers=headers)


def _find(pk: int) -> Erasure:
    found = Erasure.objects.filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no erasure with this id.")
    return found


def _sealed(asked: RequestKey) -> RequestKey:
    """Return the request key with an HMAC of its digest: a plain digest of a body with a key could be guessed."""
    if asked.key is None:
        return asked
    digest = hmac.new(settings.AUDIT_KEY.encode(), asked.digest.encode(), hashlib.sha256).hexdigest()
    return msgspec.structs.replace(asked, digest=digest)
