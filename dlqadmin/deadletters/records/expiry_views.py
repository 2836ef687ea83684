"""REST views of Kafka's retention: for a dead letter, and for a group's oldest dead letters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from dlqadmin.deadletters.models import Group
from dlqadmin.deadletters.records import expiry
from dlqadmin.deadletters.records.documents import ClockCounts, ClockDocument, GroupRetention, LetterRetention
from dlqadmin.deadletters.records.expiry import STATES, RetentionClock
from dlqadmin.deadletters.records.views import find
from dlqadmin.rest.pagination import MAX_ID
from dlqadmin.rest.times import iso, iso_or_none


class DeadLetterRetention(APIView):
    """The retention of a dead letter and its origin."""

    @extend_schema(operation_id="dead_letters_retention", responses=LetterRetention)
    def get(self, request: Request, pk: int) -> Response:
        """Estimate from the topics' configurations. Unknown if they do not determine it."""
        now = timezone.now()
        own, origin = expiry.of_letter(find(pk), now)
        return Response(
            LetterRetention(dead_letter=_clock(own), origin=_clock(origin) if origin else None, as_of=iso(now))
        )


class GroupRetentionView(APIView):
    """The retention of the records of a group."""

    @extend_schema(operation_id="groups_retention", responses=GroupRetention)
    def get(self, request: Request, pk: int) -> Response:
        """Estimate for at most a thousand dead letters: the oldest that Kafka may still have."""
        if pk > MAX_ID or not Group.objects.filter(pk=pk).exists():
            raise Http404("There is no group with this id.")
        now = timezone.now()
        found = expiry.of_group(pk, now)
        return Response(
            GroupRetention(
                dead_letters=_tally(found.dead_letters, now),
                origins=_tally(found.origins, now),
                complete=found.complete,
                as_of=iso(now),
            )
        )


def _clock(one: RetentionClock) -> ClockDocument:
    return ClockDocument(state=one.state, until=iso_or_none(one.until), keeps_ms=one.keeps_ms, reason=one.reason)


def _tally(clocks: Sequence[RetentionClock], now: datetime) -> ClockCounts:
    counts = Counter(str(one.state) for one in clocks)
    leaving = [one.until for one in clocks if one.state == "leaves" and one.until]
    return ClockCounts(
        **{state: counts[state] for state in STATES},
        soon=sum(until <= now + expiry.SOON for until in leaving),
        next=iso_or_none(min(leaving, default=None)),
        reasons=sorted({one.reason for one in clocks if one.reason}),
    )
