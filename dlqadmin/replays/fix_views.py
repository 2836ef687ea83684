"""Drafts over REST: the original bytes beside one's own edit of them."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.views import find
from dlqadmin.replays.bodies import FixBody, actor
from dlqadmin.replays.documents import MAX_SHOWN_BYTES, letter_document, message_document
from dlqadmin.replays.models import Fix, ItemState, ReplayItem
from dlqadmin.replays.planning import fixing
from dlqadmin.replays.sending.messages import Outgoing, headers_of, original, stripped
from dlqadmin.replays.serializers import DraftDocument, FixDocument, FixList
from dlqadmin.replays.views import ReadOrOperate
from dlqadmin.rest.times import iso

MOST = 200


class FixRecord(ReadOrOperate):
    """One's own draft of a dead letter's record."""

    @extend_schema(operation_id="fixes_retrieve", responses=FixDocument)
    def get(self, request: Request, pk: int) -> Response:
        """The original in exact bytes, one's own draft, and who else has one."""
        row = find(pk, "body")
        whole = original(row)
        drafts = list(Fix.objects.filter(dead_letter=row).select_related("author").order_by("-updated_at"))
        own = next((fix for fix in drafts if fix.author_id == request.user.pk), None)
        return Response(
            {
                "original": None if whole is None else message_document(whole),
                "not_replayable": row.original if whole is None else None,
                "stripped": stripped(headers_of(row)),
                "draft": None if own is None else _draft(own, whole),
                "others": [
                    {"author": fix.author.get_username(), "updated_at": iso(fix.updated_at)}
                    for fix in drafts
                    if fix is not own
                ],
                "too_large": whole is not None and len(whole.value or b"") > MAX_SHOWN_BYTES,
                "earlier": _earlier(row),
            }
        )

    @extend_schema(operation_id="fixes_save", request=FixBody, responses=DraftDocument)
    def put(self, request: Request, pk: int) -> Response:
        """Keep an edit; refused when the draft is not the one of `base_updated_at` any more."""
        row = find(pk, "body")
        form = FixBody(data=request.data)
        form.is_valid(raise_exception=True)
        base = form.validated_data["base_updated_at"]
        kept = fixing.save(row, actor(request), form.edit(), base, timezone.now())
        return Response(_draft(kept, original(row)))

    @extend_schema(operation_id="fixes_discard", request=None, responses={204: None})
    def delete(self, request: Request, pk: int) -> HttpResponse:
        """Throw one's own draft away."""
        fixing.discard(find(pk), actor(request))
        return Response(status=204)


class FixListing(APIView):
    """One's own drafts."""

    @extend_schema(operation_id="fixes_list", responses=FixList)
    def get(self, request: Request) -> Response:
        """One's own drafts, the latest first."""
        drafts = Fix.objects.filter(author_id=request.user.pk).select_related("dead_letter__body")
        return Response({"results": [_row(fix) for fix in drafts.order_by("-updated_at")[:MOST]]})


def _row(fix: Fix) -> dict[str, Any]:
    return {
        "id": fix.pk,
        "dead_letter": letter_document(fix.dead_letter),
        "updated_at": iso(fix.updated_at),
        "identical": _identical(fix, original(fix.dead_letter)),
    }


def _draft(fix: Fix, whole: Outgoing | None) -> dict[str, Any]:
    return {
        "id": fix.pk,
        **message_document(fixing.message_of(fix)),
        "updated_at": iso(fix.updated_at),
        "digest": fix.digest,
        "identical": _identical(fix, whole),
    }


def _identical(fix: Fix, whole: Outgoing | None) -> bool:
    return whole is not None and fix.digest == whole.digest


def _earlier(row: DeadLetter) -> list[dict[str, Any]]:
    items = ReplayItem.objects.filter(dead_letter=row).exclude(state=ItemState.PLANNED).order_by("-pk")[:MOST]
    return [
        {"replay": item.replay_id, "item_state": item.state, "reason": item.reason, "at": iso(item.state_at)}
        for item in items
    ]
