"""Bodies of requests that run a replay or change its rate."""

from __future__ import annotations

from rest_framework import serializers

from dlqadmin.replays.plans.requests import MAX_RATE
from dlqadmin.replays.requests import WhyBody
from dlqadmin.rest.documents import Document


class RunBody(WhyBody):
    """The reason, and the digest of the plan that the person saw."""

    plan_digest = serializers.CharField(max_length=64)
    typed = serializers.CharField(max_length=300, required=False, allow_blank=True, default="")
    resolve_groups = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Resolve each group of which every record of the selection went out and passed, and none failed "
        "since it was frozen, once no outcome is awaited any more.",
    )


class RateBody(Document):
    """The rate in records per second. 0 means no limit."""

    rate = serializers.IntegerField(min_value=0, max_value=MAX_RATE)
